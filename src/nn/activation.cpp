#include "nn/activation.h"

#include "base/check.h"

namespace tessera::nn {
namespace {

constexpr std::pair<std::string_view, Activation> kNames[] = {
    {"relu", Activation::Relu},
    {"gelu", Activation::Gelu},
    {"gelu_new", Activation::GeluTanh},
    {"gelu_tanh", Activation::GeluTanh},
    {"gelu_fast", Activation::GeluTanh},
    {"gelu_pytorch_tanh", Activation::GeluTanh},
    {"gelu-approximate", Activation::GeluTanh},
    {"quick_gelu", Activation::QuickGelu},
    {"silu", Activation::Silu},
    {"swish", Activation::Silu},
};

}  // namespace

Result<Activation> parse_activation(std::string_view name) {
  for (const auto& [known, kind] : kNames) {
    if (known == name) return kind;
  }
  return fail(ErrorCode::Unsupported, strings::join("activation function '", name, "' is not known"),
              "known are relu, gelu, gelu_new, quick_gelu and silu");
}

at::Tensor activate(Activation kind, at::Tensor x) {
  switch (kind) {
    case Activation::Relu:
      return x.relu_();
    case Activation::Gelu:
      return at::gelu_(x);
    case Activation::GeluTanh:
      return at::gelu_(x, "tanh");
    case Activation::QuickGelu:
      return x.mul_((x * 1.702).sigmoid_());
    case Activation::Silu:
      return at::silu_(x);
  }
  throw Bug("an activation outside its enum");
}

}  // namespace tessera::nn
