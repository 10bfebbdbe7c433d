// The program as a user sees it: a command line, an environment and a standard input go in; status and texts come out.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json.h"

namespace tessera::cli {

struct Ran {
  int status = 0;
  std::string out, err;

  /// What stands on stdout; null when that is no JSON.
  Json json() const;
  /// True when stderr is exactly one line that begins with "error: ".
  bool is_one_error_line() const;
};

struct Surroundings {
  std::string input = "";
  std::map<std::string, std::string> environment = {};  ///< set for this run only
};

/// Runs `tessera ARGUMENTS…` in this process. Log lines do not appear in `err`.
Ran run(std::vector<std::string> arguments, const Surroundings& surroundings = {});

/// Stdin of `explain --batch` and its answers, one each.
struct Answers {
  int status = 0;
  std::vector<Json> rows;
};
Answers explain_rows(const std::vector<std::string>& lines, const std::vector<std::string>& flags = {});

}  // namespace tessera::cli
