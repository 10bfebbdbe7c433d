// Every contract of an attention call in small sizes (masks, lengths, layouts, causality, LSE), on every backend.
#include <set>

#include "apps/gpu_check/session.h"
#include "attention/canary.h"
#include "base/strings.h"
#include "tests/attention/problems.h"

namespace tessera::gpu_check {
namespace {

using namespace attention;

/// Additive masks travel in the tensors' dtype through some kernels; rounded first, every kernel sees the same.
void round_mask(AttentionInputs& in) {
  if (auto* mask = std::get_if<AdditiveMask>(&in.mask)) {
    mask->bias = mask->bias.to(in.query.scalar_type()).to(mask->bias.scalar_type());
  }
}

/// One problem on the host, with the reference's answer, which is the slow part and serves every backend.
struct Prepared {
  std::unique_ptr<MadeProblem> made;
  at::ScalarType dtype;
  test::ReferenceResult want;
};

Prepared prepare(Problem problem, at::ScalarType dtype) {
  problem.dtype = dtype;
  Prepared p{make_problem(problem), dtype, {}};
  round_mask(p.made->inputs);
  p.want = reference_answer(p.made->inputs);
  return p;
}

Status run_problem(Session& session, const Contender& contender, const Prepared& p, bool needs_lse,
                   OrderedJson& numbers) {
  const AttentionInputs in = moved(p.made->inputs, session.tools->device());
  const Verdict verdict = session.verdict(contender, in, needs_lse);
  if (!verdict.accepted()) return fail(ErrorCode::Unsupported, "by policy: " + verdict.text);
  const AttentionOutputs outputs = allocate_outputs(in, needs_lse);
  poison(outputs);
  TESSERA_TRY_OK(contender.backend->run(in, outputs, Quality::Exact));
  session.tools->synchronize();
  AttentionOutputs host{outputs.out.cpu(), {}};
  if (needs_lse) host.lse = outputs.lse.cpu();
  const Deviation d = deviation(host, p.want);
  numbers["max_out_error"] = d.out;
  if (needs_lse) numbers["max_lse_error"] = d.lse;
  TESSERA_TRY_OK(expect(d.out <= out_tolerance(p.dtype), strings::join("output off by ", d.out)));
  return expect(d.lse <= lse_tolerance(p.dtype), strings::join("LSE off by ", d.lse));
}

}  // namespace

void check_problems(Session& session) {
  const auto all = contenders(session);
  std::set<std::string> seen;
  for (const Problem& row : problem_table()) {
    if (session.dry() && row.sizes.seq_kv > 200) continue;  // seconds each on one core
    for (const at::ScalarType dtype : {at::kBFloat16, at::kHalf}) {
      const std::string name = strings::join(row.name, dtype == at::kHalf ? ", fp16" : ", bf16");
      if (!seen.insert(name).second) continue;  // the table has 16-bit rows of its own
      const Prepared prepared = prepare(row, dtype);
      for (const Contender& contender : all) {
        for (const bool needs_lse : {false, true}) {
          session.check("problem", contender.name, needs_lse ? name + ", LSE" : name, [&](OrderedJson& numbers) {
            return run_problem(session, contender, prepared, needs_lse, numbers);
          });
        }
      }
    }
  }
}

}  // namespace tessera::gpu_check
