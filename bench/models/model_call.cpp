// Times single calls of a model's parts beside diffusers, for model_call.py: a denoise step of Qwen-Image or Wan, and
// the decoders of the autoencoders. Weights are fp32.
// Usage: model_call KIND COMPONENT_FOLDER FRAMES HEIGHT WIDTH TEXT_TOKENS RUNS THREADS; sizes are in latent cells.
#include "tensor/aten.h"

#include <chrono>
#include <cstdio>
#include <ctime>
#include <functional>

#include "base/json.h"
#include "base/unwrap.h"
#include "models/qwen_image/transformer.h"
#include "models/vae/kl.h"
#include "models/vae/wan.h"
#include "models/wan/transformer.h"
#include "weights/checkpoint.h"
#include "weights/tensors.h"

namespace {

using namespace tessera;

struct Size {
  int64_t frames, height, width, text_tokens;
};

/// A part that was loaded, ready to be called.
using Part = std::function<void()>;

struct Source {
  weights::WeightMap map;
  Json config;
};

Source open(const std::filesystem::path& folder) {
  return {unwrap(weights::to_weight_map(unwrap(weights::open_component(folder)), at::kFloat)),
          unwrap(json::read_file(folder / "config.json"))};
}

Part qwen_image(const Source& source, const Size& size) {
  const auto config = unwrap(models::parse_qwen_image_config(source.config));
  const auto model = std::make_shared<models::QwenImageTransformer>(source.map, config);
  const int64_t rows = size.height / 2;
  const int64_t columns = size.width / 2;
  const models::QwenImageInputs inputs{
      .hidden_states = at::randn({1, rows * columns, config.in_channels}),
      .encoder_hidden_states = at::randn({1, size.text_tokens, config.joint_attention_dim}),
      .timestep = at::full({1}, 0.5, at::kFloat),
      .rows = rows,
      .columns = columns};
  return [=] { model->forward(inputs, {}); };
}

Part wan(const Source& source, const Size& size) {
  const auto config = unwrap(models::parse_wan_config(source.config));
  const auto model = std::make_shared<models::WanTransformer>(source.map, config);
  const models::WanInputs inputs{
      .hidden_states = at::randn({1, config.in_channels, size.frames, size.height, size.width}),
      .timestep = at::full({1}, 500.0, at::kFloat),
      .encoder_hidden_states = at::randn({1, size.text_tokens, config.text_dim})};
  return [=] { model->forward(inputs, {}); };
}

Part wan_decoder(const Source& source, const Size& size) {
  const auto config = unwrap(models::parse_wan_vae_config(source.config));
  const auto model = std::make_shared<models::WanDecoder>(source.map, config);
  const at::Tensor z = at::randn({1, config.z_dim, size.frames, size.height, size.width});
  return [=] { model->decode(z, {}, [](const at::Tensor&, int64_t) {}); };
}

Part kl_decoder(const Source& source, const Size& size) {
  const auto config = unwrap(models::parse_kl_config(source.config));
  const auto model = std::make_shared<models::KlDecoder>(source.map, config);
  const at::Tensor z = at::randn({1, config.latent_channels, size.height, size.width});
  return [=] { model->decode(z, {}, {}); };
}

Part load(const std::string& kind, const Source& source, const Size& size) {
  if (kind == "qwen-image") return qwen_image(source, size);
  if (kind == "wan") return wan(source, size);
  if (kind == "wan-vae") return wan_decoder(source, size);
  if (kind == "kl-vae") return kl_decoder(source, size);
  throw std::invalid_argument("KIND is one of qwen-image, wan, wan-vae, kl-vae");
}

int run(char** argv) {
  at::set_num_threads(std::stoi(argv[8]));
  const c10::InferenceMode inference;
  const Size size{std::stoll(argv[3]), std::stoll(argv[4]), std::stoll(argv[5]), std::stoll(argv[6])};
  const Part part = load(argv[1], open(argv[2]), size);
  Json wall = Json::array();
  Json cpu = Json::array();
  for (int64_t i = 0; i < std::stoll(argv[7]); ++i) {
    const auto start = std::chrono::steady_clock::now();
    const std::clock_t cpu_start = std::clock();
    part();
    cpu.push_back(static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC);
    wall.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::printf("%s\n", Json{{"wall", wall}, {"cpu", cpu}}.dump().c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 9) {
    std::fprintf(stderr, "usage: model_call KIND FOLDER FRAMES HEIGHT WIDTH TEXT_TOKENS RUNS THREADS\n");
    return 2;
  }
  try {
    return run(argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
