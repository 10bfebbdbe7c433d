// Numbers of tier High: signed 16 bits with exact 32-bit sums.

struct Words {
  static constexpr Tier kTier = Tier::High;
  static constexpr int kPer = 2;  ///< numbers in one 32-bit lane
  static constexpr int64_t kBlock = 128;
  static constexpr int32_t kZero = 0;  ///< what stands for 0 in queries
  /// Largest weight and value: 128 products of 4095 * 4095 stay below 2^31.
  static constexpr int32_t kWeightLimit = 4095;
  static constexpr float kLogWeightLimit = 11.999648F;
  static constexpr int32_t kValueLimit = 4095;

  /// Largest query and key number: d products stay below 2^31.
  static float product_limit(int64_t d) {
    const float limit = __builtin_floorf(__builtin_sqrtf(2147483000.0F / static_cast<float>(round_up(d, kPer))));
    return limit < 32767.0F ? limit : 32767.0F;
  }
  TESSERA_INLINE static I32 dot(I32 acc, I32 a, I32 b) { return dot_words(acc, a, b); }
  TESSERA_INLINE static I32 as_part(I32 x) { return x; }
  TESSERA_INLINE static void store_narrow(std::byte* p, I32 x) { store_words(p, x); }
  TESSERA_INLINE static F32 power(F32 x) { return exp2_coarse(x); }
};
