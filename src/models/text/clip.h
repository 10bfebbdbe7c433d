// The CLIP text encoder: causal transformer over token ids, and the state at the end marker as pooled output.
#pragma once

#include "tensor/aten.h"

#include "base/json.h"
#include "base/result.h"
#include "nn/activation.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "nn/scope.h"
#include "pipeline/attention_site.h"
#include "weights/weight_map.h"

namespace tessera::models {

/// config.json of a CLIPTextModel.
struct ClipConfig {
  int64_t vocab_size = 49408;
  int64_t hidden_size = 512;
  int64_t intermediate_size = 2048;
  int64_t num_hidden_layers = 12;
  int64_t num_attention_heads = 8;
  int64_t max_position_embeddings = 77;
  double layer_norm_eps = 1e-5;
  int64_t eos_token_id = 49407;
  nn::Activation activation = nn::Activation::QuickGelu;
};

/// Errors: BadFile for wrong types or head counts that do not divide, Unsupported for an unknown activation.
Result<ClipConfig> parse_clip_config(const Json& config);

struct ClipLayer {
  nn::LayerNorm layer_norm1;
  nn::Linear q;
  nn::Linear k;
  nn::Linear v;
  nn::Linear out;
  nn::LayerNorm layer_norm2;
  nn::Linear fc1;
  nn::Linear fc2;

  ClipLayer(const weights::WeightMap& map, const ClipConfig& config);
  /// x [B, L, C] → [B, L, C]
  at::Tensor forward(const at::Tensor& x, const ClipConfig& config, const nn::Scope& scope) const;
};

struct ClipOutput {
  at::Tensor last_hidden_state;  // [B, L, C], after the final norm
  at::Tensor pooled;             // [B, C]
};

class ClipTextEncoder {
 public:
  /// Takes tensor names with and without the prefix "text_model.".
  ClipTextEncoder(const weights::WeightMap& map, const ClipConfig& config);

  /// ids [B, L] int64 on the CPU, L ≤ max_position_embeddings. Traces layer/<i>, last_hidden_state, pooler_output.
  ClipOutput forward(const at::Tensor& ids, const nn::Scope& scope) const;

 private:
  ClipConfig config_;
  at::Tensor token_embedding_;     // [V, C]
  at::Tensor position_embedding_;  // [P, C]
  std::vector<ClipLayer> layers_;
  nn::LayerNorm final_layer_norm_;
};

/// The attention calls of one encoding of `tokens` ids.
pipeline::AttentionSite clip_attention_site(const ClipConfig& config, const std::string& component, int64_t tokens);

}  // namespace tessera::models
