// Plugins behind the engine: a good one serves, and whatever a broken one does ends in a typed error or a fallback.
#include "tensor/aten.h"

#include <gtest/gtest.h>

#include <ATen/ops/allclose.h>

#include "attention/backends/plugin.h"
#include "attention/backends/reference.h"
#include "attention/engine.h"

namespace tessera::attention {
namespace {

plugin::Plugin built(const std::string& name) {
  return plugin::load(std::filesystem::path(TESSERA_BINARY_DIR) / "plugins" / (name + ".so")).value();
}

AttentionInputs small_inputs(at::ScalarType dtype = at::kFloat) {
  const auto options = at::TensorOptions().dtype(dtype);
  AttentionInputs in;
  in.query = at::linspace(-1, 1, 2 * 9 * 4 * 16).view({2, 9, 4, 16}).sin().to(options);
  in.key = at::linspace(-3, 3, 2 * 13 * 2 * 16).view({2, 13, 2, 16}).cos().to(options);
  in.value = at::linspace(-2, 5, 2 * 13 * 2 * 16).view({2, 13, 2, 16}).sin().to(options);
  in.scale = 0.25;
  return in;
}

/// An engine that knows just this plugin and the plain reference, asked for the plugin.
std::unique_ptr<AttentionEngine> engine_with(const std::string& name, Demand demand) {
  EngineOptions options;
  options.device.libraries.emplace("plugin", "1");
  options.selections.choices.emplace("transformer", choose(BackendId::Plugin, demand));
  BackendMap backends;
  backends.emplace(BackendId::Plugin, std::make_unique<PluginBackend>(std::vector{built(name)}));
  backends.emplace(BackendId::Reference, std::make_unique<ReferenceBackend>());
  return std::make_unique<AttentionEngine>(std::move(options), std::move(backends));
}

AttentionOutputs reference(const AttentionInputs& in) {
  const AttentionOutputs outputs = allocate_outputs(in, true);
  EXPECT_TRUE(ReferenceBackend().run(in, outputs, Quality::Exact));
  return outputs;
}

constexpr CallSite kSite{"transformer", Role::Self};

TEST(PluginBackend, TheExampleServesEveryCausalityAndKeyLengthsWithLse) {
  const auto engine = engine_with("plain_attention", Demand::Strict);
  const std::vector<int64_t> lengths{5, 0};
  for (const Causal causal : {Causal::None, Causal::TopLeft, Causal::BottomRight}) {
    for (const bool padded : {false, true}) {
      AttentionInputs in = small_inputs();
      in.causal = causal;
      if (padded) in.mask = KeyLengths{lengths};
      const auto got = engine->run(in, kSite, true);
      ASSERT_TRUE(got) << got.error().line();
      const AttentionOutputs want = reference(in);
      EXPECT_TRUE(at::allclose(got->out, want.out, 1e-5, 1e-6)) << causal_name(causal) << padded;
      EXPECT_TRUE(at::allclose(got->lse, want.lse, 1e-5, 1e-6)) << causal_name(causal) << padded;
    }
  }
  EXPECT_EQ(engine->report().front().backend, "plugin");
}

TEST(PluginBackend, ARefusalIsUnsupportedWithThePluginsOwnSentence) {
  const auto got = engine_with("plain_attention", Demand::Strict)->run(small_inputs(at::kBFloat16), kSite);
  ASSERT_FALSE(got);
  EXPECT_NE(got.error().line().find("plain_attention takes fp32 only"), std::string::npos) << got.error().line();
}

TEST(PluginBackend, EachFaultOfARunIsTheRightErrorOrTheCanarysFinding) {
  const struct {
    const char* plugin;
    ErrorCode code;
    const char* text;
  } cases[] = {
      {"throws", ErrorCode::DeviceFault, "this kernel throws"},
      {"writes_nothing", ErrorCode::NumericalFault, ""},
      {"writes_nan", ErrorCode::NumericalFault, ""},
      {"out_of_memory", ErrorCode::OutOfMemory, "no room for the workspace"},
      {"unsupported", ErrorCode::Unsupported, "not today"},
      {"fails_without_text", ErrorCode::DeviceFault, "no reason given"},
  };
  for (const auto& c : cases) {
    const auto got = engine_with(c.plugin, Demand::Strict)->run(small_inputs(), kSite);
    ASSERT_FALSE(got) << c.plugin;
    EXPECT_EQ(got.error().code, c.code) << c.plugin << ": " << got.error().line();
    EXPECT_NE(got.error().line().find(c.text), std::string::npos) << got.error().line();
  }
}

TEST(PluginBackend, WrongOutputIsNotServedWhereAnotherBackendMay) {
  for (const char* name : {"writes_nothing", "writes_nan", "unsupported"}) {
    const AttentionInputs in = small_inputs();
    const auto got = engine_with(name, Demand::Prefer)->run(in, kSite);
    ASSERT_TRUE(got) << name << ": " << got.error().line();
    EXPECT_TRUE(at::allclose(got->out, reference(in).out, 1e-5, 1e-6)) << name;
  }
}

TEST(PluginBackend, ANameOfTheCatalogServesThatRowAndAnyOtherTheCommonOne) {
  plugin::Plugin sage;
  sage.name = "sage_attn";
  EXPECT_EQ(plugin_row(sage), BackendId::SageAttn);
  EXPECT_EQ(plugin_row(built("plain_attention")), BackendId::Plugin);
}

}  // namespace
}  // namespace tessera::attention
