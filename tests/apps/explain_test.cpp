// `tessera explain` with every flag, good and bad.
#include <gtest/gtest.h>

#include <fstream>

#include "base/strings.h"
#include "tests/apps/run_program.h"
#include "tests/support/temporary_folder.h"

namespace tessera::cli {
namespace {

const std::string kFlux = TESSERA_SOURCE_DIR "/tests/golden/pipelines/flux1-schnell/model";
const std::string kWan = TESSERA_SOURCE_DIR "/tests/golden/pipelines/wan2.2-ti2v-i2v-small/model";

/// The sites of `explain FLAGS --json`.
Json sites(std::vector<std::string> flags) {
  flags.insert(flags.begin(), "explain");
  flags.emplace_back("--json");
  const Ran ran = run(flags);
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  return ran.json().value("sites", Json::array());
}

Json only_site(const std::vector<std::string>& flags) {
  const Json all = sites(flags);
  EXPECT_EQ(all.size(), 1U);
  return all.empty() ? Json::object() : all.at(0);
}

std::string reason_of(const Json& site, const std::string& backend) {
  for (const Json& refusal : site.at("refused")) {
    if (refusal.at("backend") == backend) return refusal.at("reason");
  }
  return "";
}

TEST(Explain, EveryProblemFlagReachesTheProblem) {
  const Json site = only_site({"--device",
                               "b200",
                               "--seq-q",
                               "300",
                               "--seq-kv",
                               "200",
                               "--heads",
                               "8",
                               "--kv-heads",
                               "4",
                               "--head-dim",
                               "64",
                               "--value-dim",
                               "32",
                               "--batch-size",
                               "2",
                               "--dtype",
                               "fp16",
                               "--causal=bottom_right",
                               "--key-lengths",
                               "150,200",
                               "--mask",
                               "key_lengths",
                               "--needs-lse",
                               "--role",
                               "cross",
                               "--scale",
                               "0.5",
                               "--layout",
                               "strided"});
  const Json want = Json::parse(R"({"batch": 2, "seq_q": 300, "seq_kv": 200, "heads_q": 8, "heads_kv": 4,
    "head_dim": 64, "value_dim": 32, "dtype": "fp16", "causal": "bottom_right", "mask": "key_lengths",
    "key_lengths": [150, 200], "needs_lse": true, "role": "cross", "layout": "strided", "scale": 0.5})");
  EXPECT_EQ(site.at("problem"), want);
  EXPECT_EQ(only_site({"--causal"}).at("problem").at("causal"), "top_left");
  EXPECT_EQ(only_site({"--causal", "--seq-q", "9"}).at("problem").at("seq_kv"), 9);
}

TEST(Explain, AbsentProblemFlagsAreThoseOfTheDocumentedRow) {
  const Json problem = only_site({"--device", "b200"}).at("problem");
  EXPECT_EQ(problem.at("seq_q"), 4608);
  EXPECT_EQ(problem.at("heads_kv"), 24);
  EXPECT_EQ(problem.at("dtype"), "bf16");
  EXPECT_EQ(only_site({"--device", "cpu_avx2"}).at("problem").at("dtype"), "fp32");
}

TEST(Explain, NamedShapesAreDecidedForEachDevice) {
  const std::pair<const char*, const char*> wants[] = {
      {"b200", "torch_cudnn_sdpa"}, {"h200", "fa3"}, {"a100", "fa3"}, {"rtx5090", "torch_sdpa"}, {"t4", "torch_sdpa"}};
  for (const auto& [device, backend] : wants) {
    EXPECT_EQ(only_site({"--device", device, "--shape", "flux_1024_self"}).at("backend"), backend) << device;
  }
  EXPECT_EQ(sites({"--device", "b300", "--shape", "production"}).size(), 11U);
  EXPECT_EQ(sites({"--device", "b300", "--shape", "clip_77, vae_mid"}).size(), 2U);
}

TEST(Explain, PeopleReadTheRoleOnceAndEveryRefusalWithItsReason) {
  const Ran ran = run({"explain", "--device", "b200", "--model", kWan});
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(ran.out.find("self self"), std::string::npos);
  EXPECT_EQ(ran.out.find("self  B"), std::string::npos) << "the name of a site does not repeat its role";
  EXPECT_NE(ran.out.find(" per step"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find(" per prompt"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("[Approximate]"), std::string::npos);
}

TEST(Explain, ARefusedSideOfARuleSaysSo) {
  const Json site = only_site({"--device", "b200", "--simulate", "cudnn=9.10.0"});
  EXPECT_EQ(site.at("selected"), "dynamic_cudnn_sdpa");
  EXPECT_EQ(site.at("backend"), "fa4");
  const auto text = site.at("candidates").at(0).at("provenance").get<std::string>();
  EXPECT_NE(text.find("rule sm10x-dense prefers torch_cudnn_sdpa, which cannot serve"), std::string::npos) << text;
  EXPECT_EQ(text.find("1.25-1.5"), std::string::npos) << "evidence for cuDNN is none for FlashAttention: " << text;
  const Json usual = only_site({"--device", "b200"});
  EXPECT_EQ(usual.at("candidates").at(1).at("provenance"), "behind torch_cudnn_sdpa by rule sm10x-dense");
}

TEST(Explain, TheCommandLineWinsOverTheEnvironmentAndThatOverTheConfigFile) {
  const test::TemporaryFolder folder;
  const std::string config = (folder / "config.toml").string();
  std::ofstream(config) << "[explain]\ndevice = \"h100\"\nattention-backend = \"torch_sdpa\"\n";
  const auto selected = [&](std::vector<std::string> flags, const Surroundings& surroundings) {
    flags.insert(flags.begin(), "explain");
    flags.emplace_back("--json");
    const Ran ran = run(flags, surroundings);
    EXPECT_EQ(ran.status, 0) << ran.err;
    return ran.json().at("sites").at(0).at("selected").get<std::string>();
  };
  const Surroundings file = {.environment = {{"TESSERA_CONFIG", config}}};
  Surroundings both = file;
  both.environment["TESSERA_ATTENTION_BACKEND"] = "cudnn";
  EXPECT_EQ(selected({}, file), "torch_sdpa");
  EXPECT_EQ(selected({"--config", config}, {}), "torch_sdpa");
  EXPECT_EQ(selected({}, both), "torch_cudnn_sdpa");
  EXPECT_EQ(selected({"--attention-backend", "fa3"}, both), "fa3");
  const Ran missing = run({"explain"}, {.environment = {{"TESSERA_CONFIG", config + ".no"}}});
  EXPECT_EQ(missing.status, 2);
  EXPECT_TRUE(missing.is_one_error_line()) << missing.err;
  EXPECT_EQ(run({"explain", "--version"}).status, 0);
}

TEST(Explain, SimulatedChangesDecide) {
  EXPECT_EQ(reason_of(only_site({"--device", "b200", "--simulate", "cudnn=9.10.1"}), "torch_cudnn_sdpa"), "KnownBad");
  EXPECT_EQ(reason_of(only_site({"--device", "b200", "--simulate", "flash4=none"}), "fa4"), "NotInstalled");
  EXPECT_EQ(only_site({"--simulate", "device=sm120,cudnn=9.14.0"}).at("backend"), "torch_sdpa");
  EXPECT_EQ(only_site({"--device", "h100", "--simulate", "libraries=cudnn"}).at("backend"), "torch_sdpa");
  for (const char* bad : {"cudnn", "nonsense=1", "device=gpu", "memory_gib=much", "=3"}) {
    const Ran ran = run({"explain", "--device", "b200", "--simulate", bad});
    EXPECT_EQ(ran.status, 2) << bad;
    EXPECT_TRUE(ran.is_one_error_line()) << ran.err;
  }
}

TEST(Explain, AProfileFileIsADevice) {
  const test::TemporaryFolder folder;
  const Ran doctor = run({"doctor", "--device", "b300", "--json"});
  ASSERT_EQ(doctor.status, 0) << doctor.err;
  std::ofstream(folder / "b300.json") << doctor.json().at("device");
  const Json site = only_site({"--device", (folder / "b300.json").string(), "--shape", "minimax_h3"});
  EXPECT_EQ(site.at("backend"), "fa4");
  std::ofstream(folder / "bad.json") << "{\"kind\": 3}";
  EXPECT_EQ(run({"explain", "--device", (folder / "bad.json").string()}).status, 1);
  EXPECT_EQ(run({"explain", "--device", (folder / "none.json").string()}).status, 1);
}

TEST(Explain, ChoicesComeFromFlagsWithTheirStrictness) {
  const std::vector<std::string> h100 = {"--device", "h100"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = h100;
    all.insert(all.end(), more.begin(), more.end());
    return only_site(all);
  };
  EXPECT_EQ(with({"--attention-backend", "cudnn"}).at("backend"), "torch_cudnn_sdpa");
  EXPECT_EQ(with({"--attention-backend", " SDPA "}).at("selected"), "torch_sdpa");
  const Json strict = with({"--attention-backend", "fa4"});
  EXPECT_EQ(strict.at("backend"), Json());
  EXPECT_EQ(strict.at("error").at("code"), "unsupported");
  EXPECT_EQ(strict.at("error").at("reason"), "CapabilityUnserved");
  EXPECT_NE(strict.at("error").at("text").get<std::string>().find("FlashAttention 4 serves"), std::string::npos);
  EXPECT_EQ(with({"--attention-backend", "prefer:fa4"}).at("backend"), "fa3");
  EXPECT_EQ(with({"--attention-backend", "fa4", "--component", "vae"}).at("backend"), "fa3");
  EXPECT_EQ(with({"--attention-backend", "strict:fa4", "--component", "vae"}).at("backend"), Json());
  EXPECT_EQ(with({"--component-attention-backends", "transformer=sdpa"}).at("origin"), "component");
  EXPECT_EQ(with({"--component-attention-backends", "transformer.self=sdpa"}).at("origin"), "component_role");
  EXPECT_EQ(with({"--component-attention-backends", "{\"vae\": \"sdpa\"}"}).at("origin"), "default");
  EXPECT_EQ(with({"--model-supports", "sdpa"}).at("backend"), "torch_sdpa");
  EXPECT_EQ(only_site({"--device", "b200", "--quant", "modelopt_fp4"}).at("origin"), "quant_policy");
  EXPECT_EQ(only_site({"--device", "cpu_avx2", "--quality", "fast"}).at("backend"), "cpu_sage");
}

TEST(Explain, TheTableOfTheProductionShapesIsCurrent) {
  std::ifstream file(TESSERA_SOURCE_DIR "/docs/production_shapes.md");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  std::string want;
  for (const char* device : {"b200", "b300", "h200", "rtx5090"}) {
    const Ran ran = run({"explain", "--device", device, "--shape", "production", "--markdown"});
    ASSERT_EQ(ran.status, 0) << ran.err;
    want += ran.out;
  }
  const auto first = text.find("## b200");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(text.substr(first), want.substr(0, want.size() - 1)) << "run the command at the top of the file again";
}

TEST(Explain, WrongUsageIsOneLineAndStatusTwo) {
  const std::vector<std::vector<std::string>> wrong = {{"--seq-q", "many"},
                                                       {"--seq-q", "0"},
                                                       {"--seq-q", "-4"},
                                                       {"--heads", "3", "--kv-heads", "2"},
                                                       {"--mask", "triangle"},
                                                       {"--role", "both"},
                                                       {"--layout", "flat"},
                                                       {"--causal=upper"},
                                                       {"--dtype", "int4"},
                                                       {"--quality", "best"},
                                                       {"--shape", "flux_9000"},
                                                       {"--device", "no_such_device"},
                                                       {"--attention-backend", "flash"},
                                                       {"--component-attention-backends", "transformer"},
                                                       {"--component-attention-backends", "transformer.both=fa"},
                                                       {"--model-supports", "nothing"},
                                                       {"--key-lengths", "3,4"},
                                                       {"--key-lengths", "9000"},
                                                       {"--unknown-flag"}};
  for (std::vector<std::string> flags : wrong) {
    const std::string shown = strings::list(flags, " ");
    flags.insert(flags.begin(), "explain");
    const Ran ran = run(flags);
    EXPECT_EQ(ran.status, 2) << shown << ": " << ran.err;
    EXPECT_TRUE(ran.is_one_error_line()) << shown << ": " << ran.err;
    EXPECT_EQ(ran.out, "") << shown;
  }
}

TEST(ExplainModel, ListsEverySiteWithItsCount) {
  const Json all =
      sites({"--device", "b200", "--model", kFlux, "--height", "64", "--width", "64", "--max-sequence-length", "32"});
  std::set<std::string> components;
  for (const Json& site : all) {
    components.insert(site.at("component"));
    EXPECT_GT(site.at("calls").get<int>(), 0) << site;
    EXPECT_TRUE(site.contains("backend") && site.contains("refused")) << site;
    if (site.at("component") == "transformer") {
      EXPECT_EQ(site.at("problem").at("seq_q"), 32 + 16) << "text tokens and 4x4 latent tokens";
      EXPECT_EQ(site.at("calls_per"), "step");
    }
  }
  EXPECT_EQ(components, (std::set<std::string>{"text_encoder", "text_encoder_2", "transformer", "vae"}));
}

TEST(ExplainModel, RolesAreDecidedApart) {
  const Json all =
      sites({"--device", "h100", "--model", kWan, "--component-attention-backends", "transformer.cross=sdpa"});
  for (const Json& site : all) {
    if (site.at("component") != "transformer") continue;
    const bool cross = site.at("problem").at("role") == "cross";
    EXPECT_EQ(site.at("origin") == "component_role", cross) << site;
    if (cross) {
      EXPECT_EQ(site.at("selected"), "torch_sdpa");
    }
  }
}

TEST(ExplainModel, AnOverrideThatControlsNoLayerIsAnError) {
  for (const char* key : {"transformer.cross=sdpa", "image_encoder=sdpa"}) {
    const Ran ran = run({"explain", "--device", "h100", "--model", kFlux, "--component-attention-backends", key});
    EXPECT_EQ(ran.status, 2) << key;
    EXPECT_NE(ran.err.find("controls no attention layer"), std::string::npos) << ran.err;
  }
  EXPECT_EQ(run({"explain", "--device", "h100", "--model", "/no/such/model"}).status, 1);
  EXPECT_EQ(run({"explain", "--device", "h100", "--model", kFlux, "--height", "67"}).status, 2);
}

TEST(ExplainModel, AWeightFormatInTheConfigBringsItsPolicy) {
  const test::TemporaryFolder folder;
  std::filesystem::copy(kFlux, folder / "model", std::filesystem::copy_options::recursive);
  const auto file = folder / "model/transformer/config.json";
  Json config = Json::parse(std::ifstream(file));
  config["quantization_config"] = {{"quant_method", "modelopt"}, {"quant_algo", "NVFP4"}};
  std::ofstream(file) << config;
  const std::vector<std::string> flags = {"--device", "b200", "--model", (folder / "model").string()};
  for (const Json& site : sites(flags)) {
    const bool transformer = site.at("component") == "transformer";
    EXPECT_EQ(site.at("origin") == "quant_policy", transformer) << site;
  }
  std::vector<std::string> chosen = flags;
  chosen.insert(chosen.end(), {"--component-attention-backends", "transformer.self=cudnn"});
  for (const Json& site : sites(chosen)) {
    EXPECT_EQ(site.at("origin") == "component_role", site.at("component") == "transformer") << site;
  }
}

}  // namespace
}  // namespace tessera::cli
