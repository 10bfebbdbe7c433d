// A plugin that is broken in the one way that its BROKEN_… definition names; everything else about it is right.
#include <cstdlib>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "attention/plugin/plugin_abi.h"

namespace {

#ifdef BROKEN_CRASHES_ON_LOAD
[[maybe_unused]] const int kCrash = (std::abort(), 0);
#endif
#ifdef BROKEN_EXITS_ON_LOAD
[[maybe_unused]] const int kExit = (std::_Exit(0), 0);
#endif

const char* accepts(const char*) {
  return nullptr;
}

[[maybe_unused]] void fill(const tessera_tensor_v1& t, float value) {
  int64_t count = 1;
  for (int32_t i = 0; i < t.ndim; ++i) count *= t.shape[i];
  for (int64_t i = 0; i < count; ++i) static_cast<float*>(t.data)[i] = value;
}

tessera_plugin_status run(const tessera_attention_call_v1* call, char* error, size_t error_bytes) {
#if defined(BROKEN_THROWS)
  throw std::runtime_error("this kernel throws");
#elif defined(BROKEN_WRITES_NAN)
  fill(*call->out, std::numeric_limits<float>::quiet_NaN());
#elif defined(BROKEN_OUT_OF_MEMORY)
  std::strncpy(error, "no room for the workspace", error_bytes);
  return TESSERA_PLUGIN_OUT_OF_MEMORY;
#elif defined(BROKEN_UNSUPPORTED)
  std::strncpy(error, "not today", error_bytes);
  return TESSERA_PLUGIN_UNSUPPORTED;
#elif defined(BROKEN_FAILS_WITHOUT_TEXT)
  return TESSERA_PLUGIN_FAILED;
#endif
  (void)call, (void)error, (void)error_bytes;
  return TESSERA_PLUGIN_OK;
}

}  // namespace

#ifndef BROKEN_MISSING_SYMBOL
const tessera_attention_plugin* tessera_attention_plugin_v1(void) {
  static tessera_attention_plugin table = {
      TESSERA_ATTENTION_PLUGIN_ABI, sizeof(tessera_attention_plugin), "broken", "0.1", accepts, run};
#if defined(BROKEN_WRONG_VERSION)
  table.abi_version = 99;
#elif defined(BROKEN_SMALL_TABLE)
  table.struct_bytes = 16;
#elif defined(BROKEN_NO_NAME)
  table.name = "";
#elif defined(BROKEN_NO_FUNCTION)
  table.run = nullptr;
#elif defined(BROKEN_NULL_TABLE)
  return nullptr;
#elif defined(BROKEN_THROWS_ON_LOAD)
  throw std::runtime_error("no licence found");
#endif
  return &table;
}
#endif
