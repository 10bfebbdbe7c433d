// Calls an operator that some library registered with LibTorch, by the argument names of its schema.
#pragma once

#include "tensor/aten.h"

#include <map>
#include <string>

#include <ATen/core/ivalue.h>

#include "base/result.h"

namespace tessera::attention {

/// True when the operator ("flash_attn_3::fwd") is registered in this process.
bool has_operator(const std::string& name);

/// Calls it with `arguments` where the schema has those names, and defaults or None elsewhere.
/// Errors: Unavailable when there is no such operator, or its schema demands an argument that we have no value for.
/// What the operator throws leaves this function.
Result<std::vector<c10::IValue>> call_operator(const std::string& name,
                                               const std::map<std::string, c10::IValue>& arguments);

}  // namespace tessera::attention
