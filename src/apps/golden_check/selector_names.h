// Names, devices and codes in the reference's vocabulary, for the rows of the selector goldens.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "apps/golden_check/selector_departures.h"
#include "attention/policy/resolver.h"
#include "attention/policy/selection.h"
#include "platform/device_profile.h"

namespace tessera::golden {

/// Where a name stands: the flags of the reference read names differently. Bare: an arguments object that was not
/// adjusted.
enum class NameSource { Global, Component, Bare };

/// A name as the world reads it: by our one table, or by the reference's rules of that flag.
std::optional<attention::Choice> read_name(std::string_view name, NameSource source, const World& world);

/// A name that code of the reference writes ("sage_attn"): its enum's names, fa for FlashAttention.
attention::Choice enum_choice(std::string_view name);

/// The reference's enum name of what serves a layer: "FA", "DYNAMIC_CUDNN_SDPA", "TORCH_SDPA", …
std::string enum_name(attention::BackendId backend, const attention::Choice& via);

/// The same for a choice by itself.
std::string enum_name(const attention::Choice& choice);

/// A simulated CUDA device of this capability.
platform::DeviceProfile cuda_device(const Json& capability);

/// Our library tokens from the packages that a row pretends to be importable.
void install(platform::DeviceProfile& device, const Json& packages, const Json& environment);

/// The reference's error code for a refusal, e.g. "sage_head_size".
std::string error_code(const attention::Attempt& refused);

/// True where the reference raises ImportError or RuntimeError, which ends its search even where a fallback is allowed.
bool ends_search(const attention::Attempt& refused, const platform::DeviceProfile& device);

/// True for refusals that the reference does not look for before the first call of this backend.
bool unchecked_by_reference(const attention::Attempt& refused);

}  // namespace tessera::golden
