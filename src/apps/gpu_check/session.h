// What the parts of gpu_check share: the device, the backends under test, the clock, and the rows that they write.
#pragma once

#include "tensor/aten.h"

#include <chrono>

#include "apps/gpu_check/tools.h"
#include "attention/backend.h"
#include "attention/policy/problem.h"
#include "attention/policy/verdict.h"
#include "base/json.h"
#include "platform/device_profile.h"

namespace tessera::gpu_check {

/// One backend under test. `name` tells cuDNN's two routes apart.
struct Contender {
  std::string name;
  attention::BackendId id = attention::BackendId::Reference;
  std::unique_ptr<attention::AttentionBackend> backend;
};

/// passed; failed: a wrong or missing answer; refused: the backend said why it does not serve it; skipped: no time, or
/// no GPU.
enum class Outcome { Passed, Failed, Refused, Skipped };
std::string_view outcome_name(Outcome outcome);

struct Session {
  std::unique_ptr<DeviceTools> tools;
  platform::DeviceProfile profile;
  std::chrono::steady_clock::time_point deadline;
  int rounds = 20;
  OrderedJson rows = OrderedJson::array();
  std::array<int, 4> counts = {};  ///< by Outcome

  bool dry() const { return tools->device().is_cpu(); }
  bool out_of_time() const { return std::chrono::steady_clock::now() > deadline; }

  /// Adds a row {"check", "backend", "subject", "outcome", "text", …}; a failed one is printed at once.
  void add(std::string_view check, std::string_view backend, std::string_view subject, Outcome outcome,
           const std::string& text = {}, const OrderedJson& numbers = OrderedJson::object());

  /// Runs one check, which adds no row itself: an error of it, or an exception, decides the row. Waits for the device.
  void check(std::string_view check, std::string_view backend, std::string_view subject,
             const std::function<Status(OrderedJson& numbers)>& body);

  /// The policy's word on a problem for this device.
  attention::Verdict verdict(const Contender& contender, const attention::AttentionInputs& inputs,
                             bool needs_lse) const;
};

/// The backends of this process that this device may run; on a CUDA device none that runs on CPUs.
std::vector<Contender> contenders(const Session& session);

/// Without an error, `text` is a failure of the check.
Status expect(bool holds, const std::string& text);

/// The same bytes on the session's device: sizes, strides and offset stay as they are.
at::Tensor moved(const at::Tensor& tensor, at::Device device);
attention::AttentionInputs moved(const attention::AttentionInputs& inputs, at::Device device);

/// Normal random inputs [B, S, H, D] on the session's device.
struct Shape {
  int64_t batch = 1, seq_q = 0, seq_kv = 0, heads_q = 0, heads_kv = 0, head_dim = 0;
};
attention::AttentionInputs random_inputs(const Session& session, const Shape& shape, at::ScalarType dtype);

/// |got - want| / |want| in the Euclidean norm, computed in double; infinite when `got` is not finite.
double relative_error(const at::Tensor& got, const at::Tensor& want);

/// What `relative_error` of an exact kernel may be.
double error_limit(at::ScalarType dtype);

/// The parts. Each adds its rows; the bench also fills `out["bench"]` and `out["regret"]`.
void check_problems(Session& session);
void check_shapes(Session& session);
void check_guards(Session& session);
void check_streams(Session& session);
void check_fused(Session& session);
void run_bench(Session& session, OrderedJson& out);

}  // namespace tessera::gpu_check
