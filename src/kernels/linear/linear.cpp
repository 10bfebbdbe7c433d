// Checks a call and hands it to the path of its instruction set.
#include "kernels/linear/linear.h"

#include <algorithm>

#include "kernels/linear/paths.h"

namespace tessera::kernels {
namespace {

bool is_number(DType dtype) {
  return dtype == DType::F32 || dtype == DType::F16 || dtype == DType::BF16;
}

}  // namespace

Isa linear_isa(Isa isa) {
  static const std::vector<Isa> here = available_isas();
  static const Isa active = active_isa().value_or(Isa::Auto);
  const Isa wanted = isa == Isa::Auto ? active : isa;
  if (!linear_path_of(wanted) || std::ranges::find(here, wanted) == here.end()) return Isa::Auto;
  return wanted;
}

int64_t packed_linear_bytes(Tier tier, Isa isa, int64_t in, int64_t out) {
  const auto path = linear_path_of(linear_isa(isa));
  if (!path || tier == Tier::Exact || in < 1 || out < 1) return 0;
  return path->packed_bytes(tier, in, out);
}

bool pack_linear(Tier tier, Isa isa, const LinearWeights& weights, std::byte* packed, const ParallelFor& parallel) {
  const auto path = linear_path_of(linear_isa(isa));
  if (!path || tier == Tier::Exact || !is_number(weights.dtype)) return false;
  return path->pack(tier, weights, packed, parallel);
}

LinearRun linear_forward(const LinearArgs& args, const ParallelFor& parallel) {
  const auto path = linear_path_of(linear_isa(args.isa));
  if (!path) return {Status::IsaMissing};
  if (!is_number(args.dtype) || args.tier == Tier::Exact) return {Status::BadDtype};
  if (args.rows < 0 || args.in < 1 || args.out_channels < 1) return {Status::BadShape};
  if (args.rows == 0) return {Status::Ok, linear_isa(args.isa), 0};
  return path->run(args, parallel);
}

}  // namespace tessera::kernels
