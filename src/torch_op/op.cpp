// libtessera_torch.so: the attention engine as torch operators, for Python programs: torch.ops.load_library(path).
//
//   tessera::attention(q, k, v, …)         q [B, Sq, Hq, D], k, v [B, Skv, Hkv, D(v)] → [B, Sq, Hq, Dv]
//   tessera::attention_with_lse(…)         the same and lse [B, Hq, Sq] float32, natural log
//   tessera::attention_varlen(q, k, v, …)  packed sequences: q [T, Hq, D], cu_seqlens as lists → [T, Hq, Dv]
#include "tensor/aten.h"

#include <torch/library.h>

#include "attention/engine.h"
#include "base/unwrap.h"
#include "platform/probe.h"

namespace tessera::torch_op {
namespace {

using attention::AttentionEngine;
using attention::AttentionInputs;
using attention::AttentionOutputs;
using attention::Quality;

std::unique_ptr<AttentionEngine> make_engine(Quality quality) {
  attention::EngineOptions options;
  options.device = platform::probe_cpu();
  options.selections.base.quality = quality;
  return attention::make_engine(std::move(options));
}

/// One engine per quality for the life of the process: an operator has no object of its own to keep it in.
AttentionEngine& engine_for(std::string_view quality) {
  static const auto exact = make_engine(Quality::Exact);
  static const auto high = make_engine(Quality::High);
  static const auto fast = make_engine(Quality::Fast);
  const auto wanted = attention::parse_quality(quality);
  TORCH_CHECK_VALUE(wanted.has_value(), "quality must be exact, high or fast, not ", quality);
  if (*wanted == Quality::High) return *high;
  return *wanted == Quality::Fast ? *fast : *exact;
}

struct Options {
  std::optional<at::Tensor> mask;
  bool is_causal = false;
  std::optional<double> scale;
  std::optional<std::vector<int64_t>> key_lengths;
};

AttentionInputs inputs_of(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Options& o) {
  AttentionInputs in{.query = q, .key = k, .value = v};
  in.causal = o.is_causal ? attention::Causal::TopLeft : attention::Causal::None;
  in.scale = o.scale.value_or(1.0 / std::sqrt(static_cast<double>(q.size(-1))));
  TORCH_CHECK_VALUE(!(o.mask && o.key_lengths), "give a mask or key lengths, not both");
  if (o.mask) {
    auto mask = attention::expand_mask(*o.mask, attention::sizes_of(in));
    TORCH_CHECK_VALUE(mask.has_value(), "tessera: ", mask.error().line());
    if (mask->scalar_type() == at::kBool) {
      in.mask = attention::BoolMask{*std::move(mask)};
    } else {
      in.mask = attention::AdditiveMask{*std::move(mask)};
    }
  }
  if (o.key_lengths) in.mask = attention::KeyLengths{*o.key_lengths};
  return in;
}

AttentionOutputs run(const AttentionInputs& inputs, std::string_view quality, bool needs_lse) {
  auto result = engine_for(quality).run(inputs, {.component = "torch"}, needs_lse);
  TORCH_CHECK(result.has_value(), "tessera: ", result.error().line());
  return *std::move(result);
}

std::tuple<at::Tensor, at::Tensor> attention_with_lse(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                                      const std::optional<at::Tensor>& mask, bool is_causal,
                                                      std::optional<double> scale, at::OptionalIntArrayRef key_lengths,
                                                      std::string_view quality) {
  Options options{.mask = mask, .is_causal = is_causal, .scale = scale, .key_lengths = {}};
  if (key_lengths) options.key_lengths = key_lengths->vec();
  const AttentionOutputs out = run(inputs_of(q, k, v, options), quality, true);
  return {out.out, out.lse};
}

at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const std::optional<at::Tensor>& mask, bool is_causal, std::optional<double> scale,
                     at::OptionalIntArrayRef key_lengths, std::string_view quality) {
  Options options{.mask = mask, .is_causal = is_causal, .scale = scale, .key_lengths = {}};
  if (key_lengths) options.key_lengths = key_lengths->vec();
  return run(inputs_of(q, k, v, options), quality, false).out;
}

void check_bounds(at::IntArrayRef cu, int64_t total) {
  bool rising = !cu.empty() && cu.front() == 0 && cu.back() == total;
  for (size_t i = 1; i < cu.size(); ++i) rising = rising && cu[i - 1] <= cu[i];
  TORCH_CHECK_VALUE(rising, "cu_seqlens must rise from 0 to the number of tokens (", total, ")");
}

at::Tensor attention_varlen(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, at::IntArrayRef cu_q,
                            at::IntArrayRef cu_k, bool is_causal, std::optional<double> scale,
                            std::string_view quality) {
  check_bounds(cu_q, q.size(0));
  check_bounds(cu_k, k.size(0));
  TORCH_CHECK_VALUE(cu_q.size() == cu_k.size(), "queries and keys have different numbers of sequences");
  at::Tensor out = at::empty({q.size(0), q.size(1), v.size(2)}, q.options());
  for (size_t i = 1; i < cu_q.size(); ++i) {
    if (cu_q[i] == cu_q[i - 1]) continue;
    const auto part = [&](const at::Tensor& t, at::IntArrayRef cu) {
      return t.slice(0, cu[i - 1], cu[i]).unsqueeze(0);
    };
    const AttentionInputs in =
        inputs_of(part(q, cu_q), part(k, cu_k), part(v, cu_k), {.is_causal = is_causal, .scale = scale});
    out.slice(0, cu_q[i - 1], cu_q[i]).copy_(run(in, quality, false).out[0]);
  }
  return out;
}

// Shapes only, so that torch.compile can trace through the operators.
at::Tensor attention_meta(const at::Tensor& q, const at::Tensor&, const at::Tensor& v, const std::optional<at::Tensor>&,
                          bool, std::optional<double>, at::OptionalIntArrayRef, std::string_view) {
  return at::empty_symint({q.sym_size(0), q.sym_size(1), q.sym_size(2), v.sym_size(3)}, q.options());
}

std::tuple<at::Tensor, at::Tensor> attention_with_lse_meta(const at::Tensor& q, const at::Tensor&, const at::Tensor& v,
                                                           const std::optional<at::Tensor>&, bool,
                                                           std::optional<double>, at::OptionalIntArrayRef,
                                                           std::string_view) {
  return {at::empty_symint({q.sym_size(0), q.sym_size(1), q.sym_size(2), v.sym_size(3)}, q.options()),
          at::empty_symint({q.sym_size(0), q.sym_size(2), q.sym_size(1)}, q.options().dtype(at::kFloat))};
}

at::Tensor attention_varlen_meta(const at::Tensor& q, const at::Tensor&, const at::Tensor& v, at::IntArrayRef,
                                 at::IntArrayRef, bool, std::optional<double>, std::string_view) {
  return at::empty_symint({q.sym_size(0), q.sym_size(1), v.sym_size(2)}, q.options());
}

}  // namespace

TORCH_LIBRARY(tessera, m) {
  const std::string rest =
      "Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, bool is_causal=False, float? scale=None, "
      "int[]? key_lengths=None, str quality=\"exact\"";
  m.def(("attention(" + rest + ") -> Tensor").c_str());
  m.def(("attention_with_lse(" + rest + ") -> (Tensor, Tensor)").c_str());
  m.def(
      "attention_varlen(Tensor query, Tensor key, Tensor value, int[] cu_seqlens_q, int[] cu_seqlens_k, "
      "bool is_causal=False, float? scale=None, str quality=\"exact\") -> Tensor");
}

TORCH_LIBRARY_IMPL(tessera, CPU, m) {
  m.impl("attention", attention);
  m.impl("attention_with_lse", attention_with_lse);
  m.impl("attention_varlen", attention_varlen);
}

TORCH_LIBRARY_IMPL(tessera, Meta, m) {
  m.impl("attention", attention_meta);
  m.impl("attention_with_lse", attention_with_lse_meta);
  m.impl("attention_varlen", attention_varlen_meta);
}

}  // namespace tessera::torch_op
