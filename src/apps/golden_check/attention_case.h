// One attention problem of a golden folder, with its tensors and its answer.
#pragma once

#include "tensor/aten.h"

#include "attention/inputs.h"
#include "base/json.h"

namespace tessera::golden {

/// `inputs` may point into `key_lengths`: neither copied nor moved.
struct AttentionCase {
  std::string name;
  attention::AttentionInputs inputs;
  attention::Role role = attention::Role::Self;
  std::vector<int64_t> key_lengths;
  at::Tensor out;  // [B, Sq, Hq, Dv] double
  at::Tensor lse;  // [B, Hq, Sq] double; undefined when the file has none
  double out_tolerance = 0;
  double lse_tolerance = 0;
};

/// Reads a row of index.json and its file. Errors: NotFound, BadFile when views, mask or answer do not fit together.
Result<std::unique_ptr<AttentionCase>> load_attention_case(const std::filesystem::path& folder, const Json& row);

}  // namespace tessera::golden
