// Times calls of a Flux transformer (one denoise step without guidance calls), for flux_step.py.
// (Kept apart from the Google Benchmarks: the reference half is a Python script.)
// Usage: flux_step TRANSFORMER_FOLDER INPUTS.safetensors DTYPE QUALITY RUNS THREADS OUTPUT; prints one JSON line and
// writes the result of the call as raw float32.
#include "tensor/aten.h"

#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>

#include "base/json.h"
#include "base/unwrap.h"
#include "kernels/linear/linear.h"
#include "models/flux/transformer.h"
#include "residency/process_memory.h"
#include "runtime/arithmetic.h"
#include "runtime/attention_options.h"
#include "weights/checkpoint.h"
#include "weights/tensors.h"

namespace {

using namespace tessera;

models::FluxInputs read_inputs(const char* path, at::ScalarType dtype) {
  const auto map = unwrap(weights::to_weight_map(unwrap(weights::open_file(path)), at::kFloat));
  models::FluxInputs in{.hidden_states = map.get("hidden_states", {1, -1, -1}).to(dtype),
                        .timestep = map.get("timestep", {1}),
                        .guidance = {},
                        .pooled_projections = map.get("pooled_projections", {1, -1}).to(dtype),
                        .encoder_hidden_states = map.get("encoder_hidden_states", {1, -1, -1}).to(dtype),
                        .txt_ids = map.get("txt_ids", {-1, 3}),
                        .img_ids = map.get("img_ids", {-1, 3})};
  in.guidance = map.find("guidance", {1});
  return in;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Load time, peak memory, and the wall and processor seconds of each call.
Json run(char** argv) {
  at::set_num_threads(std::stoi(argv[6]));
  const c10::InferenceMode inference;
  const auto begin = std::chrono::steady_clock::now();
  const std::filesystem::path folder = argv[1];
  const auto config = unwrap(models::parse_flux_config(unwrap(json::read_file(folder / "config.json"))));
  const runtime::Arithmetic arithmetic =
      unwrap(runtime::choose_arithmetic({.dtype = argv[3], .quality = argv[4], .linear_isa = kernels::linear_isa()}));
  const at::ScalarType dtype = arithmetic.dtype;
  const auto map = unwrap(weights::to_weight_map(unwrap(weights::open_component(folder)), dtype));
  const models::FluxTransformer transformer(map.with_linears(arithmetic.linears), config);
  const double load = seconds_since(begin);
  const auto engine =
      attention::make_engine(unwrap(runtime::attention_options({.device = "cpu", .quality = argv[4]}, at::kCPU)));
  const nn::Scope scope{.engine = engine.get(), .component = "transformer"};
  const auto inputs = read_inputs(argv[2], dtype);
  Json wall = Json::array(), cpu = Json::array();
  at::Tensor out;
  for (int64_t i = 0; i < std::stoll(argv[5]); ++i) {
    const auto start = std::chrono::steady_clock::now();
    const std::clock_t cpu_start = std::clock();
    out = transformer.forward(inputs, scope);
    cpu.push_back(static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC);
    wall.push_back(seconds_since(start));
  }
  out = out.to(at::kFloat).contiguous();
  std::ofstream(argv[7], std::ios::binary)
      .write(static_cast<const char*>(out.const_data_ptr()), static_cast<std::streamsize>(out.nbytes()));
  return {{"wall", wall},
          {"cpu", cpu},
          {"load", load},
          {"peak_bytes", residency::peak_resident_bytes()},
          {"isa", kernels::isa_name(unwrap(kernels::active_isa()))}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 8) {
    std::fprintf(stderr, "usage: flux_step FOLDER INPUTS DTYPE QUALITY RUNS THREADS OUTPUT\n");
    return 2;
  }
  try {
    std::printf("%s\n", run(argv).dump().c_str());
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
