// The backends of this build. The only place that knows which optional libraries were there at compile time.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "attention/backend.h"
#include "attention/policy/backend_id.h"
#include "kernels/attention.h"
#include "platform/device_profile.h"

namespace tessera::attention {

/// Every backend that was compiled in, in the order of BackendId. Whether it runs here is the catalog's word.
std::vector<BackendId> built_backends();

/// Their names, for DeviceProfile::built.
std::set<std::string> built_backend_names();

/// Enters what the backends of this process bring with them into a real machine's profile: their names in `built`, and
/// the library tokens that the catalog asks for where the library is LibTorch itself or a plugin. Simulated profiles
/// stay as they are.
void add_process_backends(platform::DeviceProfile& device);

/// A new instance, or nullptr when it is not in this build. `isa` concerns our CPU kernels only.
std::unique_ptr<AttentionBackend> make_backend(BackendId id, kernels::Isa isa = kernels::Isa::Auto);

/// The instruction sets of this machine that a backend has paths for; just Auto for all but our CPU kernels.
std::vector<kernels::Isa> isa_paths(BackendId id);

}  // namespace tessera::attention
