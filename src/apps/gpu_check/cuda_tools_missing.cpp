// Builds without CUDA: only the dry run.
#include "apps/gpu_check/tools.h"

namespace tessera::gpu_check {

Result<std::unique_ptr<DeviceTools>> make_cuda_tools() {
  return fail(ErrorCode::Unavailable, "this build has no CUDA", "build with tools/gpu_check.sh or --preset cuda");
}

}  // namespace tessera::gpu_check
