#include "models/wan/transformer.h"

#include "base/check.h"
#include "base/strings.h"
#include "nn/activation.h"

namespace tessera::models {
namespace {

/// Positions of the patches on the axes frame, row, column: [F * H * W, 3] float32.
at::Tensor patch_positions(int64_t frames, int64_t rows, int64_t columns) {
  const auto axis = [&](int64_t size, at::IntArrayRef shape) {
    return at::arange(size, at::TensorOptions().dtype(at::kFloat)).view(shape).expand({frames, rows, columns});
  };
  return at::stack({axis(frames, {-1, 1, 1}), axis(rows, {1, -1, 1}), axis(columns, {1, 1, -1})}, -1).reshape({-1, 3});
}

std::vector<WanBlock> load_blocks(const weights::WeightMap& map, const WanConfig& config) {
  std::vector<WanBlock> blocks;
  blocks.reserve(static_cast<size_t>(config.num_layers));
  for (int64_t i = 0; i < config.num_layers; ++i) blocks.emplace_back(map.sub(strings::join("blocks.", i)), config);
  return blocks;
}

}  // namespace

WanTransformer::WanTransformer(const weights::WeightMap& map, const WanConfig& c)
    : config_(c),
      patch_weight_(map.get("patch_embedding.weight",
                            {c.dim(), c.in_channels, c.patch_size[0], c.patch_size[1], c.patch_size[2]})),
      patch_bias_(map.get("patch_embedding.bias", {c.dim()})),
      time_embedder_(map.sub("condition_embedder.time_embedder"), c.freq_dim, c.dim()),
      time_proj_(map.sub("condition_embedder.time_proj"), c.dim(), 6 * c.dim()),
      text_1_(map.sub("condition_embedder.text_embedder.linear_1"), c.text_dim, c.dim()),
      text_2_(map.sub("condition_embedder.text_embedder.linear_2"), c.dim(), c.dim()),
      blocks_(load_blocks(map, c)),
      proj_out_(map.sub("proj_out"), c.dim(), c.out_channels * c.patch_volume()),
      table_(map.get("scale_shift_table", {1, 2, c.dim()}).to(at::kFloat)) {}

WanTime WanTransformer::embed_time(const at::Tensor& timestep, at::ScalarType dtype) const {
  // With one timestep per patch there are still only one or two distinct ones (a given first frame stands at 0).
  const auto [distinct, rows, counts] =
      at::unique_dim(timestep.reshape({-1}), 0, /*sorted=*/true, /*return_inverse=*/true);
  const at::Tensor sines = nn::sinusoidal_embedding(distinct, {.dim = config_.freq_dim}).to(dtype);
  const at::Tensor embedding = time_embedder_(sines);  // [U, D]
  const at::Tensor projection = time_proj_(at::silu(embedding)).unflatten(1, {6, -1}).to(at::kFloat);
  return {embedding, projection, distinct.size(0) > 1 ? rows : at::Tensor()};
}

WanConditioning WanTransformer::condition(const WanInputs& inputs, const nn::Scope& scope) const {
  const auto& sizes = inputs.hidden_states.sizes();
  const auto& p = config_.patch_size;
  const at::Tensor positions = patch_positions(sizes[2] / p[0], sizes[3] / p[1], sizes[4] / p[2]);
  WanConditioning c{embed_time(inputs.timestep, inputs.encoder_hidden_states.scalar_type()),
                    nn::rotary_table(positions.to(inputs.hidden_states.device()), config_.rope_axes()),
                    text_2_(nn::activate(nn::Activation::GeluTanh, text_1_(inputs.encoder_hidden_states)))};
  if (scope.trace == nullptr) return c;
  scope.record(c.rotary.cos().unsqueeze(0).unsqueeze(2), "rope/0");
  scope.record(c.rotary.sin().unsqueeze(0).unsqueeze(2), "rope/1");
  const bool per_patch = inputs.timestep.dim() == 2;
  const auto as_reference = [&](const at::Tensor& rows_of_u) {
    if (!per_patch) return rows_of_u;
    return c.time.per_token(rows_of_u).expand({1, positions.size(0), rows_of_u.size(1)});
  };
  scope.record(as_reference(c.time.embedding), "condition_embedder/0");
  scope.record(as_reference(c.time.projection.flatten(1)), "condition_embedder/1");
  scope.record(c.text, "condition_embedder/2");
  return c;
}

at::Tensor WanTransformer::unpatch(const at::Tensor& tokens, const WanInputs& inputs) const {
  const auto& sizes = inputs.hidden_states.sizes();
  const auto& p = config_.patch_size;
  const at::Tensor split =
      tokens.view({1, sizes[2] / p[0], sizes[3] / p[1], sizes[4] / p[2], p[0], p[1], p[2], config_.out_channels});
  return split.permute({0, 7, 1, 4, 2, 5, 3, 6}).reshape({1, config_.out_channels, sizes[2], sizes[3], sizes[4]});
}

at::Tensor WanTransformer::forward(const WanInputs& inputs, const nn::Scope& scope) const {
  TESSERA_CHECK(inputs.hidden_states.size(0) == 1, "one video at a time, not ", inputs.hidden_states.size(0));
  scope.record(inputs.hidden_states, "in/hidden_states");
  scope.record(inputs.timestep, "in/timestep");
  scope.record(inputs.encoder_hidden_states, "in/encoder_hidden_states");
  const at::Tensor patches = at::conv3d(inputs.hidden_states, patch_weight_, patch_bias_, config_.patch_size);
  scope.record(patches, "patch_embedding");
  const WanConditioning c = condition(inputs, scope);
  at::Tensor x = patches.flatten(2).transpose(1, 2).contiguous();  // [1, S, D]
  for (size_t i = 0; i < blocks_.size(); ++i) {
    x = blocks_[i].forward(x, c, scope);
    if (scope.trace != nullptr) scope.record(x, strings::join("blocks.", i));
  }
  if (scope.trace != nullptr) scope.record(nn::layer_norm(x.to(at::kFloat), config_.eps), "norm_out");
  const at::Tensor factors = table_ + c.time.embedding.unsqueeze(1);  // [U, 2, D]: shift, scale
  const at::Tensor normed = wan_modulated_norm(x, c.time.per_token(factors.select(1, 1)),
                                               c.time.per_token(factors.select(1, 0)), config_.eps);
  const at::Tensor projected = proj_out_(normed);
  scope.record(projected, "proj_out");
  const at::Tensor out = unpatch(projected, inputs);
  scope.record(out, "out");
  return out;
}

}  // namespace tessera::models
