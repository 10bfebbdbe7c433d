#include "models/z_image/config.h"

#include <algorithm>
#include <numeric>

#include "base/strings.h"
#include "models/config_sizes.h"

namespace tessera::models {
namespace {

Status check(const ZImageConfig& c) {
  if (c.n_heads < 1 || c.dim % c.n_heads != 0) {
    return fail(ErrorCode::BadFile,
                strings::join("Z-Image config: ", c.dim, " channels do not divide into ", c.n_heads, " heads"));
  }
  const int64_t rotated = std::accumulate(c.axes_dims.begin(), c.axes_dims.end(), int64_t{0});
  const bool even = std::ranges::all_of(c.axes_dims, [](int64_t d) { return d % 2 == 0; });
  if (c.axes_dims.size() != 3 || c.axes_lens.size() != 3 || rotated != c.head_dim() || !even) {
    return fail(ErrorCode::BadFile,
                strings::join("Z-Image config: axes_dims cover ", rotated, " channels of a head of ", c.head_dim()));
  }
  return {};
}

/// Models with several patch sizes have weights for each; the pipeline uses 2x2 in one frame.
Status check_patches(const Json& config) {
  TESSERA_TRY(const auto sides, json::value_or(config, "all_patch_size", std::vector<int64_t>{kZImagePatch}));
  TESSERA_TRY(const auto frames, json::value_or(config, "all_f_patch_size", std::vector<int64_t>{1}));
  for (size_t i = 0; i < std::min(sides.size(), frames.size()); ++i) {
    if (sides[i] == kZImagePatch && frames[i] == 1) return {};
  }
  return fail(ErrorCode::Unsupported, "Z-Image config: no patches of 2x2 cells in one frame");
}

}  // namespace

Result<ZImageConfig> parse_z_image_config(const Json& config) {
  ZImageConfig c;
  TESSERA_TRY_OK(check_config_sizes(config, "Z-Image config"));
  TESSERA_TRY(c.in_channels, json::value_or(config, "in_channels", c.in_channels));
  TESSERA_TRY(c.dim, json::value_or(config, "dim", c.dim));
  TESSERA_TRY(c.n_layers, json::value_or(config, "n_layers", c.n_layers));
  TESSERA_TRY(c.n_refiner_layers, json::value_or(config, "n_refiner_layers", c.n_refiner_layers));
  TESSERA_TRY(c.n_heads, json::value_or(config, "n_heads", c.n_heads));
  TESSERA_TRY(c.norm_eps, json::value_or(config, "norm_eps", c.norm_eps));
  TESSERA_TRY(c.qk_norm, json::value_or(config, "qk_norm", c.qk_norm));
  TESSERA_TRY(c.cap_feat_dim, json::value_or(config, "cap_feat_dim", c.cap_feat_dim));
  TESSERA_TRY(c.rope_theta, json::value_or(config, "rope_theta", c.rope_theta));
  TESSERA_TRY(c.t_scale, json::value_or(config, "t_scale", c.t_scale));
  TESSERA_TRY(c.axes_dims, json::value_or(config, "axes_dims", c.axes_dims));
  TESSERA_TRY(c.axes_lens, json::value_or(config, "axes_lens", c.axes_lens));
  TESSERA_TRY_OK(check_patches(config));
  TESSERA_TRY_OK(check(c));
  return c;
}

int64_t z_image_padded(int64_t tokens) {
  return (tokens + kZImageMultiple - 1) / kZImageMultiple * kZImageMultiple;
}

std::vector<pipeline::AttentionSite> z_image_attention_sites(const ZImageConfig& config, int64_t text_tokens,
                                                             int64_t image_tokens) {
  const int64_t text = z_image_padded(text_tokens);
  const int64_t image = z_image_padded(image_tokens);
  const auto site = [&](const char* name, int64_t tokens, int64_t count) {
    const attention::AttentionProblem problem = attention::dense_problem(
        {.seq_q = tokens, .seq_kv = tokens, .heads = config.n_heads, .head_dim = config.head_dim()});
    return pipeline::AttentionSite{"transformer", name, problem, count, pipeline::SiteStage::Step};
  };
  return {site("noise_refiner", image, config.n_refiner_layers), site("context_refiner", text, config.n_refiner_layers),
          site("layers", text + image, config.n_layers)};
}

}  // namespace tessera::models
