// How kernels get threads: a plain function pointer, so that the caller decides whose pool runs the tasks.
#pragma once

#include <cstdint>

namespace tessera::kernels {

/// Runs task(data, i) once for every i in [0, tasks), in any order, on any threads, and returns when all are done.
/// Without `run` the tasks run one after another on the calling thread. Tasks never throw.
struct ParallelFor {
  using Task = void (*)(void* data, int64_t index);
  void (*run)(void* context, int64_t tasks, Task task, void* data) = nullptr;
  void* context = nullptr;
  int threads = 1;  ///< how many tasks may run at once: a hint for the split, never for the result

  void operator()(int64_t tasks, Task task, void* data) const {
    if (run == nullptr || tasks <= 1) {
      for (int64_t i = 0; i < tasks; ++i) task(data, i);
      return;
    }
    run(context, tasks, task, data);
  }
};

}  // namespace tessera::kernels
