#include "models/vae/kl.h"

#include "base/strings.h"

namespace tessera::models {
namespace {

std::vector<KlUpBlock> load_up_blocks(const weights::WeightMap& map, const KlConfig& config) {
  std::vector<KlUpBlock> blocks;
  const auto& channels = config.block_out_channels;
  int64_t in = channels.back();
  for (size_t i = 0; i < channels.size(); ++i) {
    const int64_t out = channels[channels.size() - 1 - i];
    const weights::WeightMap block_map = map.sub(strings::join("up_blocks.", i));
    KlUpBlock& block = blocks.emplace_back();
    for (int64_t j = 0; j <= config.layers_per_block; ++j) {
      block.resnets.emplace_back(block_map.sub(strings::join("resnets.", j)),
                                 KlBlockShape{j == 0 ? in : out, out, config.norm_num_groups});
    }
    if (i + 1 < channels.size()) {
      block.upsample.emplace(block_map.sub("upsamplers.0.conv"), nn::ConvShape{.in = out, .out = out});
    }
    in = out;
  }
  return blocks;
}

KlBlockShape mid_shape(const KlConfig& config) {
  const int64_t channels = config.block_out_channels.back();
  return {channels, channels, config.norm_num_groups};
}

}  // namespace

at::Tensor KlUpBlock::operator()(const at::Tensor& x) const {
  at::Tensor out = x;
  for (const KlResnet& resnet : resnets) out = resnet(out);
  return upsample ? (*upsample)(nn::upsample_nearest_2x(out)) : out;
}

KlDecoder::KlDecoder(const weights::WeightMap& map, const KlConfig& c)
    : config_(c),
      conv_in_(map.sub("decoder.conv_in"), {.in = c.latent_channels, .out = c.block_out_channels.back()}),
      mid_first_(map.sub("decoder.mid_block.resnets.0"), mid_shape(c)),
      mid_second_(map.sub("decoder.mid_block.resnets.1"), mid_shape(c)),
      up_blocks_(load_up_blocks(map.sub("decoder"), c)),
      norm_out_(map.sub("decoder.conv_norm_out"), c.block_out_channels.front(), c.norm_num_groups, 1e-6),
      conv_out_(map.sub("decoder.conv_out"), {.in = c.block_out_channels.front(), .out = c.out_channels}) {
  if (c.use_post_quant_conv) {
    post_quant_conv_.emplace(
        map.sub("post_quant_conv"),
        nn::ConvShape{.in = c.latent_channels, .out = c.latent_channels, .kernel = 1, .padding = 0});
  }
  if (c.mid_block_add_attention) {
    mid_attention_.emplace(map.sub("decoder.mid_block.attentions.0"), c.block_out_channels.back(), c.norm_num_groups);
  }
}

at::Tensor KlDecoder::decode(const at::Tensor& z, const KlDecodeOptions& options, const nn::Scope& scope) const {
  if (!options.slicing || z.size(0) == 1) return decode_one(z, options, scope);
  std::vector<at::Tensor> slices;
  for (const at::Tensor& slice : z.split(1)) slices.push_back(decode_one(slice, options, scope));
  return at::cat(slices);
}

at::Tensor KlDecoder::decode_one(const at::Tensor& z, const KlDecodeOptions& options, const nn::Scope& scope) const {
  const int64_t limit = kl_tiling(config_).latent_size;
  if (options.tiling && (z.size(2) > limit || z.size(3) > limit)) return decode_tiled(z, scope);
  return decode_whole(z, scope);
}

at::Tensor KlDecoder::decode_tiled(const at::Tensor& z, const nn::Scope& scope) const {
  const KlTiling tiling = kl_tiling(config_);
  std::vector<at::Tensor> above;  // the row of tiles before this one, blended already
  std::vector<at::Tensor> rows;
  for (int64_t y = 0; y < z.size(2); y += tiling.latent_stride) {
    std::vector<at::Tensor> row;
    std::vector<at::Tensor> kept;
    for (int64_t x = 0; x < z.size(3); x += tiling.latent_stride) {
      const at::Tensor part = z.slice(2, y, y + tiling.latent_size).slice(3, x, x + tiling.latent_size);
      at::Tensor tile = decode_whole(part, scope);
      if (!above.empty()) blend_edge(above[row.size()], tile, 2, tiling.blend_extent);
      if (!row.empty()) blend_edge(row.back(), tile, 3, tiling.blend_extent);
      kept.push_back(tile.slice(2, 0, tiling.row_limit()).slice(3, 0, tiling.row_limit()));
      row.push_back(std::move(tile));
    }
    rows.push_back(at::cat(kept, 3));
    above = std::move(row);
  }
  return at::cat(rows, 2);
}

at::Tensor KlDecoder::mid_block(const at::Tensor& x, const nn::Scope& scope) const {
  at::Tensor out = mid_first_(x);
  if (mid_attention_) out = mid_attention_->forward(out, scope);
  return mid_second_(out);
}

at::Tensor KlDecoder::decode_whole(const at::Tensor& z, const nn::Scope& scope) const {
  at::Tensor x = conv_in_(post_quant_conv_ ? (*post_quant_conv_)(z) : z);
  scope.record(x, "conv_in");
  x = mid_block(x, scope);
  scope.record(x, "mid_block");
  for (size_t i = 0; i < up_blocks_.size(); ++i) {
    x = up_blocks_[i](x);
    if (scope.trace != nullptr) scope.record(x, strings::join("up_blocks.", i));
  }
  x = norm_out_(x);
  scope.record(x, "conv_norm_out");
  at::silu_(x);
  scope.record(x, "conv_act");
  x = conv_out_(x);
  scope.record(x, "conv_out");
  return x;
}

void blend_edge(const at::Tensor& neighbour, at::Tensor& tile, int64_t dim, int64_t extent) {
  extent = std::min({extent, neighbour.size(dim), tile.size(dim)});
  if (extent == 0) return;
  std::vector<int64_t> shape(static_cast<size_t>(tile.dim()), 1);
  shape[static_cast<size_t>(dim)] = extent;
  const at::Tensor weight = (at::arange(extent, at::kDouble) / extent).to(tile.options()).view(shape);
  at::Tensor edge = tile.slice(dim, 0, extent);
  edge.copy_(neighbour.slice(dim, neighbour.size(dim) - extent) * (1 - weight) + edge * weight);
}

}  // namespace tessera::models
