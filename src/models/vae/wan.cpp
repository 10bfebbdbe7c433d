#include "models/vae/wan.h"

#include "base/check.h"
#include "base/strings.h"
#include "models/vae/kl.h"

namespace tessera::models {
namespace {

// The reference's tiles, in pixels.
constexpr int64_t kTilePixels = 256;
constexpr int64_t kTileStride = 192;

at::Tensor per_channel(const std::vector<double>& values, const at::Tensor& like) {
  at::Tensor out = at::empty({static_cast<int64_t>(values.size())}, at::kFloat);
  for (size_t i = 0; i < values.size(); ++i) out.data_ptr<float>()[i] = static_cast<float>(values[i]);
  return out.to(like.options()).view({1, -1, 1, 1, 1});
}

/// "conv_in" in the first chunk, "conv_in#2" in the third: the reference's names for further calls.
void record(const nn::Scope& scope, const std::string& name, int64_t chunk, const at::Tensor& value) {
  if (scope.trace != nullptr) scope.record(value, chunk == 0 ? name : strings::join(name, "#", chunk));
}

CausalShape pointwise(int64_t channels) {
  return {.in = channels, .out = channels, .time_kernel = 1, .space_kernel = 1};
}

}  // namespace

at::Tensor wan_unscale_latents(const at::Tensor& latents, const WanVaeConfig& config) {
  // As the reference: division by 1 / std, in float32.
  const at::Tensor inverse = 1.0 / per_channel(config.latents_std, latents);
  return latents / inverse + per_channel(config.latents_mean, latents);
}

at::Tensor wan_scale_latents(const at::Tensor& latents, const WanVaeConfig& config) {
  const at::Tensor inverse = 1.0 / per_channel(config.latents_std, latents);
  return (latents - per_channel(config.latents_mean, latents)) * inverse;
}

WanDecoder::WanDecoder(const weights::WeightMap& map, const WanVaeConfig& c)
    : config_(c),
      post_quant_conv_(map.sub("post_quant_conv"), pointwise(c.z_dim)),
      conv_in_(map.sub("decoder.conv_in"), {.in = c.z_dim, .out = c.decoder_base_dim * c.dim_mult.back()}),
      mid_block_(map.sub("decoder.mid_block"), c.decoder_base_dim * c.dim_mult.back()),
      levels_(load_up_levels(map.sub("decoder"), c)),
      norm_out_(map.sub("decoder.norm_out"), c.decoder_base_dim * c.dim_mult.front()),
      conv_out_(map.sub("decoder.conv_out"), {.in = c.decoder_base_dim * c.dim_mult.front(), .out = c.out_channels}) {}

at::Tensor WanDecoder::decode_chunk(const at::Tensor& z, FrameCache& cache, const nn::Scope& scope,
                                    int64_t chunk) const {
  at::Tensor x = conv_in_(z, &cache);
  record(scope, "conv_in", chunk, x);
  x = mid_block_.forward(x, cache, scope);
  record(scope, "mid_block", chunk, x);
  for (size_t i = 0; i < levels_.size(); ++i) {
    x = levels_[i](x, cache);
    if (scope.trace != nullptr) record(scope, strings::join("up_blocks.", i), chunk, x);
  }
  x = norm_out_(x);
  record(scope, "norm_out", chunk, x);
  at::silu_(x);
  record(scope, "nonlinearity", chunk, x);
  x = conv_out_(x, &cache);
  record(scope, "conv_out", chunk, x);
  cache.end_chunk();
  return x;
}

void WanDecoder::decode(const at::Tensor& z, const nn::Scope& scope, const OnFrames& on_frames) const {
  const at::Tensor start = post_quant_conv_(z, nullptr);
  FrameCache cache;
  int64_t frame = 0;
  for (int64_t i = 0; i < z.size(2); ++i) {
    const at::Tensor packed = decode_chunk(start.slice(2, i, i + 1), cache, scope, i);
    const at::Tensor frames = unpatchify(packed, config_.patch_size).clamp(-1, 1);
    on_frames(frames, frame);
    frame += frames.size(2);
  }
}

at::Tensor WanDecoder::decode_tile(const at::Tensor& z, const nn::Scope& scope) const {
  const at::Tensor start = post_quant_conv_(z, nullptr);
  FrameCache cache;
  std::vector<at::Tensor> chunks;
  for (int64_t i = 0; i < z.size(2); ++i) chunks.push_back(decode_chunk(start.slice(2, i, i + 1), cache, scope, i));
  return at::cat(chunks, 2);
}

void WanDecoder::decode_tiled(const at::Tensor& z, const nn::Scope& scope, const OnFrames& on_frames) const {
  const int64_t latent_tile = kTilePixels / config_.scale_factor_spatial;
  const int64_t latent_stride = kTileStride / config_.scale_factor_spatial;
  if (z.size(3) <= latent_tile && z.size(4) <= latent_tile) return decode(z, scope, on_frames);
  const int64_t stride = kTileStride / config_.patch_size;
  const int64_t blend = kTilePixels / config_.patch_size - stride;
  const int64_t cell = config_.scale_factor_spatial / config_.patch_size;
  std::vector<at::Tensor> above;
  std::vector<at::Tensor> rows;
  for (int64_t y = 0; y < z.size(3); y += latent_stride) {
    std::vector<at::Tensor> row;
    std::vector<at::Tensor> kept;
    for (int64_t x = 0; x < z.size(4); x += latent_stride) {
      at::Tensor tile = decode_tile(z.slice(3, y, y + latent_tile).slice(4, x, x + latent_tile), scope);
      if (!above.empty()) blend_edge(above[row.size()], tile, 3, blend);
      if (!row.empty()) blend_edge(row.back(), tile, 4, blend);
      kept.push_back(tile.slice(3, 0, stride).slice(4, 0, stride));
      row.push_back(std::move(tile));
    }
    rows.push_back(at::cat(kept, 4));
    above = std::move(row);
  }
  const at::Tensor whole = at::cat(rows, 3).slice(3, 0, z.size(3) * cell).slice(4, 0, z.size(4) * cell);
  on_frames(unpatchify(whole, config_.patch_size).clamp(-1, 1), 0);
}

WanEncoder::WanEncoder(const weights::WeightMap& map, const WanVaeConfig& c)
    : config_(c),
      conv_in_(map.sub("encoder.conv_in"), {.in = c.in_channels, .out = c.base_dim}),
      levels_(load_down_levels(map.sub("encoder"), c)),
      mid_block_(map.sub("encoder.mid_block"), c.base_dim * c.dim_mult.back()),
      norm_out_(map.sub("encoder.norm_out"), c.base_dim * c.dim_mult.back()),
      conv_out_(map.sub("encoder.conv_out"), {.in = c.base_dim * c.dim_mult.back(), .out = 2 * c.z_dim}),
      quant_conv_(map.sub("quant_conv"), pointwise(2 * c.z_dim)) {}

at::Tensor WanEncoder::encode_chunk(const at::Tensor& x, FrameCache& cache, const nn::Scope& scope) const {
  at::Tensor h = conv_in_(x, &cache);
  for (const WanDownLevel& level : levels_) h = level(h, cache);
  h = norm_out_(mid_block_.forward(h, cache, scope));
  h = conv_out_(at::silu_(h), &cache);
  cache.end_chunk();
  return h;
}

at::Tensor WanEncoder::encode(const at::Tensor& video, const nn::Scope& scope) const {
  const int64_t frames = video.size(2);
  TESSERA_CHECK(frames % 4 == 1, "an encoder takes 1 + 4 n frames, not ", frames);
  const at::Tensor packed = patchify(video, config_.patch_size);
  FrameCache cache;
  std::vector<at::Tensor> chunks = {encode_chunk(packed.slice(2, 0, 1), cache, scope)};
  for (int64_t i = 1; i < frames; i += 4) chunks.push_back(encode_chunk(packed.slice(2, i, i + 4), cache, scope));
  return quant_conv_(at::cat(chunks, 2), nullptr).slice(1, 0, config_.z_dim);
}

}  // namespace tessera::models
