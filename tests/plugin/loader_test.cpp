// Loading plugins: a good one, and every way in which one can be broken before it runs.
#include "attention/plugin/loader.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>

namespace tessera::attention::plugin {
namespace {

std::filesystem::path built(const std::string& name) {
  return std::filesystem::path(TESSERA_BINARY_DIR) / "plugins" / (name + ".so");
}

TEST(PluginLoader, LoadsTheExample) {
  const auto plugin = load(built("plain_attention"));
  ASSERT_TRUE(plugin) << plugin.error().line();
  EXPECT_EQ(plugin->name, "plain_attention");
  EXPECT_EQ(plugin->version, "1.0");
}

TEST(PluginLoader, TheExampleAcceptsByProblemAndSaysWhyNot) {
  const auto plugin = load(built("plain_attention"));
  ASSERT_TRUE(plugin);
  EXPECT_EQ(plugin->table->accepts(R"({"dtype":"fp32","mask":"none","device":"cpu"})"), nullptr);
  EXPECT_STREQ(plugin->table->accepts(R"({"dtype":"bf16","mask":"none","device":"cpu"})"),
               "plain_attention takes fp32 only");
}

TEST(PluginLoader, EveryBrokenPluginGivesAnErrorThatNamesItsFault) {
  const struct {
    const char* plugin;
    const char* fault;
  } cases[] = {
      {"missing_symbol", "no symbol tessera_attention_plugin_v1"},
      {"wrong_version", "ABI version 99, this program speaks 1"},
      {"small_table", "its table has 16 bytes"},
      {"no_name", "it has no name"},
      {"no_function", "its table lacks a function"},
      {"null_table", "returned nothing"},
      {"throws_on_load", "threw: no licence found"},
      {"crashes_on_load", "it crashes while loading"},
      {"exits_on_load", "it ends the process while loading"},
  };
  for (const auto& c : cases) {
    const auto plugin = load(built(c.plugin));
    ASSERT_FALSE(plugin) << c.plugin;
    EXPECT_EQ(plugin.error().code, ErrorCode::Unavailable) << c.plugin;
    EXPECT_NE(plugin.error().what.find(c.fault), std::string::npos) << plugin.error().line();
    EXPECT_NE(plugin.error().what.find(c.plugin), std::string::npos) << plugin.error().line();
  }
}

TEST(PluginLoader, AFileThatIsNoLibraryIsUnavailableAndNoFileIsNotFound) {
  const auto text = std::filesystem::path(TESSERA_BINARY_DIR) / "plugins" / "text.so";
  std::ofstream(text) << "not a library";
  EXPECT_EQ(load(text).error().code, ErrorCode::Unavailable);
  EXPECT_EQ(load(built("no_such_plugin")).error().code, ErrorCode::NotFound);
}

TEST(PluginLoader, TheEnvironmentNamesSeveralAndABadOneDoesNotHideTheOthers) {
  const std::string paths = built("crashes_on_load").string() + ":" + built("plain_attention").string();
  setenv("TESSERA_ATTENTION_PLUGINS", paths.c_str(), 1);
  const auto plugins = load_from_environment();
  unsetenv("TESSERA_ATTENTION_PLUGINS");
  ASSERT_EQ(plugins.size(), 2u);
  EXPECT_FALSE(plugins[0]);
  EXPECT_TRUE(plugins[1]);
}

}  // namespace
}  // namespace tessera::attention::plugin
