#include "models/z_image/transformer.h"

#include "base/strings.h"
#include "nn/timestep_embedding.h"

namespace tessera::models {
namespace {

constexpr int64_t kSinusoids = 256;
constexpr int64_t kTimeHidden = 1024;
constexpr double kFinalEps = 1e-6;

int64_t time_channels(const ZImageConfig& c) {
  return std::min(c.dim, kZImageTimeChannels);
}

std::vector<ZImageBlock> load_blocks(const weights::WeightMap& map, const char* name, int64_t count,
                                     const ZImageConfig& config, bool modulated) {
  std::vector<ZImageBlock> blocks;
  blocks.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) blocks.emplace_back(map.sub(strings::join(name, ".", i)), config, modulated);
  return blocks;
}

void run(const std::vector<ZImageBlock>& blocks, const char* name, ZImageSequence& sequence, const at::Tensor& time,
         const nn::Scope& scope) {
  for (size_t i = 0; i < blocks.size(); ++i) {
    sequence.tokens = blocks[i].forward(sequence, time, scope);
    if (scope.trace != nullptr) scope.record(sequence.tokens, strings::join(name, ".", i));
  }
}

void record_rotation(const at::Tensor& rotation, const char* name, const nn::Scope& scope) {
  if (scope.trace == nullptr) return;
  const at::Tensor parts = at::view_as_real(rotation);
  scope.record(parts.select(-1, 0), strings::join(name, "/real"));
  scope.record(parts.select(-1, 1), strings::join(name, "/imag"));
}

void record_list(const std::vector<at::Tensor>& rows, const char* name, const nn::Scope& scope) {
  if (scope.trace == nullptr) return;
  for (size_t i = 0; i < rows.size(); ++i) scope.record(rows[i], strings::join(name, "/", i));
}

/// Splits the embedded tokens of all rows and puts the learned token where a row is padding.
/// `counts`: tokens of each row before padding.
std::vector<at::Tensor> padded_rows(const at::Tensor& embedded, const std::vector<int64_t>& counts,
                                    const at::Tensor& pad_token) {
  std::vector<at::Tensor> rows;
  int64_t begin = 0;
  for (const int64_t count : counts) {
    const int64_t padded = z_image_padded(count);
    at::Tensor row = embedded.slice(0, begin, begin + padded).clone();
    row.slice(0, count).copy_(pad_token.expand({padded - count, row.size(1)}));
    rows.push_back(std::move(row));
    begin += padded;
  }
  return rows;
}

/// The rotation of every row, from one table over the positions of all rows as the reference makes it.
std::vector<at::Tensor> rotations(const std::vector<at::Tensor>& ids, const ZImageConfig& c, const char* trace_name,
                                  const at::Tensor& like, const nn::Scope& scope) {
  const nn::RotaryTable table = nn::rotary_table(at::cat(ids).to(like.device()), c.axes_dims, c.rope_theta);
  record_rotation(table.rotation, trace_name, scope);
  std::vector<at::Tensor> rows;
  int64_t begin = 0;
  for (const at::Tensor& row : ids) {
    rows.push_back(table.rotation.slice(0, begin, begin + row.size(0)));
    begin += row.size(0);
  }
  return rows;
}

/// Picture then caption, row by row, without the padding between rows of a batch.
ZImageSequence join(const ZImageSequence& picture, const ZImageSequence& caption) {
  ZImageRows rows;
  for (size_t i = 0; i < picture.lengths.size(); ++i) {
    const auto b = static_cast<int64_t>(i);
    const auto part = [&](const at::Tensor& t, int64_t length) { return t.select(0, b).slice(0, 0, length); };
    rows.tokens.push_back(
        at::cat({part(picture.tokens, picture.lengths[i]), part(caption.tokens, caption.lengths[i])}));
    rows.rotation.push_back(at::cat(
        {part(picture.rotary.rotation, picture.lengths[i]), part(caption.rotary.rotation, caption.lengths[i])}));
  }
  return z_image_sequence(rows);
}

}  // namespace

