// `tessera doctor`: what this machine, or a simulated one, has and lacks.
#include <gtest/gtest.h>

#include "tests/apps/run_program.h"

namespace tessera::cli {
namespace {

Json doctor(std::vector<std::string> flags = {}) {
  flags.insert(flags.begin(), "doctor");
  flags.emplace_back("--json");
  const Ran ran = run(flags);
  EXPECT_EQ(ran.status, 0) << ran.err;
  return ran.json();
}

std::vector<std::string> ids(const Json& rows) {
  std::vector<std::string> out;
  for (const Json& row : rows) out.push_back(row.at("id"));
  return out;
}

TEST(Doctor, ListsEveryBackendOnceWithItsStateAndReason) {
  const Json report = doctor({"--device", "cpu"});
  for (const char* key : {"device", "cuda", "memory_limits", "libraries", "backends", "known_bad", "missing"}) {
    EXPECT_TRUE(report.contains(key)) << key;
  }
  std::map<std::string, Json> rows;
  for (const Json& row : report.at("backends")) {
    EXPECT_TRUE(rows.emplace(row.at("name"), row).second) << row;
    EXPECT_EQ(row.at("usable").get<bool>(), row.at("reason").is_null()) << row;
  }
  EXPECT_TRUE(rows.at("cpu_flash").at("usable").get<bool>());
  EXPECT_EQ(rows.at("vmoba_attn").at("reason"), "NotBuilt");
  EXPECT_EQ(rows.size(), 30U);
}

TEST(Doctor, NamesKnownBadCombinationsWithTheirReport) {
  const Json report = doctor({"--device", "b200", "--simulate", "cudnn=9.10.0,cuda=12.8"});
  const auto found = ids(report.at("known_bad"));
  for (const char* id : {"cudnn-9.10-sdpa", "cudnn-sm100-few-kv-heads", "cudnn-cuda-before-12.9"}) {
    EXPECT_NE(std::find(found.begin(), found.end(), id), found.end()) << id;
  }
  for (const Json& row : report.at("known_bad")) {
    EXPECT_TRUE(row.at("report").get<std::string>().starts_with("https://")) << row;
    EXPECT_FALSE(row.at("remedy").get<std::string>().empty()) << row;
  }
  EXPECT_TRUE(ids(doctor({"--device", "h100", "--simulate", "cudnn=9.19.0"}).at("known_bad")).empty());
}

TEST(Doctor, SaysHowToGetWhatIsMissingAndMissesNoPlugin) {
  const Json report = doctor({"--device", "h100", "--simulate", "libraries=torch+cudnn+sage"});
  const std::string text = report.at("missing").dump();
  EXPECT_NE(text.find("fa3: flash3 is not installed; install"), std::string::npos) << text;
  EXPECT_NE(text.find("sage_attn: its binding"), std::string::npos) << text;
  EXPECT_EQ(text.find("plugin:"), std::string::npos) << text;
}

TEST(Doctor, TellsPeopleTheSame) {
  const Ran ran = run({"doctor", "--device", "b200", "--simulate", "cudnn=9.10.0"});
  ASSERT_EQ(ran.status, 0);
  EXPECT_NE(ran.out.find("device      b200, compute capability 10.0"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("known bad   torch_cudnn_sdpa"), std::string::npos) << ran.out;
}

TEST(Doctor, RefusesWhatIsNoDevice) {
  EXPECT_EQ(run({"doctor", "--device", "b200", "--simulate", "cudnn"}).status, 2);
  EXPECT_TRUE(run({"doctor", "--device", "no_such_device"}).is_one_error_line());
  EXPECT_EQ(run({"doctor", "--device", "cuda:99"}).status, 1);
}

}  // namespace
}  // namespace tessera::cli
