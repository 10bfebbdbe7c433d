#include "runtime/device.h"

#include <charconv>

#include "base/dtype.h"
#include "base/strings.h"
#include "tensor/dtypes.h"

namespace tessera::runtime {
namespace {

Result<at::Device> cuda_device(const std::string& text) {
  int index = 0;
  if (text != "cuda") {
    const char* begin = text.c_str() + 5;
    const char* end = text.c_str() + text.size();
    const auto [rest, code] = std::from_chars(begin, end, index);
    if (code != std::errc() || rest != end || index < 0) {
      return fail(ErrorCode::Usage, strings::join("device '", text, "' has no valid number"), "use cuda:0, cuda:1, …");
    }
  }
  const int count = at::globalContext().hasCUDA() ? static_cast<int>(at::detail::getCUDAHooks().deviceCount()) : 0;
  if (index < count) return at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(index));
  return fail(ErrorCode::Unavailable, strings::join("there is no device ", text, " (", count, " CUDA devices seen)"),
              "use --device cpu, or a build with CUDA on a machine that has one");
}

}  // namespace

Result<at::Device> parse_device(const std::string& text) {
  if (text == "cpu") return at::Device(at::kCPU);
  if (text == "auto") {
    const auto cuda = cuda_device("cuda");
    return cuda ? *cuda : at::Device(at::kCPU);
  }
  if (text == "cuda" || text.starts_with("cuda:")) return cuda_device(text);
  return fail(ErrorCode::Usage, strings::join("unknown device '", text, "'"), "use auto, cpu, cuda or cuda:N");
}

Result<at::ScalarType> parse_arithmetic(const std::string& text, const at::Device& device) {
  if (text == "auto") return device.is_cpu() ? at::kFloat : at::kBFloat16;
  const auto dtype = parse_dtype(text);
  if (dtype == DType::F32 || dtype == DType::BF16 || dtype == DType::F16) return tensor::scalar_type(*dtype);
  return fail(ErrorCode::Usage, strings::join("unknown dtype '", text, "'"), "use auto, fp32, bf16 or fp16");
}

void set_threads(int threads) {
  if (threads > 0) at::set_num_threads(threads);
}

}  // namespace tessera::runtime
