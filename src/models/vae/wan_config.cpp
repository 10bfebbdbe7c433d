#include "models/vae/wan_config.h"

#include "base/strings.h"
#include "models/config_sizes.h"

namespace tessera::models {
namespace {

Status check(const WanVaeConfig& c) {
  const auto z = static_cast<size_t>(c.z_dim);
  if (c.latents_mean.size() != z || c.latents_std.size() != z) {
    return fail(ErrorCode::BadFile, strings::join("VAE config: latents_mean and latents_std need ", z, " values, have ",
                                                  c.latents_mean.size(), " and ", c.latents_std.size()));
  }
  if (c.dim_mult.empty() || c.temporal_downsample.size() + 1 < c.dim_mult.size()) {
    return fail(ErrorCode::BadFile, strings::join("VAE config: ", c.dim_mult.size(), " levels with ",
                                                  c.temporal_downsample.size(), " temporal steps between them"));
  }
  if (c.patch_size < 1 || c.scale_factor_spatial < 1 || c.scale_factor_temporal < 1) {
    return fail(ErrorCode::BadFile, "VAE config: patch_size and scale factors must be positive");
  }
  return {};
}

}  // namespace

Result<WanVaeConfig> parse_wan_vae_config(const Json& config) {
  WanVaeConfig c;
  TESSERA_TRY_OK(check_config_sizes(config, "VAE config"));
  TESSERA_TRY(c.base_dim, json::value_or(config, "base_dim", c.base_dim));
  TESSERA_TRY(c.decoder_base_dim, json::value_or(config, "decoder_base_dim", c.base_dim));
  TESSERA_TRY(c.z_dim, json::value_or(config, "z_dim", c.z_dim));
  TESSERA_TRY(c.dim_mult, json::value_or(config, "dim_mult", c.dim_mult));
  TESSERA_TRY(c.num_res_blocks, json::value_or(config, "num_res_blocks", c.num_res_blocks));
  TESSERA_TRY(c.temporal_downsample, json::value_or(config, "temperal_downsample", c.temporal_downsample));
  TESSERA_TRY(c.latents_mean, json::value_or(config, "latents_mean", c.latents_mean));
  TESSERA_TRY(c.latents_std, json::value_or(config, "latents_std", c.latents_std));
  TESSERA_TRY(c.is_residual, json::value_or(config, "is_residual", c.is_residual));
  TESSERA_TRY(c.in_channels, json::value_or(config, "in_channels", c.in_channels));
  TESSERA_TRY(c.out_channels, json::value_or(config, "out_channels", c.out_channels));
  TESSERA_TRY(c.patch_size, json::value_or(config, "patch_size", c.patch_size));
  TESSERA_TRY(c.scale_factor_temporal, json::value_or(config, "scale_factor_temporal", c.scale_factor_temporal));
  TESSERA_TRY(c.scale_factor_spatial, json::value_or(config, "scale_factor_spatial", c.scale_factor_spatial));
  TESSERA_TRY(const auto attention, json::value_or(config, "attn_scales", std::vector<double>{}));
  if (!attention.empty()) return fail(ErrorCode::Unsupported, "VAE config: attn_scales (attention inside the levels)");
  TESSERA_TRY_OK(check(c));
  return c;
}

pipeline::AttentionSite wan_vae_attention_site(const WanVaeConfig& c, int64_t frames, int64_t height, int64_t width) {
  const int64_t channels = c.decoder_base_dim * c.dim_mult.back();
  const attention::AttentionProblem problem =
      attention::dense_problem({.seq_q = height * width, .seq_kv = height * width, .heads = 1, .head_dim = channels});
  return {"vae", "decoder.mid_block", problem, frames, pipeline::SiteStage::Decode};
}

}  // namespace tessera::models
