// Image-to-video with two transformers that see the given frame beside the latents (Wan 2.2 I2V A14B), against
// diffusers. The experts are made of the one transformer of the golden model; tests/golden/modules/make_modules.py
// makes the same two.
#include <gtest/gtest.h>

#include "base/json.h"
#include "tests/models/golden_data.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temporary_folder.h"

namespace tessera::models {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kLatents = 48;
constexpr int64_t kInputs = 2 * kLatents + 4;  // noise, mask, image

/// A weight file with one float32 tensor after another.
std::string weight_file(const std::map<std::string, at::Tensor>& tensors) {
  Json header = Json::object();
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor dense = tensor.contiguous();
    const size_t begin = data.size();
    data.append(static_cast<const char*>(dense.const_data_ptr()), dense.nbytes());
    header[name] = {{"dtype", "F32"}, {"shape", dense.sizes().vec()}, {"data_offsets", {begin, data.size()}}};
  }
  return test::safetensors_bytes(header.dump(), data);
}

/// A model folder like the golden one, with two experts of `kInputs` channels.
class A14bImageToVideo : public ::testing::Test {
 protected:
  A14bImageToVideo() {
    for (const char* part : {"scheduler", "text_encoder", "tokenizer", "vae"}) {
      fs::create_directory_symlink(source_ / part, folder_ / part);
    }
    Json index = unwrap(json::read_file(source_ / "model_index.json"));
    index["expand_timesteps"] = false;
    index["boundary_ratio"] = 0.9;
    index["transformer_2"] = index["transformer"];
    test::write_file(folder_ / "model_index.json", index.dump());
    write_expert("transformer", 0.5, -1);
    write_expert("transformer_2", -0.5, 0.5);
  }

  /// The golden transformer, whose patches also see the mask and the given frame, with these factors.
  void write_expert(const std::string& name, double mask, double image) {
    fs::create_directory(folder_ / name);
    Json config = unwrap(json::read_file(source_ / "transformer" / "config.json"));
    config["in_channels"] = kInputs;
    test::write_file(folder_ / (name + "/config.json"), config.dump());
    const auto stored = unwrap(weights::open_component(source_ / "transformer"));
    std::map<std::string, at::Tensor> tensors;
    for (const auto& [key, value] : stored.tensors) tensors[key] = unwrap(weights::map_tensor(value, key));
    const at::Tensor w = tensors["patch_embedding.weight"];
    tensors["patch_embedding.weight"] = at::cat({w, w.slice(1, 0, 4) * mask, w * image}, 1);
    test::write_file(folder_ / (name + "/diffusion_pytorch_model.safetensors"), weight_file(tensors));
  }

  fs::path source_ = golden("pipelines/wan2.2-ti2v-i2v-small") / "model";
  test::TemporaryFolder folder_;
};

pipeline::GenerateRequest request_of_the_reference() {
  pipeline::GenerateRequest request{.prompt = "a robot beside a bottle", .negative_prompt = "dark, noisy photo"};
  request.height = 64;
  request.width = 32;
  request.num_frames = 5;
  request.num_inference_steps = 4;
  request.guidance_scale = 3.5;
  request.guidance_scale_2 = 2.5;
  request.max_sequence_length = 16;
  request.seed = 41;
  const at::Tensor ramp = at::arange(64 * 32 * 3, at::kLong) * 7 % 256;
  request.image = ramp.view({64, 32, 3}).to(at::kByte);
  return request;
}

}  // namespace

TEST_F(A14bImageToVideo, LatentsAgreeWithTheReference) {
  MapTrace trace;
  pipeline::Context context{.trace = &trace};
  const auto media = generate(folder_.path(), request_of_the_reference(), context);
  const auto want = golden_tensors("wan_a14b_i2v");
  EXPECT_LT(deviation(trace.kept.at("step3/latents"), want.get("latents", {1, kLatents, 2, 4, 2})), 5e-4);
  EXPECT_TRUE(trace.kept.contains("step0/cond/out") && trace.kept.contains("step3/cond/out"));
  EXPECT_EQ(media.frames.sizes(), (std::vector<int64_t>{5, 64, 32, 3}));
}

TEST_F(A14bImageToVideo, AnExpertThatSeesOtherChannelsIsABadFile) {
  Json config = unwrap(json::read_file(folder_ / "transformer_2/config.json"));
  config["in_channels"] = kLatents;
  test::write_file(folder_ / "transformer_2/config.json", config.dump());
  const auto model = open_pipeline(folder_.path());
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, ErrorCode::BadFile);
  EXPECT_NE(model.error().line().find("input channels"), std::string::npos) << model.error().line();
}

}  // namespace tessera::models
