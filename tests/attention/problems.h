// The problem table of the attention tests, and the reference's answers to it.
#pragma once

#include "tensor/aten.h"

#include <ostream>

#include "attention/inputs.h"
#include "tests/support/reference_attention.h"

namespace tessera::attention {

/// How the tensors of a case lie in memory.
enum class Memory {
  Dense,
  HeadMajor,
  PackedQkv,
  EverySecondRow,
  LastStrided,
  HeadSlice,
  HeadsBroadcast,
  BatchBroadcast
};

/// The kind and the shape of a case's mask.
enum class MaskShape { None, Lengths, BoolFull, BoolPadding, BoolPlane, BoolDead, AddFull, AddHeads, AddInf, AddDead };

struct Problem {
  const char* name;
  Sizes sizes;
  at::ScalarType dtype = at::kFloat;
  Causal causal = Causal::None;
  MaskShape mask = MaskShape::None;
  Memory memory = Memory::Dense;
  double scale = 0;                        ///< 0: 1 / sqrt(D)
  std::vector<int64_t> query_bounds = {};  ///< not empty: packed sequences
  std::vector<int64_t> key_bounds = {};    ///< empty: those of the queries
};

inline std::ostream& operator<<(std::ostream& out, const Problem& p) {
  return out << p.name;
}

/// Every contract of an attention call, in small sizes that cross the kernels' tile borders.
const std::vector<Problem>& problem_table();

/// Packed sequences with masks: not every backend takes the two together.
const std::vector<Problem>& masked_packed_table();

/// A case with its tensors. The lengths and bounds that the inputs point at live here.
struct MadeProblem {
  AttentionInputs inputs;
  std::vector<int64_t> lengths, query_bounds, key_bounds;
};

/// Normal random values, equal for equal problems. Not copied or moved: inputs may point into it.
std::unique_ptr<MadeProblem> make_problem(const Problem& problem);

/// The tests' own double-precision answer, whatever the inputs hold.
test::ReferenceResult reference_answer(const AttentionInputs& inputs);

/// Largest deviations of an answer; infinite when one is NaN or infinite and the other is not the same.
struct Deviation {
  double out = 0;
  double lse = 0;
  double out_l1 = 0;  ///< sum |got - want| / sum |want|
};
Deviation deviation(const AttentionOutputs& got, const test::ReferenceResult& want);

/// The tests' bound for the output of a dtype, for values of about size 1.
double out_tolerance(at::ScalarType dtype);
double lse_tolerance(at::ScalarType dtype);

}  // namespace tessera::attention
