// Two choices that belong to special layers: ring attention, and the trained sparse layers of TurboWan.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attention/policy/selection.h"
#include "base/result.h"

namespace tessera::attention {

/// The server's choice when K and V travel around a ring of `degree` ranks: only backends that merge partial results by
/// log-sum-exp may serve. Nothing chosen: FlashAttention. Degree 1 returns the text's choice unchanged.
/// Errors: Usage for a name that is unknown or cannot serve a ring.
Result<std::optional<Choice>> choice_for_ring(const std::optional<std::string>& server, int degree);

/// The backend of a trained sparse-linear layer: sla_attn or sage_sla_attn.
struct SparseLayerChoice {
  BackendId backend = BackendId::SlaAttn;
  bool warning = false;  ///< what was requested could not be followed
};

/// `attention_type`: "sagesla" prefers the Sage variant. `requested`: the user's text, may be absent. `supported`: the
/// layer's set, empty for any; it limits the choice when it names one of the two.
SparseLayerChoice sparse_layer_backend(std::string_view attention_type, const std::optional<std::string>& requested,
                                       const std::vector<BackendId>& supported);

}  // namespace tessera::attention
