#include "tests/apps/run_program.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <sstream>

#include "apps/cli/program.h"
#include "base/strings.h"

namespace tessera::cli {
namespace {

/// Puts another buffer behind a standard stream for a while.
class Redirect {
 public:
  Redirect(std::ios& stream, std::streambuf* buffer) : stream_(stream), former_(stream.rdbuf(buffer)) {}
  ~Redirect() {
    stream_.rdbuf(former_);
    stream_.clear();
  }
  Redirect(const Redirect&) = delete;
  Redirect& operator=(const Redirect&) = delete;

 private:
  std::ios& stream_;
  std::streambuf* former_;
};

}  // namespace

Json Ran::json() const {
  return Json::parse(out, nullptr, false);
}

bool Ran::is_one_error_line() const {
  return err.starts_with("error: ") && std::ranges::count(err, '\n') == 1 && err.ends_with('\n');
}

Ran run(std::vector<std::string> arguments, const Surroundings& surroundings) {
  arguments.insert(arguments.begin(), "tessera");
  std::vector<const char*> argv;
  for (const std::string& word : arguments) argv.push_back(word.c_str());
  for (const auto& [name, value] : surroundings.environment) ::setenv(name.c_str(), value.c_str(), 1);
  std::istringstream input(surroundings.input);
  std::ostringstream out, err;
  Ran ran;
  {
    const Redirect in(std::cin, input.rdbuf()), to_out(std::cout, out.rdbuf()), to_err(std::cerr, err.rdbuf());
    ran.status = run_program(static_cast<int>(argv.size()), argv.data());
  }
  for (const auto& [name, value] : surroundings.environment) ::unsetenv(name.c_str());
  ran.out = out.str();
  ran.err = err.str();
  return ran;
}

Answers explain_rows(const std::vector<std::string>& lines, const std::vector<std::string>& flags) {
  std::vector<std::string> arguments = {"explain", "--batch"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  std::string input;
  for (const std::string& line : lines) input += line + "\n";
  const Ran ran = run(arguments, {.input = input});
  Answers answers{ran.status, {}};
  for (const std::string& line : strings::split(ran.out, '\n')) {
    if (!line.empty()) answers.rows.push_back(Json::parse(line, nullptr, false));
  }
  return answers;
}

}  // namespace tessera::cli
