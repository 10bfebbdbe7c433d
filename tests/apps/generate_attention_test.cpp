// `tessera generate --json` on a tiny model: which attention ran, who asked for it, and what faults come to.
#include <gtest/gtest.h>

#include <fstream>

#include "media/png.h"
#include "tests/apps/run_program.h"
#include "tests/support/temporary_folder.h"

namespace tessera::cli {
namespace {

const std::string kModels = TESSERA_SOURCE_DIR "/tests/golden/pipelines/";
const std::string kFlux = kModels + "flux1-schnell/model";

class GenerateAttention : public testing::Test {
 protected:
  Ran generate(const std::vector<std::string>& more, const Surroundings& surroundings = {}) {
    std::vector<std::string> all = {
        "generate", "--model", kFlux,     "--prompt", "a red bicycle",         "--height", "64",
        "--width",  "64",      "--steps", "2",        "--max-sequence-length", "32",       "--seed",
        "3",        "--json",  "--out",   picture()};
    all.insert(all.end(), more.begin(), more.end());
    return run(all, surroundings);
  }

  /// The attention rows of a run that has to succeed.
  Json rows(const std::vector<std::string>& more, const Surroundings& surroundings = {}) {
    const Ran ran = generate(more, surroundings);
    EXPECT_EQ(ran.status, 0) << ran.err;
    return ran.status == 0 ? ran.json().at("attention") : Json::array();
  }

  std::string picture() const { return (folder_ / "a.png").string(); }

