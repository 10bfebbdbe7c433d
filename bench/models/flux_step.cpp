// Times calls of a Flux transformer (one denoise step without guidance calls), for flux_step.py.
// (Kept apart from the Google Benchmarks: the reference half is a Python script.)
// Usage: flux_step TRANSFORMER_FOLDER HEIGHT WIDTH TEXT_TOKENS RUNS THREADS; prints one JSON line.
#include "tensor/aten.h"

#include <chrono>
#include <cstdio>
#include <ctime>

#include "base/json.h"
#include "base/unwrap.h"
#include "models/flux/latents.h"
#include "models/flux/transformer.h"
#include "weights/checkpoint.h"
#include "weights/tensors.h"

namespace {

using namespace tessera;

models::FluxInputs make_inputs(const models::FluxConfig& config, int64_t rows, int64_t columns, int64_t text_tokens) {
  return {.hidden_states = at::randn({1, rows * columns, config.in_channels}),
          .timestep = at::full({1}, 0.5, at::kFloat),
          .guidance = config.guidance_embeds ? std::optional(at::full({1}, 3.5, at::kFloat)) : std::nullopt,
          .pooled_projections = at::randn({1, config.pooled_projection_dim}),
          .encoder_hidden_states = at::randn({1, text_tokens, config.joint_attention_dim}),
          .txt_ids = at::zeros({text_tokens, 3}),
          .img_ids = models::image_ids(rows, columns)};
}

int run(char** argv) {
  at::set_num_threads(std::stoi(argv[6]));
  const c10::InferenceMode inference;
  const std::filesystem::path folder = argv[1];
  const auto config = unwrap(models::parse_flux_config(unwrap(json::read_file(folder / "config.json"))));
  const auto map = unwrap(weights::to_weight_map(unwrap(weights::open_component(folder)), at::kFloat));
  const models::FluxTransformer transformer(map, config);
  const auto inputs = make_inputs(config, std::stoll(argv[2]) / 16, std::stoll(argv[3]) / 16, std::stoll(argv[4]));
  Json wall = Json::array();
  Json cpu = Json::array();
  for (int64_t i = 0; i < std::stoll(argv[5]); ++i) {
    const auto start = std::chrono::steady_clock::now();
    const std::clock_t cpu_start = std::clock();
    transformer.forward(inputs, {});
    cpu.push_back(static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC);
    wall.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::printf("%s\n", Json{{"wall", wall}, {"cpu", cpu}}.dump().c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fprintf(stderr, "usage: flux_step TRANSFORMER_FOLDER HEIGHT WIDTH TEXT_TOKENS RUNS THREADS\n");
    return 2;
  }
  try {
    return run(argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
