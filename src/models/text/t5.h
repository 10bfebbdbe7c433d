// The T5 and UMT5 encoders: relative position bias instead of positions, no scale on the logits, RMS norms.
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

/// config.json of a T5EncoderModel or UMT5EncoderModel.
struct T5Config {
  int64_t vocab_size = 32128;
  int64_t d_model = 512;
  int64_t d_kv = 64;
  int64_t d_ff = 2048;
  int64_t num_layers = 6;
  int64_t num_heads = 8;
  int64_t num_buckets = 32;
  int64_t max_distance = 128;
  double layer_norm_epsilon = 1e-6;
  bool gated = false;
  nn::Activation activation = nn::Activation::Relu;
  bool bias_per_layer = false;  ///< UMT5: every layer has its own position bias; T5: all share layer 0's
};

/// Errors: BadFile for wrong types, Unsupported for an unknown activation.
Result<T5Config> parse_t5_config(const Json& config);

struct T5Layer {
  nn::RmsNorm attention_norm;
  nn::Linear q;
  nn::Linear k;
  nn::Linear v;
  nn::Linear o;
  std::optional<at::Tensor> relative_bias;  // [buckets, H], in layers that have their own
  nn::RmsNorm ff_norm;
  nn::Linear wi;                   // wi_0 when gated
  std::optional<nn::Linear> wi_1;  // the factor that is not activated
  nn::Linear wo;

  T5Layer(const weights::WeightMap& map, const T5Config& config, bool has_bias);
};

class T5Encoder {
 public:
  T5Encoder(const weights::WeightMap& map, const T5Config& config);

  /// ids [B, L] int64 → last hidden state [B, L, C]. `key_lengths`: per row the number of real tokens that may be
  /// attended to; absent: all, padding too (as the Flux pipeline does it). Traces layer/<i>, last_hidden_state.
  at::Tensor forward(const at::Tensor& ids, const std::optional<std::vector<int64_t>>& key_lengths,
                     const nn::Scope& scope) const;

 private:
  at::Tensor attend(const T5Layer& layer, const at::Tensor& x, const at::Tensor& bias,
                    const std::optional<std::vector<int64_t>>& key_lengths, const nn::Scope& scope) const;
  at::Tensor feed_forward(const T5Layer& layer, const at::Tensor& x) const;

  T5Config config_;
  at::Tensor embedding_;  // [V, C]
  std::vector<T5Layer> layers_;
  nn::RmsNorm final_norm_;
};

/// Which of the buckets each (query, key) pair falls into, for the bidirectional bias. Returns [length, length] int64.
at::Tensor t5_position_buckets(int64_t length, int64_t num_buckets, int64_t max_distance);

/// The attention calls of one encoding of `tokens` ids.
pipeline::AttentionSite t5_attention_site(const T5Config& config, const std::string& component, int64_t tokens);

}  // namespace tessera::models
