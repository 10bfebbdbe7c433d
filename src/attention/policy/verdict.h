// The answer of a backend to a problem: yes, or one reason with a sentence that says what to do.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tessera::attention {

/// Why a backend does not take a problem. Every value has a test in tests/policy.
enum class Reason {
  NotBuilt,            ///< this build has no such backend (only on the machine in use)
  NotInstalled,        ///< its library is missing
  NeedsCuda,           ///< the device is no NVIDIA GPU
  NeedsCpu,            ///< the device is no CPU
  NeedsOtherPlatform,  ///< it exists for another vendor's platform only
  IsaMissing,          ///< the CPU lacks the instructions
  CapabilityTooOld,    ///< compute capability below the oldest that is served
  CapabilityUnserved,  ///< no kernel for exactly this compute capability
  NeedsFlash,          ///< it is built on FlashAttention, which does not serve this device
  BindingBroken,       ///< the library is there but its binding for this device is the faulty one
  KnownBad,            ///< a row of the known-bad table forbids this combination
  Dtype,
  HeadDim,
  ValueDim,  ///< Dv != D, or Dv not served
  Heads,     ///< Hq != Hkv is not served
  Batch,
  Causal,          ///< causal is not served, or only with the other alignment
  Mask,            ///< this kind of mask is not consumed
  Varlen,          ///< packed segments are not served
  Lse,             ///< no log-sum-exp
  Scale,           ///< only the default scale
  Layout,          ///< strides that it cannot read
  Alignment,       ///< rows that begin between multiples of 16 bytes
  SequenceLength,  ///< too short, too long or not a multiple
  CrossAttention,  ///< sparse patterns mean nothing between two different sequences
  Approximate,     ///< its error is over what the asked quality allows
  NotInModelSet,   ///< the model does not list it for automatic choice
  FailedBefore,    ///< it answered Unsupported to this problem before
  Quarantined,     ///< its output was wrong for this class of problems
  NoKernel,        ///< a placeholder that computes nothing
  NotChosen,       ///< it would run, but something else was asked for or goes first
};

/// The spelling in JSON, equal to the enumerator: "NotInstalled".
std::string_view reason_name(Reason reason);

/// Accepts, or refuses with a reason and a sentence "why; remedy".
struct Verdict {
  std::optional<Reason> reason;  ///< empty: accepted
  std::string text;

  bool accepted() const { return !reason.has_value(); }
  static Verdict accept() { return {}; }
  static Verdict refuse(Reason why, std::string text) { return {why, std::move(text)}; }
};

}  // namespace tessera::attention
