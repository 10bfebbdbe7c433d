#include "models/flux/transformer.h"

#include "base/check.h"
#include "base/strings.h"
#include "nn/modulation.h"

namespace tessera::models {
namespace {

constexpr int64_t kSinusoids = 256;
constexpr double kTimeScale = 1000;  // the embeddings were trained on 0..1000

template <typename Block>
std::vector<Block> load_blocks(const weights::WeightMap& map, const std::string& name, int64_t count,
                               const FluxConfig& config) {
  std::vector<Block> blocks;
  blocks.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) blocks.emplace_back(map.sub(strings::join(name, ".", i)), config);
  return blocks;
}

void record_inputs(const FluxInputs& inputs, const nn::Scope& scope) {
  scope.record(inputs.hidden_states, "in/hidden_states");
  scope.record(inputs.timestep, "in/timestep");
  if (inputs.guidance) scope.record(*inputs.guidance, "in/guidance");
  scope.record(inputs.pooled_projections, "in/pooled_projections");
  scope.record(inputs.encoder_hidden_states, "in/encoder_hidden_states");
  scope.record(inputs.txt_ids, "in/txt_ids");
  scope.record(inputs.img_ids, "in/img_ids");
}

}  // namespace

FluxTransformer::FluxTransformer(const weights::WeightMap& map, const FluxConfig& c)
    : config_(c),
      timestep_embedder_(map.sub("time_text_embed.timestep_embedder"), kSinusoids, c.dim()),
      text_embedder_(map.sub("time_text_embed.text_embedder"), c.pooled_projection_dim, c.dim()),
      context_embedder_(map.sub("context_embedder"), c.joint_attention_dim, c.dim()),
      x_embedder_(map.sub("x_embedder"), c.in_channels, c.dim()),
      double_blocks_(load_blocks<FluxDoubleBlock>(map, "transformer_blocks", c.num_layers, c)),
      single_blocks_(load_blocks<FluxSingleBlock>(map, "single_transformer_blocks", c.num_single_layers, c)),
      norm_out_(map.sub("norm_out.linear"), c.dim(), 2 * c.dim()),
      proj_out_(map.sub("proj_out"), c.dim(), c.patch_size * c.patch_size * c.out_channels) {
  if (c.guidance_embeds) {
    guidance_embedder_.emplace(map.sub("time_text_embed.guidance_embedder"), kSinusoids, c.dim());
  }
}

at::Tensor FluxTransformer::embed_time(const FluxInputs& inputs, at::ScalarType dtype) const {
  const auto embed = [&](const nn::TimestepEmbedding& embedder, const at::Tensor& value) {
    return embedder(nn::sinusoidal_embedding(value.to(at::kFloat) * kTimeScale, {.dim = kSinusoids}).to(dtype));
  };
  at::Tensor time = embed(timestep_embedder_, inputs.timestep);
  if (guidance_embedder_) {
    TESSERA_CHECK(inputs.guidance.has_value(), "this transformer needs a guidance value");
    time = time + embed(*guidance_embedder_, *inputs.guidance);
  }
  return time + text_embedder_(inputs.pooled_projections);
}

at::Tensor FluxTransformer::run_blocks(at::Tensor text, at::Tensor image, const FluxConditioning& conditioning,
                                       const nn::Scope& scope) const {
  const int64_t text_tokens = text.size(1);
  const auto record = [&](const char* name, size_t i, const at::Tensor& t, const at::Tensor& s) {
    if (scope.trace == nullptr) return;
    scope.record(t, strings::join(name, ".", i, "/0"));
    scope.record(s, strings::join(name, ".", i, "/1"));
  };
  for (size_t i = 0; i < double_blocks_.size(); ++i) {
    double_blocks_[i].forward(text, image, conditioning, scope);
    record("transformer_blocks", i, text, image);
  }
  at::Tensor joined = at::cat({text, image}, 1);  // [B, T + S, D]
  for (size_t i = 0; i < single_blocks_.size(); ++i) {
    joined = single_blocks_[i].forward(joined, conditioning, scope);
    record("single_transformer_blocks", i, joined.slice(1, 0, text_tokens), joined.slice(1, text_tokens));
  }
  return joined.slice(1, text_tokens);
}

at::Tensor FluxTransformer::forward(const FluxInputs& inputs, const nn::Scope& scope) const {
  record_inputs(inputs, scope);
  const at::Tensor image = x_embedder_(inputs.hidden_states);
  scope.record(image, "x_embedder");
  const at::Tensor time = embed_time(inputs, image.scalar_type());  // [B, D]
  scope.record(time, "time_text_embed");
  const at::Tensor text = context_embedder_(inputs.encoder_hidden_states);
  scope.record(text, "context_embedder");
  const FluxConditioning conditioning{
      at::silu(time),
      nn::rotary_table(at::cat({inputs.txt_ids, inputs.img_ids}).to(at::kFloat), config_.axes_dims_rope)};
  if (scope.trace != nullptr) {
    scope.record(conditioning.rotary.cos(), "pos_embed/0");
    scope.record(conditioning.rotary.sin(), "pos_embed/1");
  }
  const at::Tensor last = run_blocks(text, image, conditioning, scope);
  const std::vector<at::Tensor> m = norm_out_(conditioning.silu_time).chunk(2, 1);  // scale, shift
  const at::Tensor normed = nn::ada_layer_norm(last, m[0], m[1], 1e-6);
  scope.record(normed, "norm_out");
  const at::Tensor out = proj_out_(normed);
  scope.record(out, "proj_out");
  scope.record(out, "out");
  return out;
}

}  // namespace tessera::models
