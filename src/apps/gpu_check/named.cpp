#include "apps/gpu_check/named.h"

namespace tessera::gpu_check {
namespace {

using attention::NamedShape;

constexpr int64_t kDrySequence = 192;  // three tiles of 64: the naive parts stay within a second on one core
constexpr int64_t kDryHeads = 4;

NamedShape cut(NamedShape s) {
  const int64_t padding = s.key_length > 0 ? 20 : 0;
  s.seq_q = std::min(s.seq_q, kDrySequence), s.seq_kv = std::min(s.seq_kv, kDrySequence);
  if (padding > 0) s.key_length = s.seq_kv - padding;
  const int64_t group = s.heads_q / s.heads_kv;
  s.heads_q = std::min(s.heads_q, kDryHeads), s.heads_kv = std::max<int64_t>(1, s.heads_q / group);
  return s;
}

std::vector<NamedShape> chosen(const Session& session, std::string_view list) {
  std::vector<NamedShape> shapes;
  const auto all = attention::named_shape_list(list);
  for (const NamedShape& shape : all.value()) {
    if (shape.name.starts_with("lingbot")) continue;  // 15 GB a tensor and minutes a call
    shapes.push_back(session.dry() ? cut(shape) : shape);
  }
  return shapes;
}

}  // namespace

std::vector<NamedShape> checked_shapes(const Session& session) {
  return chosen(session, "all");
}

std::vector<NamedShape> benched_shapes(const Session& session) {
  return chosen(session, "production");
}

NamedInputs::NamedInputs(const Session& session, const NamedShape& s, at::ScalarType dtype) {
  inputs_ = random_inputs(session, {s.batch, s.seq_q, s.seq_kv, s.heads_q, s.heads_kv, s.head_dim}, dtype);
  if (s.causal) inputs_.causal = attention::Causal::TopLeft;
  if (s.key_length == 0) return;
  lengths_.assign(static_cast<size_t>(s.batch), s.key_length);
  inputs_.mask = attention::KeyLengths{lengths_};
}

}  // namespace tessera::gpu_check
