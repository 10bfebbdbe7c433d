// Numbers of tier Fast: 8 bits; queries and weights unsigned, keys and values signed, as the VNNI product wants them.

struct Bytes {
  static constexpr Tier kTier = Tier::Fast;
  static constexpr int kPer = 4;  ///< numbers in one 32-bit lane
  static constexpr int64_t kBlock = 128;
  static constexpr int32_t kZero = 128;  ///< what stands for 0 in queries
  static constexpr int32_t kWeightLimit = 255;
  static constexpr float kLogWeightLimit = 7.99435344F;
  static constexpr int32_t kValueLimit = 127;

  static float product_limit(int64_t) { return 127.0F; }
  TESSERA_INLINE static I32 dot(I32 acc, I32 a, I32 b) { return dot_bytes(acc, a, b); }
  TESSERA_INLINE static I32 as_part(I32 x) { return low_byte(x); }
  TESSERA_INLINE static void store_narrow(std::byte* p, I32 x) { store_bytes(p, x); }
  /// Weights have 8 bits, so 1.7e-3 is enough.
  TESSERA_INLINE static F32 power(F32 x) { return exp2_rough(x); }
};
