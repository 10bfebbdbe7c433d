// Short names for problems, devices and selections that the policy tests share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attention/policy/problem.h"
#include "attention/policy/selection.h"
#include "platform/presets.h"

namespace tessera::attention {

/// Self-attention of `sq` tokens and `skv` keys, 24 heads of 128, bf16.
inline AttentionProblem dense(int64_t sq, int64_t skv) {
  return dense_problem({.batch = 1, .seq_q = sq, .seq_kv = skv, .heads = 24, .head_dim = 128});
}

inline platform::DeviceProfile device(std::string_view name) {
  return platform::preset(name).value();
}

inline platform::DeviceProfile device_with(std::string_view name, const std::vector<std::string>& libraries) {
  platform::DeviceProfile d = device(name);
  platform::set_libraries(d, libraries);
  return d;
}

inline Choice named(std::string_view name) {
  return parse_choice(name).value();
}

inline Selection server(std::string_view name) {
  Selection s;
  s.server = named(name);
  return s;
}

}  // namespace tessera::attention
