#include "models/z_image/sequence.h"

#include "base/check.h"

namespace tessera::models {

at::Tensor z_image_patches(const at::Tensor& latents) {
  TESSERA_CHECK(latents.dim() == 4 && latents.size(1) == 1, "one frame");
  constexpr int64_t p = kZImagePatch;
  const int64_t c = latents.size(0), rows = latents.size(2) / p, columns = latents.size(3) / p;
  return latents.reshape({c, rows, p, columns, p}).permute({1, 3, 2, 4, 0}).reshape({rows * columns, p * p * c});
}

at::Tensor z_image_unpatch(const at::Tensor& tokens, int64_t height, int64_t width) {
  constexpr int64_t p = kZImagePatch;
  const int64_t rows = height / p, columns = width / p, c = tokens.size(1) / (p * p);
  return tokens.slice(0, 0, rows * columns)
      .view({rows, columns, p, p, c})
      .permute({4, 0, 2, 1, 3})
      .reshape({c, 1, height, width});
}

at::Tensor z_image_pad(const at::Tensor& tokens) {
  const int64_t count = tokens.size(0);
  const int64_t padding = z_image_padded(count) - count;
  if (padding == 0) return tokens;
  return at::cat({tokens, tokens.slice(0, count - 1).expand({padding, tokens.size(1)})});
}

at::Tensor z_image_caption_ids(int64_t tokens) {
  const int64_t padded = z_image_padded(tokens);
  at::Tensor ids = at::zeros({padded + (padded - tokens), 3}, at::kFloat);
  ids.select(1, 0).slice(0, 0, padded).copy_(at::arange(1, padded + 1, at::kFloat));
  return ids;
}

at::Tensor z_image_picture_ids(int64_t rows, int64_t columns, int64_t frame) {
  at::Tensor ids = at::zeros({z_image_padded(rows * columns), 3}, at::kFloat);
  at::Tensor grid = ids.slice(0, 0, rows * columns).view({rows, columns, 3});
  grid.select(2, 0).fill_(frame);
  grid.select(2, 1).copy_(at::arange(rows, at::kFloat).unsqueeze(1).expand({rows, columns}));
  grid.select(2, 2).copy_(at::arange(columns, at::kFloat).unsqueeze(0).expand({rows, columns}));
  return ids;
}

at::Tensor z_image_stack(const std::vector<at::Tensor>& rows) {
  int64_t longest = 0;
  for (const at::Tensor& row : rows) longest = std::max(longest, row.size(0));
  std::vector<int64_t> shape = rows.front().sizes().vec();
  shape.front() = longest;
  shape.insert(shape.begin(), static_cast<int64_t>(rows.size()));
  at::Tensor out = at::zeros(shape, rows.front().options());
  for (size_t i = 0; i < rows.size(); ++i) {
    out.select(0, static_cast<int64_t>(i)).slice(0, 0, rows[i].size(0)).copy_(rows[i]);
  }
  return out;
}

ZImageSequence z_image_sequence(const ZImageRows& rows) {
  ZImageSequence out;
  out.tokens = z_image_stack(rows.tokens);
  out.rotary.rotation = z_image_stack(rows.rotation).slice(1, 0, out.tokens.size(1));
  bool differ = false;
  for (const at::Tensor& row : rows.tokens) {
    out.lengths.push_back(row.size(0));
    differ = differ || row.size(0) != out.tokens.size(1);
  }
  if (differ) out.key_lengths = out.lengths;
  return out;
}

}  // namespace tessera::models
