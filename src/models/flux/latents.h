// Flux's packed latents: squares of 2×2 cells as tokens, and the positions of the tokens.
#pragma once

#include "tensor/aten.h"

namespace tessera::models {

/// [B, C, h, w] → [B, (h/2)(w/2), 4C]; h and w even.
at::Tensor pack_latents(const at::Tensor& latents);

/// The inverse, for a picture of height × width cells.
at::Tensor unpack_latents(const at::Tensor& packed, int64_t height, int64_t width);

/// (0, row, column) of each packed token, [rows * columns, 3] float32.
at::Tensor image_ids(int64_t rows, int64_t columns);

}  // namespace tessera::models
