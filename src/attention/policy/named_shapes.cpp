#include "attention/policy/named_shapes.h"

#include <algorithm>

#include "base/strings.h"

namespace tessera::attention {
namespace {

constexpr std::size_t kProduction = 11;

constexpr NamedShape kShapes[] = {
    {"wan22_720p_self", 1, 75600, 75600, 40, 40, 128},
    {"wan22_720p_cross", 1, 75600, 512, 40, 40, 128, Role::Cross},
    {"wan22_480p_self", 1, 32760, 32760, 40, 40, 128},
    {"wan22_480p_cross", 1, 32760, 512, 40, 40, 128, Role::Cross},
    {"wan22_ti2v_self", 1, 27280, 27280, 24, 24, 128},
    {"wan22_ti2v_cross", 1, 27280, 512, 24, 24, 128, Role::Cross},
    {"qwen_1024", 1, 4352, 4352, 24, 24, 128, Role::Self, false, 4096 + 200},
    {"flux_1024_self", 1, 4608, 4608, 24, 24, 128},
    {"lingbot_506k", 1, 506000, 506000, 40, 40, 128},
    {"lingbot_cross", 1, 506000, 512, 40, 40, 128, Role::Cross},
    {"minimax_h3", 1, 37700, 37700, 56, 56, 128},
    {"sd_1024_64", 4, 1024, 1024, 16, 16, 64},
    {"flux_512", 1, 1536, 1536, 24, 24, 128},
    {"wan_cross_512", 1, 4096, 512, 12, 12, 128, Role::Cross},
    {"clip_77", 1, 77, 77, 12, 12, 64, Role::Self, true},
    {"tiny_256", 1, 256, 256, 4, 4, 64},
    {"krea_gqa", 1, 4352, 4352, 48, 12, 128},
    {"vae_mid", 1, 4096, 4096, 1, 1, 512},
};

}  // namespace

AttentionProblem NamedShape::problem(DType dtype) const {
  AttentionProblem p;
  p.batch = batch;
  p.seq_q = seq_q;
  p.seq_kv = seq_kv;
  p.heads_q = heads_q;
  p.heads_kv = heads_kv;
  p.head_dim = p.value_dim = head_dim;
  p.dtype = dtype;
  p.role = role;
  p.causal = causal ? Causal::TopLeft : Causal::None;
  if (key_length > 0) {
    p.mask = MaskKind::KeyLengths;
    p.key_lengths.assign(static_cast<std::size_t>(batch), key_length);
  }
  return p;
}

std::span<const NamedShape> named_shapes() {
  return kShapes;
}

Result<NamedShape> named_shape(std::string_view name) {
  const auto* it = std::ranges::find(kShapes, name, &NamedShape::name);
  if (it != std::end(kShapes)) return *it;
  std::vector<std::string> names;
  for (const NamedShape& shape : kShapes) names.emplace_back(shape.name);
  return fail(ErrorCode::Usage, strings::join("no shape named '", name, "'"),
              strings::join("shapes: ", strings::list(names), ", or all, or production"));
}

Result<std::vector<NamedShape>> named_shape_list(std::string_view names) {
  if (names == "all") return std::vector(std::begin(kShapes), std::end(kShapes));
  if (names == "production") return std::vector(std::begin(kShapes), std::begin(kShapes) + kProduction);
  std::vector<NamedShape> out;
  for (const std::string& name : strings::split(names, ',')) {
    TESSERA_TRY(const NamedShape shape, named_shape(strings::trim(name)));
    out.push_back(shape);
  }
  return out;
}

}  // namespace tessera::attention
