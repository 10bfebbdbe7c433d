// The named shapes against double precision on the device itself: all rows of three heads, or a sample of long ones.
#include "apps/gpu_check/named.h"
#include "apps/gpu_check/session.h"
#include "attention/canary.h"
#include "base/strings.h"
#include "bench_support/sampled_rows.h"

namespace tessera::gpu_check {
namespace {

using namespace attention;

/// Exact answers for some query rows of one head.
struct ExactRows {
  at::Tensor out;  // [R, Dv] double
  at::Tensor lse;  // [R] double
};

ExactRows exact_rows(const AttentionInputs& in, int64_t b, int64_t h, const at::Tensor& rows) {
  const Sizes s = sizes_of(in);
  const auto head = [&](const at::Tensor& t, int64_t n) { return t.select(0, b).select(1, n).to(at::kDouble); };
  const int64_t kv_head = h / (s.heads_q / s.heads_kv);
  const at::Tensor q = in.query.select(0, b).select(1, h).index_select(0, rows).to(at::kDouble);
  at::Tensor logits = at::matmul(q, head(in.key, kv_head).t()).mul(in.scale);  // [R, Skv]
  const at::Tensor keys = at::arange(s.seq_kv, rows.options());
  const double never = -std::numeric_limits<double>::infinity();
  if (const auto* lengths = std::get_if<KeyLengths>(&in.mask)) {
    logits.masked_fill_((keys >= lengths->values[static_cast<size_t>(b)]).unsqueeze(0), never);
  }
  if (in.causal == Causal::TopLeft) logits.masked_fill_(keys.unsqueeze(0) > rows.unsqueeze(1), never);
  const at::Tensor lse = at::logsumexp(logits, {1});
  return {at::matmul((logits - lse.unsqueeze(1)).exp(), head(in.value, kv_head)), lse};
}

Status compare_heads(const AttentionInputs& in, const AttentionOutputs& outputs, OrderedJson& numbers) {
  const Sizes s = sizes_of(in);
  const auto chosen = bench_support::sampled_rows(s.seq_q);
  const at::Tensor host = at::empty({static_cast<int64_t>(chosen.size())}, at::kLong);
  std::copy(chosen.begin(), chosen.end(), host.mutable_data_ptr<int64_t>());
  const at::Tensor rows = host.to(in.query.device());
  double worst = 0, worst_lse = 0;
  for (const int64_t h : {int64_t{0}, s.heads_q / 2, s.heads_q - 1}) {
    const int64_t b = h == 0 ? 0 : s.batch - 1;
    const ExactRows want = exact_rows(in, b, h, rows);
    const at::Tensor got = outputs.out.select(0, b).select(1, h).index_select(0, rows);
    worst = std::max(worst, relative_error(got, want.out));
    if (!outputs.lse.defined()) continue;
    const at::Tensor lse = outputs.lse.select(0, b).select(0, h).index_select(0, rows).to(at::kDouble);
    const double off = (lse - want.lse).abs().max().item<double>();
    if (!(off <= worst_lse)) worst_lse = off;
  }
  const double limit = error_limit(in.query.scalar_type());
  numbers["relative_error"] = worst, numbers["rows"] = chosen.size();
  if (outputs.lse.defined()) numbers["max_lse_error"] = worst_lse;
  TESSERA_TRY_OK(expect(worst <= limit, strings::join("relative error ", worst, ", allowed are ", limit)));
  return expect(worst_lse <= 1e-3, strings::join("LSE off by ", worst_lse));
}

}  // namespace

void check_shapes(Session& session) {
  const auto all = contenders(session);
  for (const NamedShape& shape : checked_shapes(session)) {
    const NamedInputs named(session, shape, at::kBFloat16);
    for (const Contender& contender : all) {
      for (const bool needs_lse : {true, false}) {
        const std::string subject = strings::join(shape.name, needs_lse ? ", LSE" : "");
        session.check("shape", contender.name, subject, [&](OrderedJson& numbers) -> Status {
          const AttentionInputs in = named.inputs();
          const Verdict verdict = session.verdict(contender, in, needs_lse);
          if (!verdict.accepted()) return fail(ErrorCode::Unsupported, "by policy: " + verdict.text);
          const AttentionOutputs outputs = allocate_outputs(in, needs_lse);
          poison(outputs);
          TESSERA_TRY_OK(contender.backend->run(in, outputs, Quality::Exact));
          return compare_heads(in, outputs, numbers);
        });
      }
    }
  }
}

}  // namespace tessera::gpu_check
