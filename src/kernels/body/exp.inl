// Powers of two for the softmax: floor, a polynomial on [0, 1), and the exponent put back.
// Coefficients: minimax of relative error (Remez); a NaN stays a NaN and -inf gives 0.

/// 2^x for x <= 0, relative error 7.7e-8.
TESSERA_INLINE F32 exp2_exact(F32 x) {
  const F32 r = fraction(x);
  F32 p = fma(splat(0.00187778415F), r, splat(0.00898912735F));
  p = fma(p, r, splat(0.0558261722F));
  p = fma(p, r, splat(0.240153819F));
  p = fma(p, r, splat(0.693153024F));
  p = fma(p, r, splat(0.99999994F));
  return scale_by_power(p, x);
}

/// 2^x for x <= 0, relative error 7.5e-5: for weights that are then rounded to 13 bits or fewer.
TESSERA_INLINE F32 exp2_coarse(F32 x) {
  const F32 r = fraction(x);
  F32 p = fma(splat(0.0780245215F), r, splat(0.226067156F));
  p = fma(p, r, splat(0.695833564F));
  p = fma(p, r, splat(0.999925196F));
  return scale_by_power(p, x);
}

/// 2^x, relative error 1.7e-3: for weights of 8 bits.
TESSERA_INLINE F32 exp2_rough(F32 x) {
  const F32 r = fraction(x);
  F32 p = fma(splat(0.337189436F), r, splat(0.657636285F));
  p = fma(p, r, splat(1.00172472F));
  return scale_by_power(p, x);
}
