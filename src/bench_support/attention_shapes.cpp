#include "bench_support/attention_shapes.h"

#include "base/strings.h"

namespace tessera::bench_support {
namespace {

AttentionShape self(std::string_view name, int64_t seq, int64_t heads, int64_t d, int64_t batch = 1) {
  return {name, batch, seq, seq, heads, heads, d, seq, false};
}

AttentionShape cross(std::string_view name, int64_t seq_q, int64_t seq_kv, int64_t heads) {
  return {name, 1, seq_q, seq_kv, heads, heads, 128, seq_kv, false};
}

}  // namespace

const std::vector<AttentionShape>& attention_shapes() {
  static const std::vector<AttentionShape> shapes = {
      self("wan22_720p_self", 75600, 40, 128),
      cross("wan22_720p_cross", 75600, 512, 40),
      self("wan22_480p_self", 32760, 40, 128),
      cross("wan22_480p_cross", 32760, 512, 40),
      self("wan22_ti2v_self", 27280, 24, 128),
      cross("wan22_ti2v_cross", 27280, 512, 24),
      {"qwen_1024", 1, 4352, 4352, 24, 24, 128, 4096 + 200, false},
      self("flux_1024_self", 4608, 24, 128),
      self("lingbot_506k", 506000, 40, 128),
      cross("lingbot_cross", 506000, 512, 40),
      self("minimax_h3", 37700, 56, 128),
      self("sd_1024_64", 1024, 16, 64, 4),
      self("flux_512", 1536, 24, 128),
      cross("wan_cross_512", 4096, 512, 12),
      {"clip_77", 1, 77, 77, 12, 12, 64, 77, true},
      self("tiny_256", 256, 4, 64),
      {"krea_gqa", 1, 4352, 4352, 48, 12, 128, 4352, false},
      self("vae_mid", 4096, 1, 512),
  };
  return shapes;
}

Result<std::vector<AttentionShape>> parse_shapes(const std::string& names) {
  std::vector<AttentionShape> chosen;
  for (const std::string& part : strings::split(names, ',')) {
    const std::string name = strings::lower(strings::trim(part));
    std::vector<std::string> known;
    const size_t before = chosen.size();
    for (const AttentionShape& shape : attention_shapes()) {
      known.emplace_back(shape.name);
      if (shape.name == name) chosen.push_back(shape);
    }
    if (chosen.size() == before) {
      return fail(ErrorCode::Usage, strings::join("no shape named '", name, "'"), "known: " + strings::list(known));
    }
  }
  return chosen;
}

}  // namespace tessera::bench_support
