// `tessera doctor`: the device profile, libraries, backends, known-bad combinations, what is missing and how to get it.
#include <iostream>
#include <memory>

#include "apps/cli/commands.h"
#include "apps/cli/machine.h"
#include "attention/policy/catalog.h"
#include "attention/policy/known_bad.h"
#include "base/strings.h"
#include "platform/profile_json.h"
#include "platform/simulate.h"
#include "residency/memory_limits.h"

namespace tessera::cli {
namespace {

using attention::BackendId;
using platform::DeviceProfile;

struct BackendState {
  BackendId id = BackendId::Reference;
  bool built = false;
  attention::Verdict verdict;  ///< on a plain problem: self-attention of 4096 tokens, 24 heads of 128
};

struct Report {
  DeviceProfile device;
  std::string cuda;  ///< why there is no CUDA device; empty when there is one
  std::vector<platform::FoundLibrary> libraries;
  std::vector<residency::MemoryLimit> limits;
  std::vector<BackendState> backends;
  std::vector<const attention::KnownBad*> known_bad;  ///< rows that apply to this device and its libraries
};

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

std::vector<BackendState> states_of(const DeviceProfile& device) {
  const auto problem =
      attention::dense_problem({.batch = 1, .seq_q = 4096, .seq_kv = 4096, .heads = 24, .head_dim = 128},
                               device.is_cuda() ? DType::BF16 : DType::F32);
  std::vector<BackendState> out;
  for (const BackendId id : attention::all_backends()) {
    const bool built = device.simulated || device.built.contains(std::string(backend_name(id)));
    out.push_back({id, built, attention::accepts(id, problem, device)});
  }
  return out;
}

Result<Report> examine(const std::string& name, const std::string& simulate) {
  Report out;
  TESSERA_TRY(auto device, device_profile(name));
  TESSERA_TRY(out.device, platform::simulate(std::move(device), simulate));
  const auto cuda = platform::probe_cuda();
  if (!cuda) out.cuda = cuda.error().line();
  out.libraries = installed_libraries();
  out.limits = residency::memory_limits();
  out.backends = states_of(out.device);
  for (const auto& row : attention::known_bad_table()) {
    const auto& library = attention::info(row.backend).library;
    if (out.device.has(library) && row.device_matches(out.device)) out.known_bad.push_back(&row);
  }
  return out;
}

/// Missing things that the device could use, with the sentence that says how to get them.
std::vector<std::string> missing(const Report& report) {
  std::vector<std::string> out;
  if (!report.cuda.empty()) out.push_back("CUDA: " + report.cuda);
  for (const BackendState& state : report.backends) {
    if (state.id == BackendId::Plugin) continue;  // nobody misses a kernel of their own
    const bool wanted = state.verdict.reason == attention::Reason::NotInstalled ||
                        state.verdict.reason == attention::Reason::BindingBroken;
    if (wanted && report.device.is_cuda())
      out.push_back(strings::join(backend_name(state.id), ": ", state.verdict.text));
  }
  return out;
}

OrderedJson to_json(const Report& r) {
  OrderedJson out = {{"device", platform::to_json(r.device)}};
  out["cuda"] = {{"available", r.cuda.empty()}, {"text", r.cuda}};
  for (const char* list : {"memory_limits", "libraries", "backends", "known_bad"}) out[list] = OrderedJson::array();
  for (const auto& l : r.limits)
    out["memory_limits"].push_back({{"name", l.name}, {"available_bytes", l.available_bytes}});
  for (const auto& l : r.libraries) {
    out["libraries"].push_back({{"token", l.token}, {"version", l.version}, {"where", l.where}});
  }
  for (const BackendState& b : r.backends) {
    OrderedJson row = {{"name", backend_name(b.id)}, {"built", b.built}, {"usable", b.verdict.accepted()}};
    row["reason"] = b.verdict.accepted() ? OrderedJson() : OrderedJson(reason_name(*b.verdict.reason));
    row["text"] = b.verdict.text;
    out["backends"].push_back(std::move(row));
  }
  for (const auto* row : r.known_bad) {
    out["known_bad"].push_back({{"id", row->id},
                                {"backend", backend_name(row->backend)},
                                {"what", row->what},
                                {"report", row->report},
                                {"remedy", row->remedy}});
  }
  out["missing"] = missing(r);
  return out;
}

void print_device(const DeviceProfile& d) {
  std::cout << "device      " << d.name;
  if (d.is_cuda()) std::cout << ", compute capability " << d.sm.major << "." << d.sm.minor;
  std::cout << strings::join(", ", static_cast<double>(d.memory_bytes) / kGiB, " GiB\n");
  std::cout << "cpu isa     " << strings::list({d.isa.begin(), d.isa.end()}) << "\n";
}

void print_backends(const Report& r) {
  std::vector<std::string> absent;
  for (const BackendState& b : r.backends) {
    const std::string name(backend_name(b.id));
    if (!b.built) {
      absent.push_back(name);
    } else if (b.verdict.accepted()) {
      std::cout << "backend     " << name << ": ready\n";
    } else {
      std::cout << "backend     " << name << ": " << b.verdict.text << " [" << reason_name(*b.verdict.reason) << "]\n";
    }
  }
  if (!absent.empty()) std::cout << "not built   " << strings::list(absent) << "\n";
}

void print(const Report& r) {
  print_device(r.device);
  std::cout << "cuda        " << (r.cuda.empty() ? "available" : r.cuda) << "\n";
  for (const auto& l : r.limits) {
    std::cout << strings::join("memory      ", static_cast<double>(l.available_bytes) / kGiB, " GiB left of ", l.name,
                               "\n");
  }
  for (const auto& l : r.libraries) {
    std::cout << "library     " << l.token << (l.version.empty() ? "" : " ") << l.version << "  " << l.where << "\n";
  }
  print_backends(r);
  for (const auto* row : r.known_bad) {
    std::cout << "known bad   " << backend_name(row->backend) << ": " << row->what << "; " << row->remedy << " ("
              << row->report << ")\n";
  }
  for (const std::string& text : missing(r)) std::cout << "missing     " << text << "\n";
}

}  // namespace

Command add_doctor(CLI::App& app, SharedOptions& shared) {
  CLI::App* command = app.add_subcommand("doctor", "say what this machine has for attention, and what is missing");
  const auto simulate = std::make_shared<std::string>();
  add_shared_flags(*command, shared);
  command->add_option("--simulate", *simulate, "KEY=VALUE,… changes the device: cudnn=9.10.0, device=sm120");
  return {command, [simulate, &shared]() -> Status {
            TESSERA_TRY(const Report report, examine(shared.device, *simulate));
            if (shared.json) {
              std::cout << to_json(report).dump(1) << "\n";
            } else {
              print(report);
            }
            return {};
          }};
}

}  // namespace tessera::cli
