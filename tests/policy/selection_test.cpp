// Names, levels, strictness, fallback, rules, overrides and component maps.
#include "attention/policy/selection.h"

#include <gtest/gtest.h>

#include "attention/policy/catalog.h"
#include "attention/policy/component_map.h"
#include "attention/policy/layer_rules.h"
#include "attention/policy/named_shapes.h"
#include "attention/policy/overrides.h"
#include "attention/policy/resolver.h"
#include "attention/policy/rules.h"
#include "tests/policy/policy_cases.h"

namespace tessera::attention {
namespace {

TEST(Names, OneTableServesEveryFlag) {
  const struct {
    const char* text;
    const char* name;
    Demand demand;
  } cases[] = {{"sdpa", "torch_sdpa", Demand::Usual},
               {"CUDNN", "torch_cudnn_sdpa", Demand::Usual},
               {" cudnn_sdpa ", "torch_cudnn_sdpa", Demand::Usual},
               {"sage", "sage_attn", Demand::Usual},
               {"strict:fa3", "fa3", Demand::Strict},
               {"Prefer: sage", "sage_attn", Demand::Prefer},
               {"FA", "fa", Demand::Usual},
               {"auto", "auto", Demand::Usual}};
  for (const auto& c : cases) {
    const auto choice = parse_choice(c.text);
    ASSERT_TRUE(choice) << c.text;
    EXPECT_EQ(choice_name(*choice), c.name) << c.text;
    EXPECT_EQ(choice->demand, c.demand) << c.text;
  }
  for (const char* wrong : {"", "flash", "fa5", "xformers", "strict:", "must:fa"})
    EXPECT_FALSE(parse_choice(wrong)) << wrong;
}

TEST(Names, EveryBackendIsFoundByItsOwnName) {
  for (const BackendId id : all_backends()) {
    EXPECT_EQ(backend_of(backend_name(id)), id);
    EXPECT_EQ(parse_choice(backend_name(id)).value(), choose(id));
    EXPECT_EQ(info(id).id, id);
  }
}

TEST(Levels, TheHighestOneThatIsSetApplies) {
  Selection s;
  const auto asked = [&] { return resolve(dense(512, 512), s, device("h100")).selected; };
  s.layer_default = named("sage_attn");
  EXPECT_EQ(asked(), "sage_attn");
  s.server = named("fa3");
  EXPECT_EQ(asked(), "fa3");
  s.component = named("torch_sdpa");
  EXPECT_EQ(asked(), "torch_sdpa");
  s.component_role = named("fa2");
  EXPECT_EQ(asked(), "fa2");
  s.forced = named("cudnn");
  EXPECT_EQ(asked(), "torch_cudnn_sdpa");
  s.layer_pin = named("fa");
  EXPECT_EQ(asked(), "fa");
}

TEST(Levels, AutoAtALevelHidesTheLevelsBelow) {
  Selection s = server("torch_sdpa");
  s.component = named("auto");
  EXPECT_EQ(resolve(dense(512, 512), s, device("h100")).first(), BackendId::Fa3);
}

TEST(Strictness, AnExplicitChoiceIsUsedOrAnErrorThatNamesTheRefusal) {
  const Decision d = resolve(dense(512, 512), server("fa"), device("rtx5090"));
  ASSERT_TRUE(d.error);
  EXPECT_TRUE(d.candidates.empty());
  EXPECT_NE(d.error->what.find("CapabilityUnserved"), std::string::npos) << d.error->what;
  EXPECT_NE(d.error->hint.find("torch_sdpa"), std::string::npos) << d.error->hint;
}

TEST(Strictness, PreferFallsBackAndKeepsTheReason) {
  const Decision d = resolve(dense(512, 512), server("prefer:sage"), device_with("h100", {"flash3", "cudnn"}));
  ASSERT_TRUE(d.ok());
  EXPECT_EQ(d.first(), BackendId::Fa3);
  EXPECT_EQ(d.selected, "sage_attn");
  ASSERT_EQ(d.notes.size(), 1U);
  EXPECT_NE(d.notes[0].find("NotInstalled"), std::string::npos);
  EXPECT_TRUE(d.warnings.empty());
}

TEST(Strictness, AFaultyBindingIsAWarning) {
  const Decision d = resolve(dense(512, 512), server("prefer:sage"), device_with("h100", {"flash3", "sage"}));
  EXPECT_EQ(d.first(), BackendId::Fa3);
  ASSERT_EQ(d.warnings.size(), 1U);
  EXPECT_NE(d.warnings[0].find("BindingBroken"), std::string::npos);
}

TEST(Strictness, TheGlobalFlagIsAPreferenceForTextEncodersAndVae) {
  Selection s = server("sage_attn");
  AttentionProblem p = dense(512, 512);
  p.head_dim = p.value_dim = 160;
  EXPECT_TRUE(resolve(p, s, device("h100")).error);
  s.server_may_fall_back = true;
  EXPECT_EQ(resolve(p, s, device("h100")).first(), BackendId::Fa3);
  s.component = named("sage_attn");
  EXPECT_TRUE(resolve(p, s, device("h100")).error) << "a component's own choice stays strict";
}

TEST(Strictness, ASparseChoiceServesOnlySelfAttention) {
  Selection s = server("vmoba_attn");
  EXPECT_EQ(resolve(dense(512, 512), s, device("h100")).first(), BackendId::VmobaAttn);
  AttentionProblem cross = dense(512, 77);
  cross.role = Role::Cross;
  EXPECT_EQ(resolve(cross, s, device("h100")).first(), BackendId::Fa3);
}

TEST(FaFamily, TheNewestRowThatAcceptsServesFaAndAnExactNameIsExact) {
  EXPECT_EQ(resolve(dense(512, 512), server("fa"), device("b200")).first(), BackendId::Fa4);
  EXPECT_EQ(resolve(dense(512, 512), server("fa"), device("h100")).first(), BackendId::Fa3);
  EXPECT_EQ(resolve(dense(512, 512), server("fa"), device_with("a100", {"flash2"})).first(), BackendId::Fa2);
  EXPECT_TRUE(resolve(dense(512, 512), server("fa3"), device("b200")).error);
}

TEST(Rules, BoundariesDecideAsTheyWereMeasured) {
  const auto wide = [](int64_t sq, int64_t skv, int64_t d, int64_t b = 1) {
    return dense_problem({.batch = b, .seq_q = sq, .seq_kv = skv, .heads = 24, .head_dim = d});
  };
  const struct {
    const char* device;
    AttentionProblem problem;
    Preference want;
  } cases[] = {
      {"b200", wide(127, 128, 128), Preference::Fa},        {"b200", wide(128, 128, 128), Preference::Cudnn},
      {"b200", wide(127, 127, 128), Preference::Cudnn},     {"b300", wide(16383, 16383, 128), Preference::Cudnn},
      {"b300", wide(16384, 16384, 128), Preference::Fa},    {"b300", wide(16384, 16384, 64), Preference::Cudnn},
      {"b300", wide(37800, 512, 128), Preference::Cudnn},   {"b200", wide(75600, 75600, 128), Preference::Cudnn},
      {"h100", wide(1024, 1024, 64, 4), Preference::Cudnn}, {"h100", wide(1024, 1024, 64, 3), Preference::Fa},
      {"h100", wide(1023, 1023, 64, 4), Preference::Fa},    {"h100", wide(1024, 77, 64, 8), Preference::Fa},
      {"h100", wide(1024, 1024, 128, 4), Preference::Fa},
  };
  for (const auto& c : cases) {
    const Rule& rule = dynamic_rule(c.problem, device(c.device));
    EXPECT_EQ(rule.prefer, c.want) << c.device << " " << describe(c.problem) << " by " << rule.id;
    EXPECT_FALSE(rule.evidence.empty());
  }
}

TEST(Rules, CausalGroupedLseAndFp32CallsWereNotComparedWithCudnn) {
  AttentionProblem p = dense(4608, 4608);
  for (int i = 0; i < 4; ++i) {
    AttentionProblem q = p;
    if (i == 0) q.causal = Causal::TopLeft;
    if (i == 1) q.heads_kv = 8;
    if (i == 2) q.needs_lse = true;
    if (i == 3) q.mask = MaskKind::KeyLengths;
    EXPECT_EQ(dynamic_rule(q, device("b200")).prefer, Preference::Fa) << i;
  }
}

TEST(Rules, Sm12xDefaultsToTorchSdpa) {
  EXPECT_EQ(resolve(dense(4608, 4608), Selection::automatic(), device("rtx5090")).first(), BackendId::TorchSdpa);
}

TEST(QuantPolicy, Nvfp4KeepsFaOnBlackwellUnlessSomethingWasChosen) {
  Selection s;
  s.quant = "modelopt_fp4";
  EXPECT_EQ(resolve(dense(4608, 4608), s, device("b200")).first(), BackendId::Fa4);
  EXPECT_EQ(resolve(dense(4608, 4608), s, device("b200")).origin, Origin::QuantPolicy);
  s.component_role = named("torch_sdpa");
  EXPECT_EQ(resolve(dense(4608, 4608), s, device("b200")).first(), BackendId::TorchSdpa);
  s.component_role.reset();
  s.server = named("cudnn");
  EXPECT_EQ(resolve(dense(4608, 4608), s, device("b200")).first(), BackendId::TorchCudnnSdpa);
  s.server.reset();
  s.quant = "fp8";
  EXPECT_EQ(resolve(dense(4608, 4608), s, device("b200")).first(), BackendId::TorchCudnnSdpa);
}

TEST(Quality, DecidesTheTierOfTheCpuKernels) {
  Selection s;
  const auto first = [&] { return resolve(dense(512, 512), s, device("cpu_avx512")).candidates.front(); };
  EXPECT_EQ(first().backend, BackendId::CpuFlash);
  EXPECT_EQ(first().tier, Quality::Exact);
  s.quality = Quality::High;
  EXPECT_EQ(first().backend, BackendId::CpuFlash);
  EXPECT_EQ(first().tier, Quality::High);
  s.quality = Quality::Fast;
  EXPECT_EQ(first().backend, BackendId::CpuSage);
  EXPECT_DOUBLE_EQ(error_bound(BackendId::CpuSage, Quality::Fast), 2e-2);
}

TEST(KnownBad, RowsAreAboutVersionsDevicesAndProblems) {
  platform::DeviceProfile d = device("b200");
  AttentionProblem few = dense(4608, 4608);
  few.heads_kv = 4;
  EXPECT_EQ(accepts(BackendId::TorchCudnnSdpa, few, d).reason, Reason::KnownBad);
  EXPECT_TRUE(accepts(BackendId::TorchCudnnSdpa, few, device("h100")).accepted());
  for (const char* version : {"9.10.0", "9.10.1", "9.5.0"}) {
    d.libraries["cudnn"] = version;
    EXPECT_EQ(accepts(BackendId::TorchCudnnSdpa, dense(4608, 4608), d).reason, Reason::KnownBad) << version;
  }
  for (const char* version : {"9.10.2", "9.9.0", "9.19.0", ""}) {
    d.libraries["cudnn"] = version;
    EXPECT_TRUE(accepts(BackendId::TorchCudnnSdpa, dense(4608, 4608), d).accepted()) << version;
  }
}

TEST(ComponentMap, ReadsKeysRolesAndSiblings) {
  const auto map = parse_component_map("transformer-2.Cross = sdpa, transformer=fa,");
  ASSERT_TRUE(map);
  const auto second = choices_for(*map, "transformer_2");
  EXPECT_EQ(second.whole, named("fa"));
  EXPECT_EQ(second.by_role.at(Role::Cross), named("torch_sdpa"));
  EXPECT_TRUE(choices_for(*map, "transformer").by_role.empty());
  EXPECT_FALSE(choices_for(*map, "vae").whole);
  const std::pair<const char*, MapFault> faults[] = {{"transformer", MapFault::Syntax},
                                                     {"=fa", MapFault::EmptyKey},
                                                     {"transformer.both=fa", MapFault::BadRole},
                                                     {"transformer=flash", MapFault::BadName}};
  for (const auto& [text, fault] : faults) EXPECT_EQ(parse_component_map(text).error().fault, fault) << text;
}

TEST(Overrides, ScopesRestoreAndApplyLevelByLevel) {
  Overrides overrides;
  const auto levels = [&](Role role) {
    Selection s;
    overrides.apply(s, role);
    return s;
  };
  {
    const ForceScope outer(overrides, named("fa"));
    {
      const ForceScope inner(overrides, named("torch_sdpa"));
      EXPECT_EQ(levels(Role::Self).forced, named("torch_sdpa"));
    }
    EXPECT_EQ(levels(Role::Self).forced, named("fa"));
  }
  EXPECT_FALSE(levels(Role::Self).forced);
  ComponentScope scope(overrides, {"transformer", named("fa"), {{Role::Cross, named("sdpa")}}, false, true});
  EXPECT_EQ(levels(Role::Cross).component_role, named("torch_sdpa"));
  EXPECT_FALSE(levels(Role::Self).component_role);
  EXPECT_EQ(levels(Role::Self).component, named("fa"));
}

TEST(Overrides, AnOverrideThatControlledNoLayerIsAnError) {
  Overrides overrides;
  ComponentScope scope(overrides, {"transformer", named("fa"), {}, false, true});
  const auto left = scope.leave();
  ASSERT_FALSE(left);
  EXPECT_NE(left.error().what.find("transformer=fa"), std::string::npos) << left.error().what;
}

TEST(Overrides, ARefusedComponentChoiceIsReportedOnLeaving) {
  Overrides overrides;
  ComponentScope scope(overrides, {"transformer", named("fa"), {}, false, true});
  Selection s;
  overrides.apply(s, Role::Self);
  overrides.record(record_of(resolve(dense(512, 512), s, device("rtx5090")), Role::Self));
  EXPECT_FALSE(scope.leave());
  overrides.record(record_of(resolve(dense(512, 512), s, device("h100")), Role::Self));
}

TEST(Ring, NeedsABackendThatMergesByLogSumExp) {
  EXPECT_EQ(choice_for_ring(std::nullopt, 2).value(), choose_fa());
  EXPECT_EQ(choice_for_ring(std::nullopt, 1).value(), std::nullopt);
  EXPECT_TRUE(choice_for_ring("sage_attn", 4));
  EXPECT_FALSE(choice_for_ring("torch_sdpa", 2));
  EXPECT_TRUE(choice_for_ring("torch_sdpa", 1));
}

TEST(NamedShapes, HaveTheSizesOfTheInterface) {
  const AttentionProblem p = named_shape("krea_gqa")->problem(DType::BF16);
  EXPECT_EQ(p.heads_q, 48);
  EXPECT_EQ(p.heads_kv, 12);
  EXPECT_EQ(named_shape("qwen_1024")->problem(DType::BF16).key_lengths, std::vector<int64_t>{4296});
  EXPECT_TRUE(named_shape("clip_77")->problem(DType::F32).is_causal());
  EXPECT_EQ(named_shape_list("production")->size(), 11U);
  EXPECT_EQ(named_shape_list("all")->size(), 18U);
  EXPECT_FALSE(named_shape_list("flux_2048"));
  for (const auto& shape : named_shapes()) EXPECT_EQ(problem_defect(shape.problem(DType::BF16)), "") << shape.name;
}

TEST(Problem, IsSquareWhenItsSequencesHaveAsManyKeysAsQueries) {
  AttentionProblem p = dense(90, 90);
  p.varlen_bounds = {0, 40, 90};
  EXPECT_TRUE(p.is_square());
  p.varlen_bounds_kv = {0, 40, 90};  // said twice is not said otherwise
  EXPECT_TRUE(p.is_square());
  p.varlen_bounds_kv = {0, 50, 90};
  EXPECT_FALSE(p.is_square());
}

TEST(Problem, ItsSequencesAreLookedAtOneByOne) {
  AttentionProblem p = dense(90, 1);
  EXPECT_EQ(p.sequences(), (SequenceFacts{.square = false, .single_key = true, .more_queries = true}));
  p.seq_kv = 90;
  EXPECT_EQ(p.sequences(), SequenceFacts{});
  p.varlen_bounds = {0, 40, 90};
  p.varlen_bounds_kv = {0, 41, 90};
  EXPECT_EQ(p.sequences(), (SequenceFacts{.square = false, .more_queries = true}));
  p.varlen_bounds_kv = {0, 89, 90};
  EXPECT_EQ(p.sequences(), (SequenceFacts{.square = false, .single_key = true, .more_queries = true}));
  p.varlen_bounds = {0, 90, 90};
  p.varlen_bounds_kv = {0, 89, 90};  // what has no queries is never run
  EXPECT_EQ(p.sequences(), (SequenceFacts{.square = false, .more_queries = true}));
}

TEST(Problem, EveryFieldCountsForEqualityAndDefectsAreNamed) {
  AttentionProblem a = dense(512, 512), b = a;
  EXPECT_EQ(a, b);
  b.scale = 0.5;
  EXPECT_NE(a, b);
  b.heads_kv = 5;
  EXPECT_NE(problem_defect(b).find("multiple"), std::string::npos);
  a.mask = MaskKind::KeyLengths;
  a.key_lengths = {513};
  EXPECT_NE(problem_defect(a).find("513"), std::string::npos);
}

}  // namespace
}  // namespace tessera::attention
