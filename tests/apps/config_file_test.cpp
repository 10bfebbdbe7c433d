#include "apps/cli/config_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tessera::cli {
namespace {

/// A program with two subcommands and a file of flags.
class ConfigFile : public ::testing::Test {
 protected:
  void SetUp() override {
    file_ = std::filesystem::path(::testing::TempDir()) / "tessera_flags.ini";
    CLI::App* generate = app_.add_subcommand("generate");
    generate->add_option("--seed", seed_)->envname("TESSERA_SEED");
    generate->add_option("--steps", steps_)->envname("TESSERA_STEPS");
    app_.add_subcommand("explain")->add_option("--shape", shape_)->envname("TESSERA_SHAPE");
    add_config_file(app_);
  }
  void TearDown() override {
    std::filesystem::remove(file_);
    unsetenv("TESSERA_SEED");
  }
  void write(const std::string& text) { std::ofstream(file_) << text; }
  void parse(const std::string& line) { app_.parse(line); }

  std::filesystem::path file_;
  CLI::App app_{"program"};
  std::string seed_, steps_, shape_;
};

TEST_F(ConfigFile, ASectionAndAFlatKeyReachTheSubcommand) {
  write("steps = 4\n[generate]\nseed = 3\n");
  parse("--config " + file_.string() + " generate");
  EXPECT_EQ(seed_, "3");
  EXPECT_EQ(steps_, "4");
}

TEST_F(ConfigFile, TheEnvironmentWinsOverTheFileAndTheCommandLineOverBoth) {
  write("[generate]\nseed = 3\nsteps = 4\n");
  setenv("TESSERA_SEED", "9", 1);
  parse("--config " + file_.string() + " generate --steps 7");
  EXPECT_EQ(seed_, "9");
  EXPECT_EQ(steps_, "7");
}

TEST_F(ConfigFile, TheFileMayBeNamedBehindTheSubcommand) {
  write("seed = 3\n");
  parse("generate --config " + file_.string());
  EXPECT_EQ(seed_, "3");
}

TEST_F(ConfigFile, KeysOfOtherSubcommandsAreFineAndUnknownOnesAreErrors) {
  write("shape = \"flux_512\"\n");
  parse("--config " + file_.string() + " generate");
  write("sede = 3\n");
  EXPECT_THROW(parse("--config " + file_.string() + " generate"), CLI::ParseError);
  write("[generate]\nsede = 3\n");
  EXPECT_THROW(parse("--config " + file_.string() + " generate"), CLI::ParseError);
}

TEST_F(ConfigFile, AFileThatIsNotThereIsAnError) {
  EXPECT_THROW(parse("--config " + file_.string() + ".missing generate"), CLI::ParseError);
}

}  // namespace
}  // namespace tessera::cli