  test::TemporaryFolder folder_;
};

bool refuses(const Json& row, const std::string& backend, const std::string& reason) {
  for (const Json& refusal : row.at("refused")) {
    if (refusal.at("backend") == backend && refusal.at("reason") == reason) return true;
  }
  return false;
}

template <typename Bytes>
int largest_difference(const Bytes& a, const Bytes& b) {
  int largest = a.size() == b.size() ? 0 : 256;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    largest = std::max(largest, std::abs(int{a[i]} - int{b[i]}));
  return largest;
}

TEST_F(GenerateAttention, EverySiteTellsWhatRanAndWhy) {
  std::set<std::string> sites;
  for (const Json& row : rows({})) {
    sites.insert(row.at("site"));
    EXPECT_EQ(row.at("requested"), "auto") << row;
    EXPECT_EQ(row.at("origin"), "default") << row;
    EXPECT_EQ(row.at("backend"), "cpu_flash") << row;
    EXPECT_GT(row.at("calls").get<int>(), 0) << row;
    EXPECT_EQ(row.at("canary"), "off") << row;
    EXPECT_TRUE(row.contains("role") && row.at("problem").contains("seq_q") && row.contains("refused")) << row;
  }
  EXPECT_EQ(sites, (std::set<std::string>{"text_encoder", "text_encoder_2", "transformer", "vae"}));
}

TEST_F(GenerateAttention, TheOriginIsTheFlagTheEnvironmentOrTheConfigFile) {
  std::ofstream(folder_ / "config.toml") << "[generate]\nattention-backend = \"torch_sdpa\"\n";
  const Surroundings environment = {.environment = {{"TESSERA_ATTENTION_BACKEND", "reference"}}};
  const Surroundings config = {.environment = {{"TESSERA_CONFIG", (folder_ / "config.toml").string()}}};
  const Surroundings nothing;
  Surroundings both = environment;
  both.environment.insert(config.environment.begin(), config.environment.end());
  const struct {
    std::vector<std::string> flags;
    const Surroundings& surroundings;
    const char *origin, *backend;
  } cases[] = {{{"--attention-backend", "cpu_flash"}, both, "flag", "cpu_flash"},
               {{"--attention-backend=sdpa"}, both, "flag", "torch_sdpa"},
               {{}, both, "environment", "reference"},
               {{}, config, "config", "torch_sdpa"},
               {{"--config", (folder_ / "config.toml").string()}, nothing, "config", "torch_sdpa"}};
  for (const auto& c : cases) {
    for (const Json& row : rows(c.flags, c.surroundings)) {
      EXPECT_EQ(row.at("origin"), c.origin) << row;
      EXPECT_EQ(row.at("level"), "server") << row;
      EXPECT_EQ(row.at("requested"), c.backend) << row;
      EXPECT_EQ(row.at("backend"), c.backend) << row;
    }
  }
}

TEST_F(GenerateAttention, ComponentsAndRolesGetTheirOwnChoice) {
  const std::string map = "transformer=sdpa,text-encoder-2.self=reference,vae=prefer:fa3";
  for (const Json& row : rows({"--component-attention-backends", map, "--attention-backend", "cpu_flash"})) {
    const auto site = row.at("site").get<std::string>();
    const std::map<std::string, std::array<const char*, 2>> wants = {
        {"transformer", {"torch_sdpa", "component"}},
        {"text_encoder", {"cpu_flash", "server"}},
        {"text_encoder_2", {"reference", "component_role"}},
        {"vae", {"cpu_flash", "component"}}};
    EXPECT_EQ(row.at("backend"), wants.at(site)[0]) << row;
    EXPECT_EQ(row.at("level"), wants.at(site)[1]) << row;
    EXPECT_EQ(row.at("origin"), "flag") << row;
    if (site != "vae") continue;
    EXPECT_EQ(row.at("requested"), "fa3");
    EXPECT_TRUE(refuses(row, "fa3", "NotBuilt")) << row;
    EXPECT_NE(row.at("evidence").get<std::string>().find("fa3 was asked for"), std::string::npos) << row;
  }
}

TEST_F(GenerateAttention, AStrictChoiceThatCannotBeObeyedFailsBeforeAnyWork) {
  for (const char* name : {"fa3", "strict:cudnn", "sage", "vmoba_attn", "no_attention"}) {
    const Ran ran = generate({"--attention-backend", name});
    EXPECT_EQ(ran.status, 1) << name << ": " << ran.err;
    EXPECT_TRUE(ran.is_one_error_line()) << ran.err;
    EXPECT_FALSE(std::filesystem::exists(picture())) << name;
  }
  EXPECT_EQ(generate({"--attention-backend", "nonsense"}).status, 2);
  EXPECT_EQ(generate({"--component-attention-backends", "transformer.cross=sdpa"}).status, 2);
  EXPECT_EQ(generate({"--component-attention-backends", "transformer_3=sdpa,unet=sdpa"}).status, 2);
  EXPECT_EQ(generate({"--attention-canary", "sometimes"}).status, 2);
}

TEST_F(GenerateAttention, ThePictureCarriesItsProvenance) {
  const Json reported = rows({"--attention-backend", "prefer:cudnn"});
  std::ifstream file(picture(), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  const auto at = bytes.find("\"attention\":");
  ASSERT_NE(at, std::string::npos);
  EXPECT_NE(bytes.find("\"requested\":\"torch_cudnn_sdpa\"", at), std::string::npos);
  ASSERT_FALSE(rows({"--no-metadata"}).empty());
  std::ifstream bare(picture(), std::ios::binary);
  const std::string without((std::istreambuf_iterator<char>(bare)), {});
  EXPECT_EQ(without.find("\"attention\":"), std::string::npos);
}

TEST_F(GenerateAttention, ARepeatedRecipeNamesItselfAsTheOrigin) {
  ASSERT_FALSE(rows({"--attention-backend", "sdpa"}).empty());
  const std::string first = picture(), second = (folder_ / "b.png").string();
  const Ran again = run({"generate", "--recipe", first, "--json", "--out", second});
  ASSERT_EQ(again.status, 0) << again.err;
  const Json report = again.json();
  for (const Json& row : report.at("attention")) {
    EXPECT_EQ(row.at("origin"), "recipe") << row;
    EXPECT_EQ(row.at("backend"), "torch_sdpa") << row;
  }
}

TEST_F(GenerateAttention, TheCanaryIsOffFirstOrAlways) {
  for (const char* mode : {"first", "always"}) {
    for (const Json& row : rows({"--attention-canary", mode})) EXPECT_EQ(row.at("canary"), "passed") << mode << row;
  }
  for (const Json& row : rows({"--attention-canary", "off"})) EXPECT_EQ(row.at("canary"), "off");
}

TEST_F(GenerateAttention, InjectedFaultsGiveTheSamePictureOrAClearError) {
  const Surroundings allowed = {.environment = {{"TESSERA_ALLOW_INJECT", "1"}}};
  const auto pixels = [&] { return media::read_png(picture()).value().image.rgb; };
  ASSERT_FALSE(rows({"--no-metadata", "--attention-backend", "torch_sdpa"}).empty());
  const auto want = pixels();
  for (const char* fault : {"unsupported", "oom", "fault", "garbage", "nan", "nowrite", "slow"}) {
    for (const char* call : {"1", "2", "5"}) {
      const std::string what = std::string("cpu_flash:") + fault + "@" + call;
      const bool fails = std::string_view(fault) == "oom" || std::string_view(fault) == "fault";
      std::filesystem::remove(picture());
      const Ran ran = generate({"--no-metadata", "--inject", what}, allowed);
      EXPECT_EQ(ran.status, fails ? 1 : 0) << what << ": " << ran.err;
      EXPECT_EQ(std::filesystem::exists(picture()), !fails) << what;
      if (fails) {
        EXPECT_TRUE(ran.is_one_error_line()) << what << ": " << ran.err;
        continue;
      }
      EXPECT_LE(largest_difference(pixels(), want), 1) << what;  // kernels differ in their rounding
      const bool slow = std::string_view(fault) == "slow", latches = std::string_view(fault) == "unsupported";
      int noticed = 0;
      const Json report = ran.json();
      for (const Json& row : report.at("attention")) {
        noticed += refuses(row, "cpu_flash", latches ? "FailedBefore" : "Quarantined") ? 1 : 0;
      }
      EXPECT_EQ(noticed > 0, !slow) << what;
    }
  }
  const Ran locked = generate({"--inject", "cpu_flash:oom@1"});
  EXPECT_EQ(locked.status, 2);
  EXPECT_NE(locked.err.find("TESSERA_ALLOW_INJECT"), std::string::npos) << locked.err;
  EXPECT_EQ(generate({"--inject", "cpu_flash:oom@0"}, allowed).status, 2);
}

/// The decisions of `explain --model` before a run are those of the run, for every model that is here.
TEST_F(GenerateAttention, ExplainForetellsWhatGenerateDoes) {
  const struct {
    const char* model;
    std::vector<std::string> size, more;
  } cases[] = {{"flux1-schnell", {"--height", "64", "--width", "64", "--max-sequence-length", "32"}, {}},
               {"wan2.2-ti2v-i2v-small", {"--height", "64", "--width", "64", "--num-frames", "5"}, {}},
               {"z-image", {"--height", "64", "--width", "64"}, {}}};
  for (const auto& c : cases) {
    std::vector<std::string> explain = {"explain", "--device", "cpu",     "--dtype",
                                        "fp32",    "--json",   "--model", kModels + c.model + "/model"};
    explain.insert(explain.end(), c.size.begin(), c.size.end());
    const Ran foretold = run(explain);
    ASSERT_EQ(foretold.status, 0) << c.model << foretold.err;
    const bool video = std::string_view(c.model).starts_with("wan");
    std::vector<std::string> generate = {"generate", "--model", kModels + c.model + "/model",
                                         "--prompt", "a dog",   "--steps",
                                         "1",        "--json",  "--seed",
                                         "1",        "--out",   video ? (folder_ / "frames/").string() : picture()};
    generate.insert(generate.end(), c.size.begin(), c.size.end());
    if (video) {
      ASSERT_EQ(this->generate({"--no-metadata"}).status, 0);  // a picture to start from
      generate.insert(generate.end(), {"--image", picture()});
    }
    const Ran done = run(generate);
    ASSERT_EQ(done.status, 0) << c.model << done.err;
    const Json report = done.json(), forecast = foretold.json();
    ASSERT_FALSE(report.at("attention").empty()) << c.model;
    for (const Json& row : report.at("attention")) {
      bool found = false;
      for (const Json& site : forecast.at("sites")) {
        found = found || (site.at("component") == row.at("site") && site.at("backend") == row.at("backend") &&
                          site.at("problem").at("role") == row.at("role") &&
                          site.at("problem").at("mask") == row.at("problem").at("mask") &&
                          site.at("problem").at("head_dim") == row.at("problem").at("head_dim"));
      }
      EXPECT_TRUE(found) << c.model << ": " << row.dump() << "\nwas not foretold";
    }
  }
}

}  // namespace
}  // namespace tessera::cli
