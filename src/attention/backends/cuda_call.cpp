#include "attention/backends/cuda_call.h"

#include <limits>

#include <c10/core/impl/VirtualGuardImpl.h>

namespace tessera::attention {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

void clear(const AttentionOutputs& outputs, int64_t row, int64_t queries) {
  outputs.out.select(0, row).narrow(0, 0, queries).zero_();
  if (outputs.lse.defined()) outputs.lse.select(0, row).narrow(1, 0, queries).fill_(-kInfinity);
}

}  // namespace

void* current_stream(const at::Tensor& tensor) {
  const c10::impl::VirtualGuardImpl guard(tensor.device().type());
  return guard.getStreamNativeHandle(guard.getStream(tensor.device()));
}

at::Tensor workspace_like(const at::Tensor& tensor, int64_t bytes) {
  return at::empty({bytes}, tensor.options().dtype(at::kByte));
}

AttentionInputs without_equal_lengths(const AttentionInputs& in) {
  const auto* lengths = std::get_if<KeyLengths>(&in.mask);
  if (lengths == nullptr || in.causal == Causal::BottomRight) return in;
  const auto& values = lengths->values;
  if (values.empty() || values[0] == 0) return in;
  if (std::any_of(values.begin(), values.end(), [&](int64_t n) { return n != values[0]; })) return in;
  AttentionInputs cut = in;
  cut.mask = std::monostate{};
  cut.key = in.key.narrow(1, 0, values[0]);
  cut.value = in.value.narrow(1, 0, values[0]);
  return cut;
}

at::Tensor device_lengths(const KeyLengths& lengths, at::Device device) {
  at::Tensor host = at::empty({static_cast<int64_t>(lengths.values.size())}, at::kInt);
  std::transform(lengths.values.begin(), lengths.values.end(), host.mutable_data_ptr<int>(),
                 [](int64_t n) { return static_cast<int>(std::max<int64_t>(n, 1)); });
  return host.to(device);
}

void clear_dead_rows(const AttentionInputs& in, const AttentionOutputs& outputs) {
  const Sizes sizes = sizes_of(in);
  const int64_t corner = in.causal == Causal::BottomRight ? std::max<int64_t>(0, sizes.seq_q - sizes.seq_kv) : 0;
  const auto* lengths = std::get_if<KeyLengths>(&in.mask);
  for (int64_t row = 0; row < sizes.batch; ++row) {
    const bool empty = lengths != nullptr && lengths->values[static_cast<size_t>(row)] == 0;
    if (empty || corner > 0) clear(outputs, row, empty ? sizes.seq_q : corner);
  }
}

}  // namespace tessera::attention
