// Faults on demand, so that every reaction of the engine can be seen on a machine where nothing is wrong.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "attention/backend.h"
#include "attention/policy/backend_id.h"

namespace tessera::attention {

enum class Fault { Unsupported, Oom, DeviceFault, Garbage, Nan, NoWrite, Slow };

/// "unsupported", "oom", "fault", "garbage", "nan", "nowrite", "slow".
std::string_view fault_name(Fault fault);

/// One fault at the n-th call of a backend, counted from 1.
struct Injection {
  BackendId backend = BackendId::Reference;
  Fault fault = Fault::Unsupported;
  int64_t call = 1;
};

/// Parses `--inject`: BACKEND:FAULT@CALL, several separated by commas; empty text is no fault.
/// Errors: Usage when malformed, or when the environment does not have TESSERA_ALLOW_INJECT=1.
Result<std::vector<Injection>> parse_injections(std::string_view text);

/// The backend with those of `injections` that name it; `id` as given, or the backend itself when there is none.
std::unique_ptr<AttentionBackend> with_faults(BackendId id, std::unique_ptr<AttentionBackend> backend,
                                              const std::vector<Injection>& injections);

}  // namespace tessera::attention
