#include "models/flux/latents.h"

namespace tessera::models {

at::Tensor pack_latents(const at::Tensor& latents) {
  const int64_t b = latents.size(0), c = latents.size(1), h = latents.size(2), w = latents.size(3);
  return latents.view({b, c, h / 2, 2, w / 2, 2}).permute({0, 2, 4, 1, 3, 5}).reshape({b, (h / 2) * (w / 2), 4 * c});
}

at::Tensor unpack_latents(const at::Tensor& packed, int64_t height, int64_t width) {
  const int64_t b = packed.size(0), c = packed.size(2) / 4;
  return packed.view({b, height / 2, width / 2, c, 2, 2}).permute({0, 3, 1, 4, 2, 5}).reshape({b, c, height, width});
}

at::Tensor image_ids(int64_t rows, int64_t columns) {
  at::Tensor ids = at::zeros({rows, columns, 3}, at::kFloat);
  ids.select(2, 1).copy_(at::arange(rows, at::kFloat).unsqueeze(1).expand({rows, columns}));
  ids.select(2, 2).copy_(at::arange(columns, at::kFloat).unsqueeze(0).expand({rows, columns}));
  return ids.view({rows * columns, 3});
}

}  // namespace tessera::models
