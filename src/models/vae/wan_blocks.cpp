#include "models/vae/wan_blocks.h"

#include "nn/attention.h"

namespace tessera::models {
namespace {

/// Frames as a batch: [B, C, F, H, W] → [B F, C, H, W].
at::Tensor frames_as_batch(const at::Tensor& x) {
  return x.permute({0, 2, 1, 3, 4}).flatten(0, 1);
}

at::Tensor batch_as_frames(const at::Tensor& x, int64_t batch) {
  return x.unflatten(0, {batch, -1}).permute({0, 2, 1, 3, 4});
}

}  // namespace

ChannelNorm::ChannelNorm(const weights::WeightMap& map, int64_t channels, int64_t axes) {
  std::vector<int64_t> shape(static_cast<size_t>(axes) + 1, 1);
  shape[0] = channels;
  gamma = map.get("gamma", shape).reshape({1, channels, 1, 1, 1}) * std::sqrt(static_cast<double>(channels));
}

at::Tensor ChannelNorm::operator()(const at::Tensor& x) const {
  const at::Tensor wide = x.to(at::kFloat);
  const at::Tensor length = at::linalg_vector_norm(wide, 2, {1}, /*keepdim=*/true).clamp_min_(1e-12);
  return (wide / length).to(x.scalar_type()).mul_(gamma);
}

WanResnet::WanResnet(const weights::WeightMap& map, int64_t in, int64_t out)
    : norm1(map.sub("norm1"), in),
      conv1(map.sub("conv1"), {.in = in, .out = out}),
      norm2(map.sub("norm2"), out),
      conv2(map.sub("conv2"), {.in = out, .out = out}) {
  if (in != out) {
    shortcut.emplace(map.sub("conv_shortcut"), CausalShape{.in = in, .out = out, .time_kernel = 1, .space_kernel = 1});
  }
}

at::Tensor WanResnet::operator()(const at::Tensor& x, FrameCache& cache) const {
  const auto activated = [](at::Tensor t) { return at::silu_(t); };
  const at::Tensor h = conv1(activated(norm1(x)), &cache);
  at::Tensor out = conv2(activated(norm2(h)), &cache);
  return out.add_(shortcut ? (*shortcut)(x, nullptr) : x);
}

WanVaeAttention::WanVaeAttention(const weights::WeightMap& map, int64_t channels)
    : norm(map.sub("norm"), channels, 2),
      to_qkv(map.sub("to_qkv"), {.in = channels, .out = 3 * channels, .kernel = 1, .padding = 0}),
      proj(map.sub("proj"), {.in = channels, .out = channels, .kernel = 1, .padding = 0}) {}

at::Tensor WanVaeAttention::forward(const at::Tensor& x, const nn::Scope& scope) const {
  const at::Tensor qkv = to_qkv(frames_as_batch(norm(x)));               // [B F, 3 C, H, W]
  const at::Tensor cells = qkv.flatten(2).transpose(1, 2).contiguous();  // [B F, H W, 3 C]
  const std::vector<at::Tensor> parts = cells.unsqueeze(2).chunk(3, 3);
  nn::AttentionCall call;
  call.query = parts[0];
  call.key = parts[1];
  call.value = parts[2];
  const at::Tensor attended = nn::attention(call, scope).squeeze(2).transpose(1, 2);  // [B F, C, H W]
  const at::Tensor out = proj(attended.reshape({qkv.size(0), x.size(1), x.size(3), x.size(4)}));
  return batch_as_frames(out, x.size(0)) + x;
}

WanMidBlock::WanMidBlock(const weights::WeightMap& map, int64_t channels)
    : first(map.sub("resnets.0"), channels, channels),
      attention(map.sub("attentions.0"), channels),
      second(map.sub("resnets.1"), channels, channels) {}

at::Tensor WanMidBlock::forward(const at::Tensor& x, FrameCache& cache, const nn::Scope& scope) const {
  return second(attention.forward(first(x, cache), scope), cache);
}

WanUpsample::WanUpsample(const weights::WeightMap& map, int64_t in, int64_t out, bool in_time)
    : conv(map.sub("resample.1"), {.in = in, .out = out}) {
  if (in_time) time_conv.emplace(map.sub("time_conv"), CausalShape{.in = in, .out = 2 * in, .space_kernel = 1});
}

at::Tensor WanUpsample::operator()(const at::Tensor& x, FrameCache& cache) const {
  at::Tensor h = x;
  if (time_conv) {
    if (cache.first_chunk()) {
      cache.slot();  // keeps the order of slots; the first frame has nothing before it and is not doubled
    } else {
      // The two halves of the channels are the even and the odd frames.
      h = (*time_conv)(x, &cache).unflatten(1, {2, x.size(1)}).permute({0, 2, 3, 1, 4, 5}).flatten(2, 3);
    }
  }
  return batch_as_frames(conv(nn::upsample_nearest_2x(frames_as_batch(h))), x.size(0));
}

WanDownsample::WanDownsample(const weights::WeightMap& map, int64_t channels, bool in_time)
    : conv(map.sub("resample.1"), {.in = channels, .out = channels, .stride = 2, .padding = 0}) {
  if (!in_time) return;
  time_weight = map.get("time_conv.weight", {channels, channels, 3, 1, 1});
  time_bias = map.get("time_conv.bias", {channels});
}

at::Tensor WanDownsample::operator()(const at::Tensor& x, FrameCache& cache) const {
  const at::Tensor padded = at::constant_pad_nd(frames_as_batch(x), {0, 1, 0, 1});
  const at::Tensor small = batch_as_frames(conv(padded), x.size(0));
  if (!time_weight.defined()) return small;
  at::Tensor& last = cache.slot();
  const at::Tensor before = last;
  last = small.slice(2, small.size(2) - 1).clone();
  if (cache.first_chunk()) return small;
  return at::conv3d(at::cat({before, small}, 2), time_weight, time_bias, {2, 1, 1});
}

at::Tensor duplicate_up(const at::Tensor& x, int64_t out_channels, int64_t time_factor, bool first_chunk) {
  const int64_t repeats = out_channels * time_factor * 4 / x.size(1);
  const at::Tensor copies = x.repeat_interleave(repeats, 1).unflatten(1, {out_channels, time_factor, 2, 2});
  const at::Tensor out = copies.permute({0, 1, 5, 2, 6, 3, 7, 4}).flatten(6, 7).flatten(4, 5).flatten(2, 3);
  return first_chunk ? out.slice(2, time_factor - 1) : out;
}

at::Tensor average_down(const at::Tensor& x, int64_t out_channels, int64_t time_factor, int64_t space_factor) {
  const int64_t missing = (time_factor - x.size(2) % time_factor) % time_factor;
  const at::Tensor padded = at::constant_pad_nd(x, {0, 0, 0, 0, missing, 0});
  const at::Tensor split = padded.unflatten(4, {-1, space_factor})
                               .unflatten(3, {-1, space_factor})
                               .unflatten(2, {-1, time_factor});                      // [B, C, F, ft, H, fs, W, fs]
  const at::Tensor channels = split.permute({0, 1, 3, 5, 7, 2, 4, 6}).flatten(1, 4);  // [B, C ft fs fs, F, H, W]
  return channels.unflatten(1, {out_channels, -1}).mean(2);
}

at::Tensor patchify(const at::Tensor& x, int64_t patch) {
  if (patch == 1) return x;
  const at::Tensor split = x.unflatten(4, {-1, patch}).unflatten(3, {-1, patch});  // [B, C, F, H, p, W, p]
  return split.permute({0, 1, 6, 4, 2, 3, 5}).flatten(1, 3);
}

at::Tensor unpatchify(const at::Tensor& x, int64_t patch) {
  if (patch == 1) return x;
  const at::Tensor split = x.unflatten(1, {-1, patch, patch});  // [B, C, p, p, F, H, W]
  return split.permute({0, 1, 4, 5, 3, 6, 2}).flatten(5, 6).flatten(3, 4);
}

}  // namespace tessera::models
