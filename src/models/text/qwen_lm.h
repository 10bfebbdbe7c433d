// The language models of the Qwen family as text encoders: Qwen2, Qwen2.5, the language part of Qwen2.5-VL, and Qwen3.
#pragma once

#include "tensor/aten.h"

#include <span>

#include "base/json.h"
#include "base/result.h"
#include "nn/activation.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "nn/rope.h"
#include "nn/scope.h"
#include "pipeline/attention_site.h"
#include "weights/weight_map.h"

namespace tessera::models {

/// config.json of a Qwen2, Qwen2_5_VL or Qwen3 model.
struct QwenLmConfig {
  int64_t vocab_size = 151936;
  int64_t hidden_size = 4096;
  int64_t intermediate_size = 22016;
  int64_t num_hidden_layers = 32;
  int64_t num_attention_heads = 32;
  int64_t num_key_value_heads = 32;
  int64_t head_dim = 128;
  double rms_norm_eps = 1e-6;
  double rope_theta = 10000;
  nn::Activation activation = nn::Activation::Silu;
  bool qk_norm = false;                    ///< Qwen3: queries and keys are normed head by head
  nn::Bias qkv_bias = nn::Bias::Required;  ///< Qwen2 and 2.5 have one, Qwen3 only where its config says so
  nn::Bias out_bias = nn::Bias::None;
};

/// Takes the language part's fields at the top level, in `text_config`, or in both (then text_config counts).
/// Errors: BadFile for wrong types or heads that do not divide; Unsupported for scaled positions, sliding windows and
/// other model types.
Result<QwenLmConfig> parse_qwen_lm_config(const Json& config);

/// Tensors that a text encoder leaves alone: the picture encoder and the output layer of the language model.
std::vector<std::string> qwen_lm_unused();

struct QwenLmLayer {
  nn::RmsNorm input_norm;
  nn::Linear q;
  nn::Linear k;
  nn::Linear v;
  nn::Linear o;
  std::optional<nn::RmsNorm> q_norm;
  std::optional<nn::RmsNorm> k_norm;
  nn::RmsNorm mlp_norm;
  nn::Linear gate;
  nn::Linear up;
  nn::Linear down;

  QwenLmLayer(const weights::WeightMap& map, const QwenLmConfig& config);
};

class QwenLm {
 public:
  /// Takes tensor names with and without the prefixes "model." and "model.language_model.".
  QwenLm(const weights::WeightMap& map, const QwenLmConfig& config);

  /// The wanted hidden states, in that order: 0 is the embedding, i the output of layer i - 1, the last one
  /// (num_hidden_layers) is normed; a negative index counts from the end. Layers that nobody needs are not run, unless
  /// a trace looks on. ids [B, L] int64 → [B, L, C] each. `key_lengths`: real tokens per row, padding behind them;
  /// absent: all are real. Traces layer/<i>, hidden_states/<i>, last_hidden_state.
  std::vector<at::Tensor> forward(const at::Tensor& ids, const std::optional<std::vector<int64_t>>& key_lengths,
                                  std::span<const int64_t> wanted, const nn::Scope& scope) const;

 private:
  /// What the layers of one call share.
  struct Call {
    nn::RotaryTable rotary;
    const std::optional<std::vector<int64_t>>& key_lengths;
  };
  at::Tensor attend(const QwenLmLayer& layer, const at::Tensor& x, const Call& call, const nn::Scope& scope) const;
  at::Tensor feed_forward(const QwenLmLayer& layer, const at::Tensor& x) const;

  QwenLmConfig config_;
  at::Tensor embedding_;  // [V, C]
  std::vector<QwenLmLayer> layers_;
  nn::RmsNorm final_norm_;
};

/// The attention calls of one encoding of `tokens` ids.
pipeline::AttentionSite qwen_lm_attention_site(const QwenLmConfig& config, const std::string& component,
                                               int64_t tokens);

}  // namespace tessera::models
