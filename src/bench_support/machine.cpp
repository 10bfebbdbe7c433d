#include "bench_support/machine.h"

#include <fstream>

#include <torch/headeronly/version.h>

#include "base/strings.h"
#include "kernels/peak.h"

namespace tessera::bench_support {
namespace {

/// The text after "key…: " in a file of such lines; empty when there is none.
std::string field(const char* path, const std::string& key) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(key)) return std::string(strings::trim(line.substr(line.find(':') + 1)));
  }
  return {};
}

}  // namespace

double Peaks::of(kernels::Tier tier) const {
  if (tier == kernels::Tier::Fast && int8 != 0) return int8;
  return tier == kernels::Tier::Exact || int16 == 0 ? fp32 : int16;
}

Peaks measure_peaks(kernels::Isa isa, int threads) {
  using kernels::PeakKind;
  return {measure_peak(isa, PeakKind::Fp32, threads), measure_peak(isa, PeakKind::Int16, threads),
          measure_peak(isa, PeakKind::Int8, threads)};
}

std::string cpu_name() {
  const std::string name = field("/proc/cpuinfo", "model name");
  return name.empty() ? "unknown" : name;
}

int64_t available_memory_bytes() {
  const std::string kib = field("/proc/meminfo", "MemAvailable");
  return kib.empty() ? INT64_MAX : std::atoll(kib.c_str()) * 1024;
}

OrderedJson machine_json(kernels::Isa isa, int threads) {
  return {{"cpu", cpu_name()}, {"isa", isa_name(isa)}, {"threads", threads}};
}

OrderedJson machine_json(kernels::Isa isa, int threads, const Peaks& peaks) {
  OrderedJson out = machine_json(isa, threads);
  out["peak_gflops"] = {{"fp32", peaks.fp32}, {"int16", peaks.int16}, {"int8", peaks.int8}};
  return out;
}

OrderedJson versions_json(const std::string& tessera) {
  return {{"tessera", tessera}, {"torch", TORCH_VERSION}, {"compiler", "g++ " __VERSION__}};
}

}  // namespace tessera::bench_support
