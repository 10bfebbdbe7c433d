// One attention problem with its own data, its kernel arguments and its double-precision answer, for tests/kernels.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/attention.h"
#include "tests/support/reference_attention.h"

namespace tessera::test {

/// What a case asks for; defaults make a small plain problem.
struct CaseSpec {
  std::string name = {};
  DType dtype = DType::F32;
  int64_t batch = 1, seq_q = 16, seq_kv = 16, heads_q = 1, heads_kv = 1, head_dim = 64, value_dim = 64;
  kernels::Causal causal = kernels::Causal::None;
  kernels::MaskKind mask = kernels::MaskKind::None;
  bool mask_per_query = true;  ///< false: one row of the mask serves every query (stride 0)
  bool mask_per_head = true;
  std::vector<int64_t> key_lengths = {};
  std::optional<float> scale = {};
  float amplitude = 1;  ///< factor on q and k
  uint64_t seed = 1;
};

/// Owns the buffers of one problem. q, k, v are [B, S, H, D] in spec.dtype, values exact in that type.
class AttentionCase {
 public:
  explicit AttentionCase(CaseSpec spec);

  /// Arguments over these buffers, with out and lse to be written.
  kernels::AttentionArgs args();
  /// The same problem for the reference; refers to this object.
  ReferenceProblem reference() const;

  float out(int64_t b, int64_t i, int64_t h, int64_t d) const;
  float lse(int64_t b, int64_t h, int64_t i) const;
  /// Element of one input, in place; `which` is 'q', 'k' or 'v'.
  void set(char which, int64_t b, int64_t s, int64_t h, int64_t d, float value);
  float get(char which, int64_t b, int64_t s, int64_t h, int64_t d) const;
  /// The mask's value for one pair (0, -inf or a number), lengths and causality included.
  double bias(int64_t b, int64_t h, int64_t i, int64_t j) const;
  void set_mask(int64_t b, int64_t h, int64_t i, int64_t j, float value);

  const CaseSpec& spec() const { return spec_; }
  std::vector<std::byte> q, k, v, out_bytes;

 private:
  int64_t mask_at(int64_t b, int64_t h, int64_t i, int64_t j) const;
  const std::vector<std::byte>& buffer(char which) const;
  int64_t at(char which, int64_t b, int64_t s, int64_t h, int64_t d) const;

  CaseSpec spec_;
  std::vector<uint8_t> bool_mask_;
  std::vector<float> additive_mask_;
  std::vector<float> lse_;
};

/// How far a result is from the reference.
struct CaseError {
  double out_max = 0;  ///< largest |difference|; infinite when one side is NaN and the other is not
  double out_l1 = 0;   ///< sum |difference| / sum |reference|
  double out_rms = 0;  ///< root of the mean squared difference
  double lse_max = 0;
};
CaseError measure(const AttentionCase& c, const ReferenceResult& want);

/// Standard normal numbers, the same on every machine.
std::vector<float> normal_values(size_t count, uint64_t seed);

/// A ParallelFor that runs the tasks on `threads` fresh threads.
kernels::ParallelFor fresh_threads(int threads);

/// Every ISA of this machine.
std::vector<kernels::Isa> isas();

/// Runs the case on one path, on so many fresh threads.
kernels::AttentionRun run(AttentionCase& c, kernels::Isa isa, kernels::Tier tier, int threads = 1);

/// Calls check(isa, tier, text for messages) for every path: each ISA of this machine with each tier.
void for_every_path(const std::function<void(kernels::Isa, kernels::Tier, const std::string&)>& check);

}  // namespace tessera::test
