// The layout, wording and guards of a cuDNN attention graph; no cuDNN header is needed for any of it.
#include "attention/cudnn/spec.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "base/strings.h"

namespace tessera::attention::cudnn {

namespace {

constexpr int64_t kAlignmentBytes = 16;

Strides bshd(int64_t seq, int64_t heads, int64_t dim) {
  return {seq * heads * dim, dim, heads * dim, 1};
}

std::string mask_text(const Spec& s) {
  if (s.mask == MaskKind::KeyLengths) return " key_lengths";
  if (s.mask == MaskKind::Bool) return " bool_mask";
  if (s.mask == MaskKind::Additive) return strings::join(" additive_", dtype_name(s.bias_dtype));
  return "";
}

std::string causal_text(Causal causal) {
  if (causal == Causal::TopLeft) return " causal_top_left";
  if (causal == Causal::BottomRight) return " causal_bottom_right";
  return "";
}

/// A stride that a kernel never multiplies (the dimension has one element) may have any value.
std::optional<std::string> misaligned(std::string_view name, const Strides& strides, const Strides& sizes,
                                      int64_t element_bytes) {
  static constexpr std::string_view kDimensions[] = {"batch", "head", "sequence"};
  if (strides[3] != 1 && sizes[3] > 1) {
    return strings::join(name, " is not contiguous in the head dimension: its stride is ", strides[3]);
  }
  for (size_t i = 0; i < 3; ++i) {
    if (sizes[i] > 1 && strides[i] * element_bytes % kAlignmentBytes != 0) {
      return strings::join("the ", kDimensions[i], " stride of ", name, " is ", strides[i] * element_bytes,
                           " bytes, not a multiple of ", kAlignmentBytes);
    }
  }
  return std::nullopt;
}

std::optional<std::string> size_refusal(const Spec& s) {
  if (s.seq_q <= 0 || s.seq_kv <= 0) {
    return strings::join("zero lengths can crash cuDNN: ", s.seq_q, " queries, ", s.seq_kv, " keys");
  }
  if (s.seq_kv == 1) return "cuDNN has no kernel for a single key";
  if (s.batch <= 0 || s.heads_q <= 0 || s.heads_kv <= 0 || s.head_dim <= 0 || s.value_dim <= 0) {
    return strings::join("an empty problem: ", describe(s));
  }
  if (s.head_dim % 8 != 0) return strings::join("head size ", s.head_dim, " is not a multiple of 8");
  if (s.value_dim % 8 != 0) return strings::join("value head size ", s.value_dim, " is not a multiple of 8");
  if (s.heads_q % s.heads_kv != 0) {
    return strings::join(s.heads_q, " query heads are not a multiple of ", s.heads_kv, " key heads");
  }
  return std::nullopt;
}

std::optional<std::string> version_refusal(const Spec& s, int64_t version) {
  if (version < 90000) return strings::join("cuDNN ", version, " is older than 9.0");
  // cudnn-frontend names these two as wrong for attention.
  if (version == 91000 || version == 91001) return "cuDNN 9.10.0 and 9.10.1 compute attention wrongly";
  if (version < 90900 && (s.head_dim > 128 || s.value_dim > 128)) {
    return strings::join("head size ", s.head_dim, " needs cuDNN 9.9 or newer");
  }
  return std::nullopt;
}

std::optional<std::string> mask_refusal(const Spec& s) {
  if (s.causal == Causal::BottomRight && s.seq_q > s.seq_kv) {
    return strings::join("bottom-right causal with more queries (", s.seq_q, ") than keys (", s.seq_kv, ")");
  }
  if (s.causal == Causal::BottomRight && s.mask == MaskKind::KeyLengths) {
    return "bottom-right causal together with key lengths: cuDNN begins at each row's last key, not at the last of all";
  }
  if (s.mask == MaskKind::Bool) return "cuDNN takes no bool mask; convert it to an additive one";
  if (s.mask != MaskKind::Additive) return std::nullopt;
  if (s.bias_dtype != s.dtype && s.bias_dtype != DType::F32) {
    return strings::join("a mask of ", dtype_name(s.bias_dtype), " with tensors of ", dtype_name(s.dtype));
  }
  if (s.causal == Causal::BottomRight) return "bottom-right causal together with an additive mask";
  if (s.bias_shape[0] != 1 && s.bias_shape[0] != s.batch) return "the mask's batch size is neither 1 nor the tensors'";
  if (s.bias_shape[1] != 1 && s.bias_shape[1] != s.heads_q) return "the mask's heads are neither 1 nor the query's";
  return misaligned("the mask", s.bias, {s.bias_shape[0], s.bias_shape[1], s.seq_q, s.seq_kv},
                    size_bytes(s.bias_dtype));
}

}  // namespace

Spec spec_of(const AttentionProblem& p) {
  Spec s;
  s.dtype = p.dtype;
  s.batch = p.batch, s.seq_q = p.seq_q, s.seq_kv = p.seq_kv, s.heads_q = p.heads_q, s.heads_kv = p.heads_kv;
  s.head_dim = p.head_dim, s.value_dim = p.value_dim;
  s.q = bshd(p.seq_q, p.heads_q, p.head_dim);
  s.k = bshd(p.seq_kv, p.heads_kv, p.head_dim);
  s.v = bshd(p.seq_kv, p.heads_kv, p.value_dim);
  s.o = bshd(p.seq_q, p.heads_q, p.value_dim);
  s.causal = p.causal, s.mask = p.mask, s.stats = p.needs_lse;
  if (p.mask == MaskKind::Bool || p.mask == MaskKind::Additive) {
    // As the backend hands them over: additive, in the query's dtype, causality included, rows of whole 16 bytes.
    s.mask = MaskKind::Additive;
    s.causal = Causal::None;
    s.bias_dtype = p.dtype;
    s.bias_shape = {1, 1};
    const int64_t row = (p.seq_kv + 7) / 8 * 8;
    s.bias = {p.seq_q * row, p.seq_q * row, row, 1};
  }
  s.scale = p.scale.value_or(1.0 / std::sqrt(static_cast<double>(p.head_dim)));
  return s;
}

std::string describe(const Spec& s) {
  return strings::join(dtype_name(s.dtype), " B", s.batch, " H", s.heads_q, "/", s.heads_kv, " S", s.seq_q, "x",
                       s.seq_kv, " D", s.head_dim, s.value_dim == s.head_dim ? "" : strings::join("/", s.value_dim),
                       causal_text(s.causal), mask_text(s), s.stats ? " stats" : "");
}

std::optional<std::string> refusal(const Spec& s, int64_t version) {
  if (auto text = size_refusal(s)) return text;
  if (s.dtype != DType::F16 && s.dtype != DType::BF16) {
    return strings::join("cuDNN attention takes fp16 or bf16, not ", dtype_name(s.dtype));
  }
  if (auto text = version_refusal(s, version)) return text;
  const int64_t bytes = size_bytes(s.dtype);
  const Strides query{s.batch, s.heads_q, s.seq_q, s.head_dim}, key{s.batch, s.heads_kv, s.seq_kv, s.head_dim};
  const Strides value{s.batch, s.heads_kv, s.seq_kv, s.value_dim}, out{s.batch, s.heads_q, s.seq_q, s.value_dim};
  if (auto text = misaligned("the query", s.q, query, bytes)) return text;
  if (auto text = misaligned("the key", s.k, key, bytes)) return text;
  if (auto text = misaligned("the value", s.v, value, bytes)) return text;
  if (auto text = misaligned("the output", s.o, out, bytes)) return text;
  return mask_refusal(s);
}

int64_t second_engine(const std::vector<int64_t>& engines) {
  const auto other = std::ranges::find_if(engines, [&](int64_t engine) { return engine != engines.front(); });
  return other == engines.end() ? 0 : other - engines.begin();
}

bool aligned(const void* pointer) {
  return std::bit_cast<uintptr_t>(pointer) % kAlignmentBytes == 0;
}

}  // namespace tessera::attention::cudnn
