#include "models/qwen_image/transformer.h"

#include "base/strings.h"
#include "models/flux/latents.h"
#include "nn/modulation.h"

namespace tessera::models {
namespace {

constexpr int64_t kSinusoids = 256;
constexpr double kTimeScale = 1000;  // the embedding was trained on 0..1000
constexpr double kEps = 1e-6;
constexpr DoubleBlockNames kBlockNames = {"img_mod.1", "txt_mod.1", "img_mlp", "txt_mlp"};

std::vector<FluxDoubleBlock> load_blocks(const weights::WeightMap& map, const QwenImageConfig& config) {
  std::vector<FluxDoubleBlock> blocks;
  blocks.reserve(static_cast<size_t>(config.num_layers));
  for (int64_t i = 0; i < config.num_layers; ++i) {
    blocks.emplace_back(map.sub(strings::join("transformer_blocks.", i)), config.block_config(), kBlockNames);
  }
  return blocks;
}

void record_inputs(const QwenImageInputs& inputs, const nn::Scope& scope) {
  scope.record(inputs.hidden_states, "in/hidden_states");
  scope.record(inputs.timestep, "in/timestep");
  scope.record(inputs.encoder_hidden_states, "in/encoder_hidden_states");
}

/// The reference keeps one table for the picture and one for the text.
void record_rotary(const at::Tensor& rotation, int64_t text_tokens, const nn::Scope& scope) {
  if (scope.trace == nullptr) return;
  const at::Tensor parts = at::view_as_real(rotation);
  const at::Tensor text = parts.slice(0, 0, text_tokens);
  const at::Tensor image = parts.slice(0, text_tokens);
  scope.record(image.select(-1, 0), "pos_embed/0/real");
  scope.record(image.select(-1, 1), "pos_embed/0/imag");
  scope.record(text.select(-1, 0), "pos_embed/1/real");
  scope.record(text.select(-1, 1), "pos_embed/1/imag");
}

}  // namespace

at::Tensor centred_image_ids(int64_t rows, int64_t columns) {
  at::Tensor ids = image_ids(rows, columns);
  ids.select(1, 1).sub_(rows - rows / 2);
  ids.select(1, 2).sub_(columns - columns / 2);
  return ids;
}

at::Tensor diagonal_text_ids(int64_t rows, int64_t columns, int64_t tokens) {
  const int64_t border = std::max(rows / 2, columns / 2);
  return at::arange(border, border + tokens, at::kFloat).unsqueeze(1).expand({tokens, 3});
}

QwenImageTransformer::QwenImageTransformer(const weights::WeightMap& map, const QwenImageConfig& c)
    : config_(c),
      timestep_embedder_(map.sub("time_text_embed.timestep_embedder"), kSinusoids, c.dim()),
      txt_norm_(map.sub("txt_norm"), c.joint_attention_dim, kEps),
      txt_in_(map.sub("txt_in"), c.joint_attention_dim, c.dim()),
      img_in_(map.sub("img_in"), c.in_channels, c.dim()),
      blocks_(load_blocks(map, c)),
      norm_out_(map.sub("norm_out.linear"), c.dim(), 2 * c.dim()),
      proj_out_(map.sub("proj_out"), c.dim(), c.patch_size * c.patch_size * c.out_channels) {}

at::Tensor QwenImageTransformer::embed_time(const at::Tensor& timestep, at::ScalarType dtype) const {
  const nn::SinusoidOptions options{.dim = kSinusoids, .scale = kTimeScale};
  return timestep_embedder_(nn::sinusoidal_embedding(timestep, options).to(dtype));
}

at::Tensor QwenImageTransformer::run_blocks(at::Tensor text, at::Tensor image, const FluxConditioning& conditioning,
                                            const nn::Scope& scope) const {
  for (size_t i = 0; i < blocks_.size(); ++i) {
    blocks_[i].forward(text, image, conditioning, scope);
    if (scope.trace == nullptr) continue;
    scope.record(text, strings::join("transformer_blocks.", i, "/0"));
    scope.record(image, strings::join("transformer_blocks.", i, "/1"));
  }
  return image;
}

at::Tensor QwenImageTransformer::forward(const QwenImageInputs& inputs, const nn::Scope& scope) const {
  record_inputs(inputs, scope);
  const at::Tensor image = img_in_(inputs.hidden_states);
  scope.record(image, "img_in");
  const at::Tensor normed_text = txt_norm_(inputs.encoder_hidden_states);
  scope.record(normed_text, "txt_norm");
  const at::Tensor text = txt_in_(normed_text);
  scope.record(text, "txt_in");
  const at::Tensor time = embed_time(inputs.timestep, image.scalar_type());  // [B, D]
  scope.record(time, "time_text_embed");
  const at::Tensor ids = at::cat(
      {diagonal_text_ids(inputs.rows, inputs.columns, text.size(1)), centred_image_ids(inputs.rows, inputs.columns)});
  const FluxConditioning conditioning{at::silu(time), nn::rotary_table(ids.to(image.device()), config_.axes_dims_rope)};
  record_rotary(conditioning.rotary.rotation, text.size(1), scope);
  const at::Tensor last = run_blocks(text, image, conditioning, scope);
  const std::vector<at::Tensor> m = norm_out_(conditioning.silu_time).chunk(2, 1);  // scale, shift
  const at::Tensor normed = nn::ada_layer_norm(last, m[0], m[1], kEps);
  scope.record(normed, "norm_out");
  const at::Tensor out = proj_out_(normed);
  scope.record(out, "proj_out");
  scope.record(out, "out");
  return out;
}

}  // namespace tessera::models
