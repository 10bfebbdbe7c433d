// The named attention problems that benchmarks talk about.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tessera::bench_support {

/// One named problem; key_length < seq_kv: the keys behind it are padding.
struct AttentionShape {
  std::string_view name;
  int64_t batch = 1;
  int64_t seq_q = 0;
  int64_t seq_kv = 0;
  int64_t heads_q = 0;
  int64_t heads_kv = 0;
  int64_t head_dim = 0;
  int64_t key_length = 0;
  bool causal = false;

  /// 4 * B * H * Sq * keys * D, whatever a causal mask leaves out: the usual count.
  double flops() const {
    return 4.0 * static_cast<double>(batch * heads_q) * static_cast<double>(seq_q) *
           static_cast<double>(key_length * head_dim);
  }
};

/// All of them: production shapes first.
const std::vector<AttentionShape>& attention_shapes();

/// The shapes of a comma-separated list. Errors: Usage, with the known names.
Result<std::vector<AttentionShape>> parse_shapes(const std::string& names);

/// The shapes without a name given: those that run in seconds on a small machine.
inline constexpr std::string_view kDefaultShapes = "sd_1024_64,flux_512,wan_cross_512,clip_77,tiny_256";

}  // namespace tessera::bench_support
