// Checks of an attention call that hold for every backend.
#include "attention/inputs.h"

#include <algorithm>
#include <limits>

#include "base/strings.h"

namespace tessera::attention {
namespace {

std::string shape_text(const at::Tensor& tensor) {
  std::vector<std::string> sizes;
  for (const int64_t size : tensor.sizes()) sizes.push_back(std::to_string(size));
  return "[" + strings::list(sizes) + "]";
}

Status misuse(const std::string& what, const AttentionInputs& inputs) {
  return fail(ErrorCode::Misuse,
              strings::join("attention: ", what, " (query ", shape_text(inputs.query), ", key ", shape_text(inputs.key),
                            ", value ", shape_text(inputs.value), ")"),
              "shapes are query [B, Sq, Hq, D], key [B, Skv, Hkv, D], value [B, Skv, Hkv, Dv]");
}

bool is_floating(at::ScalarType type) {
  return type == at::kFloat || type == at::kBFloat16 || type == at::kHalf || type == at::kDouble;
}

Status check_shapes(const AttentionInputs& in) {
  if (in.query.dim() != 4 || in.key.dim() != 4 || in.value.dim() != 4) return misuse("4 dimensions are needed", in);
  const Sizes s = sizes_of(in);
  if (in.key.size(0) != s.batch || in.value.size(0) != s.batch) return misuse("batch sizes differ", in);
  if (in.value.size(1) != s.seq_kv) return misuse("key and value differ in length", in);
  if (in.value.size(2) != s.heads_kv) return misuse("key and value differ in heads", in);
  if (in.key.size(3) != s.head_dim) return misuse("query and key differ in head size", in);
  if (s.head_dim == 0 || s.value_dim == 0) return misuse("a head has size 0", in);
  if (s.heads_kv == 0 || s.heads_q % s.heads_kv != 0) return misuse("query heads are no multiple of key heads", in);
  return {};
}

Status check_types(const AttentionInputs& in) {
  const auto type = in.query.scalar_type();
  if (in.key.scalar_type() != type || in.value.scalar_type() != type) return misuse("dtypes differ", in);
  if (!is_floating(type)) return misuse("only floating-point tensors are taken", in);
  if (in.key.device() != in.query.device() || in.value.device() != in.query.device()) {
    return misuse("tensors are on different devices", in);
  }
  if (!std::isfinite(in.scale)) return misuse("the scale is not finite", in);
  return {};
}

Status check_lengths(const KeyLengths& lengths, const AttentionInputs& in) {
  if (static_cast<int64_t>(lengths.values.size()) != in.query.size(0))
    return misuse("one key length a row is needed", in);
  for (const int64_t length : lengths.values) {
    if (length < 0 || length > in.key.size(1))
      return misuse(strings::join("key length ", length, " is out of range"), in);
  }
  return {};
}

Status check_mask(const AttentionInputs& in) {
  if (const auto* lengths = std::get_if<KeyLengths>(&in.mask)) return check_lengths(*lengths, in);
  const Sizes s = sizes_of(in);
  const std::array<int64_t, 4> full = {s.batch, s.heads_q, s.seq_q, s.seq_kv};
  const auto* boolean = std::get_if<BoolMask>(&in.mask);
  const auto* additive = std::get_if<AdditiveMask>(&in.mask);
  if (boolean == nullptr && additive == nullptr) return {};
  const at::Tensor& mask = boolean != nullptr ? boolean->allowed : additive->bias;
  if (mask.sizes() != at::IntArrayRef(full)) return misuse("the mask is not [B, Hq, Sq, Skv]", in);
  if (mask.device() != in.query.device()) return misuse("the mask is on another device", in);
  if (boolean != nullptr && mask.scalar_type() != at::kBool) return misuse("a boolean mask has another dtype", in);
  if (additive != nullptr && mask.scalar_type() != at::kFloat && mask.scalar_type() != in.query.scalar_type()) {
    return misuse("an additive mask is neither fp32 nor of the query's dtype", in);
  }
  return {};
}

bool rises_from_zero(std::span<const int64_t> bounds, int64_t tokens) {
  return bounds.size() >= 2 && bounds.front() == 0 && bounds.back() <= tokens && std::ranges::is_sorted(bounds);
}

Status check_packed(const AttentionInputs& in) {
  if (!in.packed) return {};
  if (in.query.size(0) != 1) return misuse("packed sequences need batch 1", in);
  const auto& [query_bounds, key_bounds] = *in.packed;
  if (query_bounds.size() != key_bounds.size())
    return misuse("queries and keys have different numbers of sequences", in);
  if (rises_from_zero(query_bounds, in.query.size(1)) && rises_from_zero(key_bounds, in.key.size(1))) return {};
  return misuse("the bounds of packed sequences must rise from 0 to at most the number of tokens", in);
}

}  // namespace

Sizes sizes_of(const AttentionInputs& inputs) {
  return {inputs.query.size(0), inputs.query.size(1), inputs.key.size(1),  inputs.query.size(2),
          inputs.key.size(2),   inputs.query.size(3), inputs.value.size(3)};
}

Result<at::Tensor> expand_mask(const at::Tensor& mask, const Sizes& sizes) {
  const std::array<int64_t, 4> full = {sizes.batch, sizes.heads_q, sizes.seq_q, sizes.seq_kv};
  bool fits = mask.dim() >= 2 && mask.dim() <= 4;
  for (int64_t d = 1; fits && d <= mask.dim(); ++d) fits = mask.size(-d) == 1 || mask.size(-d) == full[4 - d];
  if (fits) return mask.expand(full);
  return fail(
      ErrorCode::Misuse,
      strings::join("attention: a mask of shape ", shape_text(mask), " does not broadcast to [B, Hq, Sq, Skv] = [",
                    full[0], ", ", full[1], ", ", full[2], ", ", full[3], "]"),
      "give each dimension its full size or 1");
}

Status validate(const AttentionInputs& inputs) {
  TESSERA_TRY_OK(check_shapes(inputs));
  TESSERA_TRY_OK(check_types(inputs));
  TESSERA_TRY_OK(check_packed(inputs));
  return check_mask(inputs);
}

AttentionOutputs allocate_outputs(const AttentionInputs& inputs, bool needs_lse) {
  const Sizes s = sizes_of(inputs);
  AttentionOutputs outputs;
  outputs.out = at::empty({s.batch, s.seq_q, s.heads_q, s.value_dim}, inputs.query.options());
  if (needs_lse) outputs.lse = at::empty({s.batch, s.heads_q, s.seq_q}, inputs.query.options().dtype(at::kFloat));
  return outputs;
}

bool is_empty(const Sizes& s) {
  return s.batch == 0 || s.seq_q == 0 || s.heads_q == 0 || s.seq_kv == 0;
}

void fill_empty(const AttentionOutputs& outputs) {
  outputs.out.zero_();
  if (outputs.lse.defined()) outputs.lse.fill_(-std::numeric_limits<float>::infinity());
}

}  // namespace tessera::attention
