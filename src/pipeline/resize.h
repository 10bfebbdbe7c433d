// Fitting an input picture to the size a model works at.
#pragma once

#include "tensor/aten.h"

namespace tessera::pipeline {

/// The picture [H, W, 3] uint8 at another size, by Lanczos filters over three lobes, one axis after the other, with
/// the picture between them in whole levels: bit for bit what PIL's resize gives, which diffusers uses.
at::Tensor resize_lanczos(const at::Tensor& image, int64_t height, int64_t width);

}  // namespace tessera::pipeline
