#include "models/vae/kl_config.h"

#include <algorithm>

#include "base/strings.h"
#include "models/config_sizes.h"

namespace tessera::models {
namespace {

Result<int64_t> parse_sample_size(const Json& config) {
  const auto it = config.find("sample_size");
  if (it != config.end() && it->is_array() && !it->empty())
    return json::value_or<int64_t>(Json{{"s", (*it)[0]}}, "s", 32);
  return json::value_or<int64_t>(config, "sample_size", 32);
}

Status check_supported(const Json& config) {
  TESSERA_TRY(const std::vector<std::string> blocks,
              json::value_or(config, "up_block_types", std::vector<std::string>{"UpDecoderBlock2D"}));
  for (const std::string& block : blocks) {
    if (block != "UpDecoderBlock2D") {
      return fail(ErrorCode::Unsupported, "VAE block type '" + block + "' is not known", "known is UpDecoderBlock2D");
    }
  }
  TESSERA_TRY(const std::string activation, json::value_or<std::string>(config, "act_fn", "silu"));
  if (activation != "silu" && activation != "swish") {
    return fail(ErrorCode::Unsupported, "VAE activation '" + activation + "' is not known", "known is silu");
  }
  return {};
}

}  // namespace

Result<KlConfig> parse_kl_config(const Json& config) {
  KlConfig c;
  TESSERA_TRY_OK(check_config_sizes(config, "VAE config"));
  TESSERA_TRY_OK(check_supported(config));
  TESSERA_TRY(c.out_channels, json::value_or(config, "out_channels", c.out_channels));
  TESSERA_TRY(c.latent_channels, json::value_or(config, "latent_channels", c.latent_channels));
  TESSERA_TRY(c.block_out_channels, json::value_or(config, "block_out_channels", c.block_out_channels));
  TESSERA_TRY(c.layers_per_block, json::value_or(config, "layers_per_block", c.layers_per_block));
  TESSERA_TRY(c.norm_num_groups, json::value_or(config, "norm_num_groups", c.norm_num_groups));
  TESSERA_TRY(c.sample_size, parse_sample_size(config));
  TESSERA_TRY(c.scaling_factor, json::value_or(config, "scaling_factor", c.scaling_factor));
  TESSERA_TRY(c.shift_factor, json::value_or(config, "shift_factor", 0.0));
  TESSERA_TRY(c.force_upcast, json::value_or(config, "force_upcast", c.force_upcast));
  TESSERA_TRY(c.use_post_quant_conv, json::value_or(config, "use_post_quant_conv", c.use_post_quant_conv));
  TESSERA_TRY(c.mid_block_add_attention, json::value_or(config, "mid_block_add_attention", c.mid_block_add_attention));
  if (c.block_out_channels.empty()) return fail(ErrorCode::BadFile, "VAE config: block_out_channels is empty");
  for (const int64_t channels : c.block_out_channels) {
    if (c.norm_num_groups < 1 || channels % c.norm_num_groups != 0) {
      return fail(ErrorCode::BadFile, strings::join("VAE config: ", channels, " channels do not divide into ",
                                                    c.norm_num_groups, " groups"));
    }
  }
  return c;
}

KlTiling kl_tiling(const KlConfig& config) {
  constexpr double kOverlap = 0.25;  // diffusers' tile_overlap_factor
  KlTiling t;
  t.sample_size = config.sample_size;
  t.latent_size = config.sample_size / config.spatial_factor();
  t.latent_stride = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(t.latent_size) * (1 - kOverlap)));
  t.blend_extent = static_cast<int64_t>(static_cast<double>(t.sample_size) * kOverlap);
  return t;
}

std::vector<pipeline::AttentionSite> kl_attention_sites(const KlConfig& config, int64_t latent_height,
                                                        int64_t latent_width) {
  if (!config.mid_block_add_attention) return {};
  const int64_t cells = latent_height * latent_width;
  const attention::AttentionProblem problem = attention::dense_problem(
      {.seq_q = cells, .seq_kv = cells, .heads = 1, .head_dim = config.block_out_channels.back()});
  return {{"vae", "decoder.mid_block", problem, 1, pipeline::SiteStage::Decode}};
}

}  // namespace tessera::models
