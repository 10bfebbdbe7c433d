// Inputs whose elements of a row lie apart, copied once into rows; for dispatch.cpp.
#pragma once

#include <cstdlib>
#include <memory>

#include "kernels/attention.h"

namespace tessera::kernels {

/// The arguments of a call with dense rows: q, k and v that had none are copies owned here.
struct CompactInputs {
  AttentionArgs args;
  int64_t copied = 0;  ///< how many of the three
  bool out_of_memory = false;

  CompactInputs(const AttentionArgs& given, const ParallelFor& parallel);

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  struct Extent;
  void compact(TensorView& view, const Extent& extent, std::unique_ptr<std::byte, Free>& memory,
               const ParallelFor& parallel);

  std::unique_ptr<std::byte, Free> q_, k_, v_;
};

}  // namespace tessera::kernels
