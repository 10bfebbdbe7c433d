// Attention in double precision with plain loops: the truth for the canary, the tests and `--attention-backend
// reference`.
#pragma once

#include <span>

#include "attention/backend.h"

namespace tessera::attention {

/// One query head of one batch row, its keys and values copied to the host as doubles.
class ReferenceHead {
 public:
  ReferenceHead(const AttentionInputs& inputs, int64_t batch, int64_t head);

  /// Computes query `index` into out [Dv]; returns the LSE. Not for several threads at once.
  double row(int64_t index, std::span<double> out);

  /// The largest |value| and the largest |logit| that the rows computed so far have met, finite ones only.
  double max_value() const { return max_value_; }
  double max_logit() const { return max_logit_; }

 private:
  bool is_allowed(int64_t index, int64_t key) const;
  void load_row(int64_t index);
  void find_sequence(int64_t index);
  double logit(int64_t key) const;

  const AttentionInputs& inputs_;
  at::Tensor query_, key_, value_, mask_;  // [Sq, D], [Skv, D], [Skv, Dv] doubles; mask_ [Sq, Skv] where it lies
  at::Tensor query_row_, mask_row_;        // [D], [Skv] doubles, of the present row
  int64_t seq_q_ = 0, seq_kv_ = 0, key_length_ = 0;
  // The sequence of the present row: all tokens unless the call is packed.
  int64_t first_query_ = 0, queries_ = 0, first_key_ = 0, keys_ = 0;
  double max_value_ = 0, max_logit_ = 0;
  std::vector<double> logits_;
};

/// Takes every problem on every device; slow.
class ReferenceBackend : public AttentionBackend {
 public:
  Status run(const AttentionInputs& inputs, const AttentionOutputs& outputs, Quality tier) override;
};

}  // namespace tessera::attention
