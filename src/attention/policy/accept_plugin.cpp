// Kernels that were loaded as plugins under names of their own; each is asked about a problem when it runs.
#include "attention/policy/accept.h"

namespace tessera::attention {

Verdict accept_plugin(const AttentionProblem&, const DeviceProfile& d) {
  return Checks().installed(d, "plugin", "name its file in TESSERA_ATTENTION_PLUGINS").verdict();
}

}  // namespace tessera::attention
