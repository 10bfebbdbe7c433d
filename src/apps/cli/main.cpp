// The program `tessera`.
#include <cstdio>
#include <exception>

#include "apps/cli/program.h"

int main(int argc, char** argv) {
  try {
    return tessera::cli::run_program(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: cannot start (%s)\n", e.what());
    return 1;
  }
}
