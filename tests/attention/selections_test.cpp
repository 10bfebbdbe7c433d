// Flags per component and role.
#include "tensor/aten.h"

#include "attention/selections.h"

#include <gtest/gtest.h>

namespace tessera::attention {
namespace {

TEST(Selections, ParsesComponentsAndRoles) {
  const auto choices = parse_component_choices("transformer.cross=strict:cudnn, vae = prefer:sdpa");
  ASSERT_TRUE(choices) << choices.error().line();
  EXPECT_EQ(choices->at("transformer.cross"), choose(BackendId::TorchCudnnSdpa, Demand::Strict));
  EXPECT_EQ(choices->at("vae"), choose(BackendId::TorchSdpa, Demand::Prefer));
  EXPECT_TRUE(parse_component_choices("")->empty());
}

TEST(Selections, RefusesMalformedMaps) {
  for (const char* text :
       {"transformer", "transformer=", "=fa", "transformer.both=fa", ".cross=fa", "vae=nonsense", "{\"vae\": 3}"}) {
    const auto choices = parse_component_choices(text);
    ASSERT_FALSE(choices) << text;
    EXPECT_EQ(choices.error().code, ErrorCode::Usage) << text;
  }
}

TEST(Selections, FillsTheLevelsOfASelection) {
  SelectionTable table;
  table.base.server = choose(BackendId::Fa3);
  table.choices = *parse_component_choices("transformer=sage,transformer.cross=cudnn");
  const Selection cross = table.at("transformer", Role::Cross);
  EXPECT_EQ(cross.component, choose(BackendId::SageAttn));
  EXPECT_EQ(cross.component_role, choose(BackendId::TorchCudnnSdpa));
  EXPECT_EQ(cross.server, choose(BackendId::Fa3));
  EXPECT_FALSE(table.at("transformer", Role::Self).component_role);
  EXPECT_EQ(table.at("transformer_2", Role::Cross).component_role, choose(BackendId::TorchCudnnSdpa));
  EXPECT_FALSE(table.at("vae", Role::Self).component);
  EXPECT_EQ(table.keys_for("transformer_2", Role::Self), std::vector<std::string>{"transformer"});
  EXPECT_EQ(table.keys_for("transformer", Role::Cross), (std::vector<std::string>{"transformer", "transformer.cross"}));
}

TEST(Selections, TheGlobalFlagIsAPreferenceOutsideOfTransformers) {
  const SelectionTable table;
  EXPECT_FALSE(table.at("transformer", Role::Self).server_may_fall_back);
  EXPECT_FALSE(table.at("transformer_2", Role::Self).server_may_fall_back);
  EXPECT_TRUE(table.at("text_encoder", Role::Self).server_may_fall_back);
  EXPECT_TRUE(table.at("vae", Role::Self).server_may_fall_back);
}

TEST(Selections, AComponentMayHaveABaseOfItsOwn) {
  SelectionTable table;
  table.components["transformer"].quant = "modelopt_fp4";
  EXPECT_EQ(table.at("transformer", Role::Self).quant, "modelopt_fp4");
  EXPECT_EQ(table.at("vae", Role::Self).quant, "");
}

}  // namespace
}  // namespace tessera::attention