ZImageTransformer::ZImageTransformer(const weights::WeightMap& map, const ZImageConfig& c)
    : config_(c),
      x_embedder_(map.sub("all_x_embedder.2-1"), c.patch_channels(), c.dim),
      time_in_(map.sub("t_embedder.mlp.0"), kSinusoids, kTimeHidden),
      time_out_(map.sub("t_embedder.mlp.2"), kTimeHidden, time_channels(c)),
      cap_norm_(map.sub("cap_embedder.0"), c.cap_feat_dim, c.norm_eps),
      cap_embedder_(map.sub("cap_embedder.1"), c.cap_feat_dim, c.dim),
      x_pad_token_(map.get("x_pad_token", {1, c.dim})),
      cap_pad_token_(map.get("cap_pad_token", {1, c.dim})),
      noise_refiner_(load_blocks(map, "noise_refiner", c.n_refiner_layers, c, true)),
      context_refiner_(load_blocks(map, "context_refiner", c.n_refiner_layers, c, false)),
      layers_(load_blocks(map, "layers", c.n_layers, c, true)),
      final_modulation_(map.sub("all_final_layer.2-1.adaLN_modulation.1"), time_channels(c), c.dim),
      final_linear_(map.sub("all_final_layer.2-1.linear"), c.dim, c.patch_channels()) {}

at::Tensor ZImageTransformer::embed_time(const at::Tensor& t, at::ScalarType dtype) const {
  const at::Tensor waves = nn::sinusoidal_embedding(t * config_.t_scale, {.dim = kSinusoids}).to(dtype);
  return time_out_(at::silu(time_in_(waves)));
}

ZImageSequence ZImageTransformer::refine_picture(const ZImageInputs& inputs, const at::Tensor& time,
                                                 const nn::Scope& scope) const {
  std::vector<at::Tensor> patches, ids;
  std::vector<int64_t> counts;
  for (size_t i = 0; i < inputs.x.size(); ++i) {
    const at::Tensor& x = inputs.x[i];
    patches.push_back(z_image_pad(z_image_patches(x)));
    counts.push_back(x.size(2) / kZImagePatch * (x.size(3) / kZImagePatch));
    ids.push_back(z_image_picture_ids(x.size(2) / kZImagePatch, x.size(3) / kZImagePatch,
                                      z_image_padded(inputs.cap_feats[i].size(0)) + 1));
  }
  const at::Tensor embedded = x_embedder_(at::cat(patches));
  scope.record(embedded, "all_x_embedder.2-1");
  ZImageSequence picture = z_image_sequence(
      {padded_rows(embedded, counts, x_pad_token_), rotations(ids, config_, "rope_embedder", embedded, scope)});
  run(noise_refiner_, "noise_refiner", picture, time, scope);
  return picture;
}

ZImageSequence ZImageTransformer::refine_caption(const ZImageInputs& inputs, const nn::Scope& scope) const {
  std::vector<at::Tensor> features, ids;
  std::vector<int64_t> counts;
  for (const at::Tensor& caption : inputs.cap_feats) {
    features.push_back(z_image_pad(caption));
    counts.push_back(caption.size(0));
    ids.push_back(z_image_caption_ids(caption.size(0)));
  }
  const at::Tensor embedded = cap_embedder_(cap_norm_(at::cat(features)));
  scope.record(embedded, "cap_embedder");
  ZImageSequence caption = z_image_sequence(
      {padded_rows(embedded, counts, cap_pad_token_), rotations(ids, config_, "rope_embedder#1", embedded, scope)});
  run(context_refiner_, "context_refiner", caption, {}, scope);
  return caption;
}

at::Tensor ZImageTransformer::finish(const at::Tensor& tokens, const at::Tensor& time) const {
  const at::Tensor scale = final_modulation_(at::silu(time)).unsqueeze(1) + 1;
  return final_linear_(nn::layer_norm(tokens, kFinalEps) * scale);
}

std::vector<at::Tensor> ZImageTransformer::forward(const ZImageInputs& inputs, const nn::Scope& scope) const {
  record_list(inputs.x, "in/x", scope);
  scope.record(inputs.t, "in/t");
  record_list(inputs.cap_feats, "in/cap_feats", scope);
  const at::Tensor time = embed_time(inputs.t, inputs.x.front().scalar_type());
  scope.record(time, "t_embedder");
  const ZImageSequence picture = refine_picture(inputs, time, scope);
  ZImageSequence joint = join(picture, refine_caption(inputs, scope));
  run(layers_, "layers", joint, time, scope);
  const at::Tensor patches = finish(joint.tokens, time);
  scope.record(patches, "all_final_layer.2-1");
  std::vector<at::Tensor> out;
  for (size_t i = 0; i < inputs.x.size(); ++i) {
    const at::Tensor row = patches.select(0, static_cast<int64_t>(i));
    out.push_back(z_image_unpatch(row, inputs.x[i].size(2), inputs.x[i].size(3)));
  }
  record_list(out, "out", scope);
  return out;
}

}  // namespace tessera::models
