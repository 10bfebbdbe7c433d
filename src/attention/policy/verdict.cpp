#include "attention/policy/verdict.h"

namespace tessera::attention {

std::string_view reason_name(Reason reason) {
  switch (reason) {
    case Reason::NotBuilt:
      return "NotBuilt";
    case Reason::NotInstalled:
      return "NotInstalled";
    case Reason::NeedsCuda:
      return "NeedsCuda";
    case Reason::NeedsCpu:
      return "NeedsCpu";
    case Reason::NeedsOtherPlatform:
      return "NeedsOtherPlatform";
    case Reason::IsaMissing:
      return "IsaMissing";
    case Reason::CapabilityTooOld:
      return "CapabilityTooOld";
    case Reason::CapabilityUnserved:
      return "CapabilityUnserved";
    case Reason::NeedsFlash:
      return "NeedsFlash";
    case Reason::BindingBroken:
      return "BindingBroken";
    case Reason::KnownBad:
      return "KnownBad";
    case Reason::Dtype:
      return "Dtype";
    case Reason::HeadDim:
      return "HeadDim";
    case Reason::ValueDim:
      return "ValueDim";
    case Reason::Heads:
      return "Heads";
    case Reason::Batch:
      return "Batch";
    case Reason::Causal:
      return "Causal";
    case Reason::Mask:
      return "Mask";
    case Reason::Varlen:
      return "Varlen";
    case Reason::Lse:
      return "Lse";
    case Reason::Scale:
      return "Scale";
    case Reason::Layout:
      return "Layout";
    case Reason::Alignment:
      return "Alignment";
    case Reason::SequenceLength:
      return "SequenceLength";
    case Reason::CrossAttention:
      return "CrossAttention";
    case Reason::Approximate:
      return "Approximate";
    case Reason::NotInModelSet:
      return "NotInModelSet";
    case Reason::FailedBefore:
      return "FailedBefore";
    case Reason::Quarantined:
      return "Quarantined";
    case Reason::NoKernel:
      return "NoKernel";
    case Reason::NotChosen:
      return "NotChosen";
  }
  return "NotBuilt";
}

}  // namespace tessera::attention
