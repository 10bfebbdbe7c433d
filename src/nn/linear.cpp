#include "nn/linear.h"

#include "attention/backends/cpu_kernel.h"
#include "base/check.h"
#include "base/strings.h"
#include "kernels/linear/linear.h"
#include "tensor/dtypes.h"

namespace tessera::nn {
namespace {

// A slice of widened weights: small enough for the caches to hand it to the product, large enough for whole GEMM
// blocks. A step takes 7 % longer than with float32 weights (flux_step, 512x512, two cores, 2026-12-01).
constexpr int64_t kSliceElements = int64_t{1} << 20;
constexpr int64_t kFewestChannels = 256;

std::optional<at::Tensor> load_bias(const weights::WeightMap& map, int64_t out, Bias bias) {
  if (bias == Bias::None) return std::nullopt;
  if (bias == Bias::IfStored) return map.find("bias", {out});
  return map.get("bias", {out});
}

bool is_half(at::ScalarType type) {
  return type == at::kBFloat16 || type == at::kHalf;
}

bool is_number(at::ScalarType type) {
  return type == at::kFloat || is_half(type);
}

kernels::Tier kernel_tier(weights::LinearTier tier) {
  return tier == weights::LinearTier::Fast ? kernels::Tier::Fast : kernels::Tier::High;
}

/// The packed weights, or an undefined tensor where this layer stays in floating point.
at::Tensor pack(const weights::WeightMap& map, int64_t in, int64_t out) {
  if (map.linears() == weights::LinearTier::Exact) return {};
  const at::Tensor stored = map.stored("weight", {out, in});
  if (!stored.is_cpu() || !is_number(stored.scalar_type())) return {};
  const kernels::Tier tier = kernel_tier(map.linears());
  const int64_t bytes = kernels::packed_linear_bytes(tier, kernels::Isa::Auto, in, out);
  if (bytes == 0) return {};
  at::Tensor packed = at::empty({bytes}, at::kByte);
  const kernels::LinearWeights weights{tensor::dtype_of(stored.scalar_type()), stored.const_data_ptr(), in, in, out};
  const bool fits = kernels::pack_linear(tier, kernels::Isa::Auto, weights,
                                         static_cast<std::byte*>(packed.mutable_data_ptr()), attention::aten_threads());
  map.release("weight");
  return fits ? packed : at::Tensor();
}

/// x [M, in] float32 times 16-bit weights, slice by slice.
at::Tensor widened_product(const Linear& l, const at::Tensor& x) {
  const int64_t channels = l.weight.size(0), in = l.weight.size(1);
  const int64_t step = std::min(channels, std::max(kFewestChannels, kSliceElements / in));
  const at::Tensor scratch = at::empty({step, in}, at::kFloat);
  at::Tensor out = at::empty({x.size(0), channels}, at::kFloat);
  if (l.bias) out.copy_(l.bias->unsqueeze(0));
  for (int64_t at = 0; at < channels; at += step) {
    const int64_t end = std::min(channels, at + step);
    const at::Tensor slice = scratch.slice(0, 0, end - at);
    slice.copy_(l.weight.slice(0, at, end));
    out.slice(1, at, end).addmm_(x, slice.t(), /*beta=*/l.bias ? 1 : 0);
  }
  return out;
}

std::optional<at::Tensor> bias_like(const Linear& l, const at::Tensor& x) {
  return l.bias ? std::optional(l.bias->to(x.device(), x.scalar_type())) : std::nullopt;
}

/// Floating point. x [M, in] → [M, out] in x's type.
at::Tensor exact_product(const Linear& l, const at::Tensor& x) {
  const bool plain = l.weight.scalar_type() == at::kFloat || !l.weight.is_cpu();
  if (plain && x.scalar_type() == l.weight.scalar_type()) return at::linear(x, l.weight, l.bias);
  if (!x.is_cpu()) return at::linear(x, l.weight.to(x.device(), x.scalar_type()), bias_like(l, x));
  return widened_product(l, x.to(at::kFloat)).to(x.scalar_type());
}

/// Rows that integers cannot hold, once more in floating point: infinities and NaN then go where they belong.
void redo_rows(const Linear& l, const at::Tensor& x, bool gelu, const std::vector<uint8_t>& refused,
               const at::Tensor& out) {
  std::vector<int64_t> numbers;
  for (size_t r = 0; r < refused.size(); ++r) {
    if (refused[r] != 0) numbers.push_back(static_cast<int64_t>(r));
  }
  const at::Tensor rows = at::from_blob(numbers.data(), {static_cast<int64_t>(numbers.size())}, at::kLong);
  const at::Tensor exact = exact_product(l, x.index_select(0, rows));
  at::Tensor target = out;
  target.index_copy_(0, rows, gelu ? activate(Activation::GeluTanh, exact) : exact);
}

/// x, out [M, ·], last stride 1; with or without GELU, the only activation that the kernel knows.
void integer_product(const Linear& l, const at::Tensor& x, bool gelu, const at::Tensor& out) {
  std::vector<uint8_t> refused(static_cast<size_t>(x.size(0)));
  const std::optional<at::Tensor> bias = l.bias ? std::optional(l.bias->to(at::kFloat).contiguous()) : std::nullopt;
  kernels::LinearArgs args;
  args.tier = kernel_tier(l.tier);
  args.dtype = tensor::dtype_of(x.scalar_type());
  args.rows = x.size(0), args.in = x.size(1), args.out_channels = out.size(1);
  args.x = x.const_data_ptr(), args.x_stride = x.stride(0);
  args.out = out.data_ptr(), args.out_stride = out.stride(0);
  args.packed = static_cast<const std::byte*>(l.packed.const_data_ptr());
  args.bias = bias ? bias->const_data_ptr<float>() : nullptr;
  args.after = gelu ? kernels::LinearAfter::GeluTanh : kernels::LinearAfter::Nothing;
  args.refused = refused.data();
  const kernels::LinearRun run = kernels::linear_forward(args, attention::aten_threads());
  if (run.status != kernels::Status::Ok) {
    const bool memory = run.status == kernels::Status::OutOfMemory;
    throw RuntimeFault({memory ? ErrorCode::OutOfMemory : ErrorCode::Bug,
                        strings::join("a linear layer in integers: ", kernels::status_text(run.status)),
                        memory ? "ask for a smaller size" : "please report it, and use --quality exact"});
  }
  if (run.refused_rows > 0) redo_rows(l, x, gelu, refused, out);
}

bool runs_in_integers(const Linear& l, const at::Tensor& x) {
  return l.packed.defined() && x.is_cpu() && is_number(x.scalar_type());
}

std::vector<int64_t> out_shape(const Linear& l, const at::Tensor& x) {
  std::vector<int64_t> shape = x.sizes().vec();
  shape.back() = l.weight.size(0);
  return shape;
}

/// [..., C] as [M, C] with last stride 1, without a copy where rows are evenly spaced.
at::Tensor as_rows(const at::Tensor& x) {
  const at::Tensor rows = x.reshape({-1, x.size(-1)});
  return rows.stride(1) == 1 ? rows : rows.contiguous();
}

}  // namespace

Linear::Linear(const weights::WeightMap& map, int64_t in, int64_t out, Bias bias_kind, Rounding rounding)
    : bias(load_bias(map, out, bias_kind)),
      packed(rounding == Rounding::Allowed ? pack(map, in, out) : at::Tensor()),
      tier(packed.defined() ? map.linears() : weights::LinearTier::Exact) {
  weight = packed.defined() ? map.stored("weight", {out, in}) : map.compact("weight", {out, in});
  dtype = map.dtype().value_or(weight.scalar_type());
}

at::Tensor Linear::operator()(const at::Tensor& x) const {
  if (!runs_in_integers(*this, x)) {
    if (weight.scalar_type() == x.scalar_type() && x.scalar_type() == at::kFloat) return at::linear(x, weight, bias);
    return exact_product(*this, as_rows(x)).view(out_shape(*this, x));
  }
  at::Tensor out = at::empty(out_shape(*this, x), x.options());
  integer_product(*this, as_rows(x), /*gelu=*/false, out.view({-1, out.size(-1)}));
  return out;
}

at::Tensor Linear::activated(Activation kind, const at::Tensor& x) const {
  if (kind != Activation::GeluTanh || !runs_in_integers(*this, x)) return activate(kind, (*this)(x));
  at::Tensor out = at::empty(out_shape(*this, x), x.options());
  integer_product(*this, as_rows(x), /*gelu=*/true, out.view({-1, out.size(-1)}));
  return out;
}

void Linear::into(const at::Tensor& x, std::optional<Activation> kind, const at::Tensor& out) const {
  const at::Tensor rows = out.flatten(0, -2);
  TESSERA_CHECK(rows.const_data_ptr() == out.const_data_ptr() && rows.stride(1) == 1, "rows of out lie unevenly");
  const bool known = !kind || kind == Activation::GeluTanh;
  if (known && runs_in_integers(*this, x)) return integer_product(*this, as_rows(x), kind.has_value(), rows);
  const at::Tensor product = (*this)(x);
  at::Tensor target = out;
  target.copy_(kind ? activate(*kind, product) : product);
}

}  // namespace tessera::nn
