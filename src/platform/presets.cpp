#include "platform/presets.h"

#include <algorithm>
#include <optional>

#include "base/strings.h"

namespace tessera::platform {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

struct CudaRow {
  const char* name;
  Capability sm;
  int multiprocessors;
  int64_t memory_bytes;
};

// Multiprocessors and memory from the vendors' data sheets (SXM parts where there are several).
constexpr CudaRow kCudaRows[] = {
    {"b200", {10, 0}, 148, 180 * kGiB},   {"b300", {10, 3}, 148, 270 * kGiB}, {"h100", {9, 0}, 132, 80 * kGiB},
    {"h200", {9, 0}, 132, 141 * kGiB},    {"l40s", {8, 9}, 142, 48 * kGiB},   {"a100", {8, 0}, 108, 80 * kGiB},
    {"rtx5090", {12, 0}, 170, 32 * kGiB}, {"t4", {7, 5}, 40, 16 * kGiB},
};

struct CpuRow {
  const char* name;
  std::set<std::string> isa;
};

const std::vector<CpuRow>& cpu_rows() {
  static const std::vector<CpuRow> rows = {
      {"cpu_avx2", {"avx2", "fma", "f16c"}},
      {"cpu_avx512",
       {"avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni", "avx512_bf16"}},
      {"cpu_neon", {"neon"}},
  };
  return rows;
}

// Versions that the evidence of the rules was taken with; --simulate replaces them.
constexpr std::pair<const char*, const char*> kVersions[] = {{"cudnn", "9.19.0"}, {"torch", "2.13.0"}};

void add_versions(DeviceProfile& profile) {
  for (const auto& [token, version] : kVersions) {
    const auto it = profile.libraries.find(token);
    if (it != profile.libraries.end()) it->second = version;
  }
}

/// Everything, but for what replaces the ordinary path of another library when it is there.
std::vector<std::string> default_libraries() {
  std::vector<std::string> out = library_tokens();
  std::erase(out, "sage_trtllm");
  return out;
}

DeviceProfile make(const CudaRow& row) {
  DeviceProfile out;
  out.name = row.name;
  out.kind = DeviceKind::Cuda;
  out.sm = row.sm;
  out.multiprocessors = row.multiprocessors;
  out.memory_bytes = row.memory_bytes;
  out.driver = "580.0";
  out.cuda = "13.0";
  return out;
}

DeviceProfile make(const CpuRow& row) {
  DeviceProfile out;
  out.name = row.name;
  out.isa = row.isa;
  out.memory_bytes = 32 * kGiB;
  return out;
}

}  // namespace

const std::vector<std::string>& library_tokens() {
  static const std::vector<std::string> tokens = {"torch",   "cudnn",         "flash2",   "flash3",   "flash4",
                                                  "sage",    "sage_sm90_fix", "sage3",    "sparge",   "vsa",
                                                  "st_attn", "svg",           "sol_attn", "vmoba",    "triton",
                                                  "cutlass", "flashinfer",    "aiter",    "fa4_cute", "sage_trtllm"};
  return tokens;
}

void set_libraries(DeviceProfile& profile, const std::vector<std::string>& tokens) {
  std::map<std::string, std::string> out;
  for (const auto& token : tokens) {
    const auto known = profile.libraries.find(token);
    out[token] = known == profile.libraries.end() ? std::string() : known->second;
  }
  profile.libraries = std::move(out);
}

const std::vector<std::string>& preset_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const auto& row : kCudaRows) out.emplace_back(row.name);
    for (const auto& row : cpu_rows()) out.emplace_back(row.name);
    return out;
  }();
  return names;
}

Result<DeviceProfile> preset(std::string_view name) {
  const std::string wanted = strings::lower(strings::trim(name));
  std::optional<DeviceProfile> found;
  for (const auto& row : kCudaRows) {
    if (wanted == row.name) found = make(row);
  }
  for (const auto& row : cpu_rows()) {
    if (wanted == row.name) found = make(row);
  }
  if (!found) {
    return fail(ErrorCode::Usage, strings::join("no device preset named '", name, "'"),
                strings::join("choose one of: ", strings::list(preset_names())));
  }
  found->simulated = true;
  set_libraries(*found, default_libraries());
  add_versions(*found);
  return *found;
}

}  // namespace tessera::platform
