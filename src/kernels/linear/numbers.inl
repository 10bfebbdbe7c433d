// The two kinds of numbers of integer linears: what fits a lane, their limits, and how x is mapped to them.

/// Tier Fast: x unsigned with a zero point (one-sided inputs, as after GELU, use all 8 bits), weights signed.
struct LinearBytes {
  static constexpr int kPer = 4;  ///< numbers in one 32-bit lane
  /// Inputs under one scale: sums of 512 products 255 * 127 are exact in float32 as well, and the end of a group
  /// (48 instructions in 1536 cycles of products) costs 3 %.
  static constexpr int64_t kGroup = 512;
  static constexpr float kWeightLimit = 127.0F;
  static constexpr bool kHasZeroPoint = true;
  static constexpr float kSteps = 255.0F;  ///< from the lowest to the highest x
  TESSERA_INLINE static I32 dot(I32 acc, I32 x, I32 w) { return dot_bytes(acc, x, w); }
  TESSERA_INLINE static I32 as_part(I32 w) { return low_byte(w); }
  TESSERA_INLINE static void store_x(std::byte* p, I32 q) { store_low_bytes(p, q); }
};

/// Tier High: both signed.
struct LinearWords {
  static constexpr int kPer = 2;
  static constexpr int64_t kGroup = 128;  ///< 128 products of 4095 * 4095 stay below 2^31
  static constexpr float kWeightLimit = 4095.0F;
  static constexpr bool kHasZeroPoint = false;
  static constexpr float kSteps = 8190.0F;
  TESSERA_INLINE static I32 dot(I32 acc, I32 x, I32 w) { return dot_words(acc, x, w); }
  TESSERA_INLINE static I32 as_part(I32 w) { return w; }
  TESSERA_INLINE static void store_x(std::byte* p, I32 q) { store_words(p, q); }
};

constexpr int64_t kLinearWidth = 3 * kLanes;  ///< output channels of a panel
constexpr float kLinearTooLarge = 1e18F;
constexpr float kLinearTooSmall = 1e-30F;

TESSERA_INLINE int64_t round_to(int64_t n, int64_t step) {
  return (n + step - 1) / step * step;
}

template <DType T>
constexpr int64_t kElementBytes = T == DType::F32 ? 4 : 2;

/// Elements [at, at + kLanes) of a row that ends at `end`, zeros behind it.
template <DType T>
TESSERA_INLINE F32 load_part(const std::byte* row, int64_t at, int64_t end) {
  const std::byte* p = row + at * kElementBytes<T>;
  if (at + kLanes <= end) return load_as_f32<T>(p);
  return load_first_as_f32<T>(p, end - at);
}
