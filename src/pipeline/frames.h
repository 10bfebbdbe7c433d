// From a decoder's output to pixels.
#pragma once

#include "tensor/aten.h"

namespace tessera::pipeline {

/// round((x / 2 + 0.5) * 255), clamped, as the reference does it. x [F, 3, H, W] float → [F, H, W, 3] uint8 on the CPU.
at::Tensor to_frames(const at::Tensor& x);

}  // namespace tessera::pipeline
