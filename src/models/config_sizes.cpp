#include "models/config_sizes.h"

#include "base/strings.h"

namespace tessera::models {
namespace {

// Weight shapes are computed from these; a negative one would fit any tensor, since -1 stands for "any size" there.
constexpr const char* kSizes[] = {"attention_head_dim",
                                  "axes_dims",
                                  "axes_dims_rope",
                                  "axes_lens",
                                  "base_dim",
                                  "block_out_channels",
                                  "cap_feat_dim",
                                  "d_ff",
                                  "d_kv",
                                  "d_model",
                                  "decoder_base_dim",
                                  "dim",
                                  "dim_mult",
                                  "ffn_dim",
                                  "freq_dim",
                                  "head_dim",
                                  "hidden_size",
                                  "in_channels",
                                  "intermediate_size",
                                  "joint_attention_dim",
                                  "latent_channels",
                                  "max_position_embeddings",
                                  "n_heads",
                                  "norm_num_groups",
                                  "num_attention_heads",
                                  "num_heads",
                                  "num_key_value_heads",
                                  "out_channels",
                                  "patch_size",
                                  "pooled_projection_dim",
                                  "relative_attention_max_distance",
                                  "relative_attention_num_buckets",
                                  "rope_max_seq_len",
                                  "text_dim",
                                  "vocab_size",
                                  "z_dim"};
constexpr const char* kCounts[] = {"layers_per_block", "n_layers",       "n_refiner_layers", "num_hidden_layers",
                                   "num_layers",       "num_res_blocks", "num_single_layers"};
constexpr int64_t kLargestSize = int64_t{1} << 31;
constexpr int64_t kLargestCount = 100'000;

bool within(const Json& value, int64_t low, int64_t high) {
  if (!value.is_number_integer()) return true;
  if (value.is_number_unsigned()) {
    const auto n = value.get<uint64_t>();
    return n >= static_cast<uint64_t>(low) && n <= static_cast<uint64_t>(high);
  }
  const auto n = value.get<int64_t>();
  return n >= low && n <= high;
}

Status check(const Json& config, const char* field, int64_t low, int64_t high, const char* what) {
  const auto it = config.find(field);
  if (it == config.end()) return {};
  const Json values = it->is_array() ? *it : Json::array({*it});
  for (const Json& value : values) {
    if (within(value, low, high)) continue;
    return fail(ErrorCode::BadFile,
                strings::join(what, ": ", field, " ", value.dump(), " is not from ", low, " to ", high));
  }
  return {};
}

}  // namespace

Status check_config_sizes(const Json& config, const char* what) {
  for (const char* field : kSizes) {
    TESSERA_TRY_OK(check(config, field, 1, kLargestSize, what));
  }
  for (const char* field : kCounts) {
    TESSERA_TRY_OK(check(config, field, 0, kLargestCount, what));
  }
  return {};
}

}  // namespace tessera::models
