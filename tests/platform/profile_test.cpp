#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "platform/presets.h"
#include "platform/probe.h"
#include "platform/profile_json.h"
#include "platform/simulate.h"

namespace tessera::platform {
namespace {

namespace fs = std::filesystem;

TEST(Presets, HaveTheCapabilitiesThatTheInterfaceNames) {
  const struct {
    const char* name;
    Capability sm;
  } cases[] = {{"b200", {10, 0}}, {"b300", {10, 3}}, {"h100", {9, 0}},     {"h200", {9, 0}},
               {"l40s", {8, 9}},  {"a100", {8, 0}},  {"rtx5090", {12, 0}}, {"t4", {7, 5}}};
  for (const auto& c : cases) EXPECT_EQ(preset(c.name).value().sm, c.sm) << c.name;
  for (const char* cpu : {"cpu_avx2", "cpu_avx512", "cpu_neon"}) EXPECT_TRUE(preset(cpu).value().is_cpu()) << cpu;
}

TEST(Presets, AnUnknownNameListsTheKnownOnes) {
  const auto wrong = preset("b2000");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().hint.find("rtx5090"), std::string::npos);
}

TEST(ProfileJson, EveryPresetSurvivesTheRoundTrip) {
  for (const auto& name : preset_names()) {
    const DeviceProfile before = preset(name).value();
    const auto after = profile_from_json(Json::parse(to_json(before).dump()));
    ASSERT_TRUE(after) << name << ": " << after.error().line();
    EXPECT_EQ(*after, before) << name;
  }
}

TEST(ProfileJson, AWrongFieldIsNamed) {
  const char* cases[] = {R"({"kind": "gpu"})",
                         R"({"kind": "cuda"})",
                         R"({"kind": "cuda", "sm": "ten"})",
                         R"({"kind": "cpu", "libraries": 3})",
                         R"({"kind": "cpu", "memory_bytes": "all"})",
                         "[]"};
  for (const char* text : cases) EXPECT_FALSE(profile_from_json(Json::parse(text))) << text;
}

TEST(Simulate, ChangesVersionsDevicesAndLibraries) {
  const auto base = preset("b200").value();
  const auto changed = simulate(base, "device=sm120, cudnn=9.14.0, flash4=none, memory_gib=24");
  ASSERT_TRUE(changed) << changed.error().line();
  EXPECT_EQ(changed->sm, (Capability{12, 0}));
  EXPECT_EQ(changed->libraries.at("cudnn"), "9.14.0");
  EXPECT_FALSE(changed->has("flash4"));
  EXPECT_EQ(changed->memory_bytes, int64_t{24} << 30);
  EXPECT_EQ(simulate(base, "libraries=cudnn+flash2").value().libraries.size(), 2U);
  EXPECT_EQ(simulate(base, "")->libraries, base.libraries);
}

TEST(Simulate, RefusesWhatItDoesNotKnow) {
  for (const char* wrong : {"cudnnn=9", "device=b2000", "sm=x", "memory_gib=-1", "cudnn"}) {
    const auto result = simulate(preset("b200").value(), wrong);
    ASSERT_FALSE(result) << wrong;
    EXPECT_EQ(result.error().code, ErrorCode::Usage) << wrong;
  }
}

TEST(Capability, IsReadInEverySpelling) {
  EXPECT_EQ(parse_capability("10.3").value(), (Capability{10, 3}));
  EXPECT_EQ(parse_capability("sm103").value(), (Capability{10, 3}));
  EXPECT_EQ(parse_capability("sm_90").value(), (Capability{9, 0}));
  EXPECT_FALSE(parse_capability("10."));
  EXPECT_FALSE(parse_capability(""));
}

TEST(Probe, ThisCpuHasMemoryAndNoCapability) {
  const DeviceProfile cpu = probe_cpu();
  EXPECT_TRUE(cpu.is_cpu());
  EXPECT_GT(cpu.memory_bytes, 0);
  EXPECT_EQ(cpu.sm, Capability{});
  EXPECT_FALSE(cpu.simulated);
}

TEST(Probe, UnknownDeviceNamesAreUsageErrors) {
  const auto wrong = probe_device("gpu0");
  ASSERT_FALSE(wrong);
}

/// A package folder with files that the probe looks for.
class PackageFolder {
 public:
  PackageFolder() : root_(fs::temp_directory_path() / "tessera_probe_test") { fs::remove_all(root_); }
  ~PackageFolder() { fs::remove_all(root_); }
  void add(const std::string& path, const std::string& text = "") const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  std::vector<FoundLibrary> probe() const { return probe_packages({root_}); }

 private:
  fs::path root_;
};

bool has(const std::vector<FoundLibrary>& found, const std::string& token) {
  return std::ranges::any_of(found, [&](const FoundLibrary& f) { return f.token == token; });
}

TEST(Probe, TheSageFixIsTheMarkerSymbolAndNotTheVersion) {
  const PackageFolder folder;
  folder.add("sageattention-2.2.0.dist-info/METADATA");
  folder.add("sageattention/sm90_compile.py", "def qk_int8_sv_f8_accum_f32_fuse_v_scale_attn_inst_buf(): pass");
  EXPECT_TRUE(has(folder.probe(), "sage"));
  EXPECT_FALSE(has(folder.probe(), "sage_sm90_fix"));
  folder.add("sageattention/sm90_compile.py",
             "def qk_int8_sv_f8_accum_f32_fuse_v_scale_attn_inst_buf_fake_impl(): pass");
  EXPECT_TRUE(has(folder.probe(), "sage_sm90_fix"));
}

TEST(Probe, PackagesCarryTheVersionOfTheirMetadata) {
  const PackageFolder folder;
  folder.add("flash_attn-2.8.3.dist-info/METADATA");
  folder.add("flash_attn/flash_attn_interface.py");
  const auto found = folder.probe();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].token, "flash2");
  EXPECT_EQ(found[0].version, "2.8.3");
}

}  // namespace
}  // namespace tessera::platform
