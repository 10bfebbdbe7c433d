// Weights as panels of kLinearWidth output channels: for each group of inputs its numbers, [group / kPer][width] lanes,
// then the scales [width], and where x has a zero point the scaled sums [width] that take it out again.

template <class B>
struct LinearLayout {
  int64_t in = 0;

  int64_t groups() const { return (in + B::kGroup - 1) / B::kGroup; }
  /// Lanes of a group; the last one may be short.
  int64_t steps(int64_t group) const {
    const int64_t left = in - group * B::kGroup;
    return (left < B::kGroup ? left + B::kPer - 1 : B::kGroup) / B::kPer;
  }
  static constexpr int64_t kGroupBytes = (B::kGroup / B::kPer + 2) * kLinearWidth * 4;
  int64_t panel_bytes() const {
    const int64_t full = in / B::kGroup * kGroupBytes;
    return in % B::kGroup == 0 ? full : full + (steps(groups() - 1) + 2) * kLinearWidth * 4;
  }
};

/// One panel's group: its channels are read one by one, since the weights' rows lie `out_stride` apart.
template <class B, DType T>
bool pack_group(const LinearWeights& w, int64_t channel, int64_t first, int64_t last, std::byte* to) {
  const int64_t steps = (last - first + B::kPer - 1) / B::kPer;
  float* scales = reinterpret_cast<float*>(to + steps * kLinearWidth * 4);
  float* sums = scales + kLinearWidth;
  __builtin_memset(to, 0, static_cast<size_t>((steps + 2) * kLinearWidth * 4));
  alignas(64) int32_t numbers[B::kGroup + 64];
  const int64_t channels = w.out - channel < kLinearWidth ? w.out - channel : kLinearWidth;
  for (int64_t c = 0; c < channels; ++c) {
    const std::byte* row = static_cast<const std::byte*>(w.data) + (channel + c) * w.out_stride * kElementBytes<T>;
    F32 magnitudes = splat(0.0F);
    for (int64_t k = first; k < last; k += kLanes) magnitudes = max_magnitude(magnitudes, load_part<T>(row, k, last));
    const float magnitude = reduce_max_magnitude(magnitudes);
    if (!(magnitude < kLinearTooLarge)) return false;
    const bool zero = magnitude < kLinearTooSmall;
    const F32 factor = splat(zero ? 0.0F : B::kWeightLimit / magnitude);
    I32 sum = splat_int(0);
    for (int64_t k = first; k < last; k += kLanes) {
      const I32 q = to_int(mul(load_part<T>(row, k, last), factor));
      sum = add_int(sum, q);
      store_int(numbers + (k - first), q);
    }
    scales[c] = zero ? 0.0F : magnitude / B::kWeightLimit;
    sums[c] = scales[c] * static_cast<float>(reduce_add(sum));
    for (int64_t k = 0; k < last - first; ++k) {
      std::byte* lane = to + (k / B::kPer * kLinearWidth + c) * 4;
      if constexpr (B::kPer == 4) reinterpret_cast<int8_t*>(lane)[k % 4] = static_cast<int8_t>(numbers[k]);
      if constexpr (B::kPer == 2) reinterpret_cast<int16_t*>(lane)[k % 2] = static_cast<int16_t>(numbers[k]);
    }
  }
  return true;
}

struct PackCall {
  const LinearWeights* weights;
  std::byte* packed;
  std::atomic<bool> fits = true;
};

template <class B, DType T>
void pack_panel(void* data, int64_t panel) {
  PackCall& call = *static_cast<PackCall*>(data);
  const LinearWeights& w = *call.weights;
  const LinearLayout<B> layout{w.in};
  std::byte* to = call.packed + panel * layout.panel_bytes();
  for (int64_t g = 0; g < layout.groups(); ++g, to += LinearLayout<B>::kGroupBytes) {
    const int64_t first = g * B::kGroup, end = first + B::kGroup;
    if (!pack_group<B, T>(w, panel * kLinearWidth, first, end < w.in ? end : w.in, to)) call.fits = false;
  }
}

template <class B>
int64_t packed_bytes(int64_t in, int64_t out) {
  return (out + kLinearWidth - 1) / kLinearWidth * LinearLayout<B>{in}.panel_bytes();
}

template <class B>
bool pack_weights(const LinearWeights& w, std::byte* packed, const ParallelFor& parallel) {
  PackCall call{&w, packed};
  const int64_t panels = (w.out + kLinearWidth - 1) / kLinearWidth;
  if (w.dtype == DType::F32) parallel(panels, pack_panel<B, DType::F32>, &call);
  if (w.dtype == DType::F16) parallel(panels, pack_panel<B, DType::F16>, &call);
  if (w.dtype == DType::BF16) parallel(panels, pack_panel<B, DType::BF16>, &call);
  return call.fits;
}
