// Building and running the levels of the Wan autoencoder.
#include "models/vae/wan_levels.h"

#include "base/strings.h"

namespace tessera::models {
namespace {

std::vector<WanResnet> load_resnets(const weights::WeightMap& map, const std::string& prefix, int64_t count, int64_t in,
                                    int64_t out) {
  std::vector<WanResnet> resnets;
  for (int64_t j = 0; j < count; ++j) {
    resnets.emplace_back(map.sub(strings::join(prefix, j)), j == 0 ? in : out, out);
  }
  return resnets;
}

}  // namespace

at::Tensor WanUpLevel::operator()(const at::Tensor& x, FrameCache& cache) const {
  at::Tensor h = x;
  for (const WanResnet& resnet : resnets) h = resnet(h, cache);
  if (!upsample) return h;
  h = (*upsample)(h, cache);
  return shortcut ? h + duplicate_up(x, out_channels, in_time ? 2 : 1, cache.first_chunk()) : h;
}

at::Tensor WanDownLevel::operator()(const at::Tensor& x, FrameCache& cache) const {
  at::Tensor h = x;
  for (const WanResnet& resnet : resnets) h = resnet(h, cache);
  if (downsample) h = (*downsample)(h, cache);
  return shortcut ? h + average_down(x, out_channels, in_time ? 2 : 1, downsample ? 2 : 1) : h;
}

std::vector<WanUpLevel> load_up_levels(const weights::WeightMap& map, const WanVaeConfig& c) {
  const auto levels = static_cast<int64_t>(c.dim_mult.size());
  std::vector<WanUpLevel> out;
  int64_t in = c.decoder_base_dim * c.dim_mult.back();
  for (int64_t i = 0; i < levels; ++i) {
    const weights::WeightMap block = map.sub(strings::join("up_blocks.", i));
    WanUpLevel& level = out.emplace_back();
    level.out_channels = c.decoder_base_dim * c.dim_mult[static_cast<size_t>(levels - 1 - i)];
    level.resnets = load_resnets(block, "resnets.", c.num_res_blocks + 1, in, level.out_channels);
    in = level.out_channels;
    if (i + 1 == levels) continue;
    level.shortcut = c.is_residual;
    level.in_time = c.temporal_downsample[static_cast<size_t>(levels - 2 - i)];
    // Wan 2.1 halves the channels with every doubling of the size, Wan 2.2 keeps them.
    const int64_t after = c.is_residual ? level.out_channels : level.out_channels / 2;
    level.upsample.emplace(block.sub(c.is_residual ? "upsampler" : "upsamplers.0"), level.out_channels, after,
                           level.in_time);
    in = after;
  }
  return out;
}

std::vector<WanDownLevel> load_down_levels(const weights::WeightMap& map, const WanVaeConfig& c) {
  const auto levels = static_cast<int64_t>(c.dim_mult.size());
  std::vector<WanDownLevel> out;
  int64_t in = c.base_dim;
  int64_t flat = 0;  // Wan 2.1 numbers all resnets and downsamplers in one list
  for (int64_t i = 0; i < levels; ++i) {
    const bool last = i + 1 == levels;
    WanDownLevel& level = out.emplace_back();
    level.out_channels = c.base_dim * c.dim_mult[static_cast<size_t>(i)];
    level.shortcut = c.is_residual;
    level.in_time = !last && c.temporal_downsample[static_cast<size_t>(i)];
    const weights::WeightMap block = c.is_residual ? map.sub(strings::join("down_blocks.", i)) : map;
    if (c.is_residual) {
      level.resnets = load_resnets(block, "resnets.", c.num_res_blocks, in, level.out_channels);
      if (!last) level.downsample.emplace(block.sub("downsampler"), level.out_channels, level.in_time);
    } else {
      for (int64_t j = 0; j < c.num_res_blocks; ++j) {
        level.resnets.emplace_back(block.sub(strings::join("down_blocks.", flat++)), j == 0 ? in : level.out_channels,
                                   level.out_channels);
      }
      if (!last) {
        level.downsample.emplace(block.sub(strings::join("down_blocks.", flat++)), level.out_channels, level.in_time);
      }
    }
    in = level.out_channels;
  }
  return out;
}

}  // namespace tessera::models
