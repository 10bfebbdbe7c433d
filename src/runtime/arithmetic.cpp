#include "runtime/arithmetic.h"

#include "attention/policy/selection.h"
#include "base/strings.h"
#include "runtime/device.h"

namespace tessera::runtime {
namespace {

using weights::LinearTier;

std::string_view linears_name(LinearTier tier) {
  switch (tier) {
    case LinearTier::Exact:
      return "float";
    case LinearTier::High:
      return "int13";
    case LinearTier::Fast:
      return "int8";
  }
  return "unknown";
}

Result<LinearTier> asked_tier(std::string_view quality) {
  const auto parsed = attention::parse_quality(quality);
  if (!parsed)
    return fail(ErrorCode::Usage, strings::join("unknown quality '", quality, "'"), "use exact, high or fast");
  if (*parsed == attention::Quality::Fast) return LinearTier::Fast;
  return *parsed == attention::Quality::High ? LinearTier::High : LinearTier::Exact;
}

// Measured on two AVX-512 cores without AMX, LibTorch 2.13 (docs/performance.md): GEMMs at 290 GFLOP/s in fp32, 310 in
// fp16, 165 in bf16; 13-bit integers 500-550, 8-bit 1150-1220.
std::string dtype_reason(const ArithmeticQuestion& q) {
  if (q.dtype != "auto") return strings::join("--dtype ", q.dtype);
  if (!q.on_cpu) return "bf16 is the fast type of GPUs";
  return "fp32 products are the fastest in floating point on CPUs without bf16 tiles; 16-bit weights stay 16-bit";
}

std::string linears_reason(const ArithmeticQuestion& q, LinearTier asked) {
  if (asked == LinearTier::Exact) return "";
  if (!q.on_cpu) return strings::join("; --quality ", q.quality, " has integer linears on CPUs only");
  if (q.linear_isa == kernels::Isa::Auto) {
    return strings::join("; --quality ", q.quality,
                         ": without VNNI integers are no faster, linears stay in floating point");
  }
  return strings::join("; --quality ", q.quality, ": linears in integers with ", kernels::isa_name(q.linear_isa));
}

}  // namespace

Result<Arithmetic> choose_arithmetic(const ArithmeticQuestion& q) {
  Arithmetic a;
  TESSERA_TRY(a.dtype, parse_arithmetic(std::string(q.dtype), q.on_cpu ? at::Device(at::kCPU) : at::Device(at::kCUDA)));
  TESSERA_TRY(const LinearTier asked, asked_tier(q.quality));
  a.reason = dtype_reason(q) + linears_reason(q, asked);
  if (q.on_cpu && q.linear_isa != kernels::Isa::Auto) a.linears = asked;
  return a;
}

Json to_json(const Arithmetic& a) {
  return {{"dtype", c10::toString(a.dtype)}, {"linears", linears_name(a.linears)}, {"reason", a.reason}};
}

}  // namespace tessera::runtime
