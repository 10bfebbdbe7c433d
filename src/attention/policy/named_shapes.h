// Attention problems of real models by name, for explain, the bench and tests.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "attention/policy/problem.h"
#include "base/result.h"

namespace tessera::attention {

struct NamedShape {
  std::string_view name;
  int64_t batch;
  int64_t seq_q;
  int64_t seq_kv;
  int64_t heads_q;
  int64_t heads_kv;
  int64_t head_dim;
  Role role = Role::Self;
  bool causal = false;
  int64_t key_length = 0;  ///< > 0: only so many keys take part (text padded to a full length)

  AttentionProblem problem(DType dtype) const;
};

/// The eleven production shapes first, in the order of the reference's own table.
std::span<const NamedShape> named_shapes();

/// The shape of that name. Errors: Usage with all names.
Result<NamedShape> named_shape(std::string_view name);

/// "all", "production", or names between commas. Errors: Usage.
Result<std::vector<NamedShape>> named_shape_list(std::string_view names);

}  // namespace tessera::attention
