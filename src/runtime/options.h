// How a model is to be run, as texts from flags, environment or an embedding program.
#pragma once

#include <string>

namespace tessera::runtime {

/// Spellings as in `tessera generate --help`; empty texts mean "not asked".
struct RuntimeOptions {
  std::string model = "demo";     ///< a folder, or "demo"
  std::string device = "auto";    ///< auto | cpu | cuda[:N]
  std::string dtype = "auto";     ///< auto | fp32 | bf16 | fp16
  std::string quality = "exact";  ///< exact | high | fast
  int threads = 0;                ///< 0: all that the machine has
  std::string attention_backend;
  std::string attention_backend_origin = "flag";  ///< flag | environment | config | recipe, for the report
  std::string component_attention_backends;
  std::string component_attention_backends_origin = "flag";
  std::string attention_canary;  ///< off | first | always
  std::string inject;            ///< BACKEND:FAULT@CALL, only with TESSERA_ALLOW_INJECT=1
};

}  // namespace tessera::runtime
