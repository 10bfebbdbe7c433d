#include "models/vae/kl.h"

#include <gtest/gtest.h>

#include "tests/models/golden_data.h"

namespace tessera::models {
namespace {

KlConfig golden_config() {
  return unwrap(parse_kl_config(unwrap(json::read_file(flux_model() / "vae" / "config.json"))));
}

weights::WeightMap golden_weights() {
  return unwrap(weights::to_weight_map(unwrap(weights::open_component(flux_model() / "vae")), std::nullopt));
}

}  // namespace

TEST(KlDecoder, TilesAndSlicesBlendAsInDiffusers) {
  const c10::InferenceMode inference;
  KlConfig config = golden_config();
  config.sample_size = 64;  // tiles of 8x8 cells for latents of 12x9
  const KlDecoder decoder(golden_weights(), config);
  const weights::WeightMap want = golden_tensors("vae_tiling");
  const at::Tensor z = want.get("z", {2, 16, 12, 9});
  EXPECT_LT(deviation(decoder.decode(z, {}, {}), want.get("whole", {2, 3, 96, 72})), 5e-4);
  EXPECT_LT(deviation(decoder.decode(z, {.tiling = true, .slicing = true}, {}), want.get("tiled", {2, 3, 96, 72})),
            5e-4);
  EXPECT_GT(deviation(want.get("tiled", {2, 3, 96, 72}), want.get("whole", {2, 3, 96, 72})), 0.05);
}

TEST(KlConfig, UnknownBlocksAndUnevenGroupsAreRefused) {
  const auto attention_block = parse_kl_config(Json{{"up_block_types", {"AttnUpDecoderBlock2D"}}});
  ASSERT_FALSE(attention_block);
  EXPECT_EQ(attention_block.error().code, ErrorCode::Unsupported);
  const auto uneven = parse_kl_config(Json{{"block_out_channels", {30}}, {"norm_num_groups", 8}});
  ASSERT_FALSE(uneven);
  EXPECT_EQ(uneven.error().code, ErrorCode::BadFile);
}

TEST(KlTiling, SizesFollowTheConfig) {
  KlConfig config;
  config.block_out_channels = {8, 8, 8, 8};
  config.sample_size = 1024;
  const KlTiling tiling = kl_tiling(config);
  EXPECT_EQ(tiling.latent_size, 128);
  EXPECT_EQ(tiling.latent_stride, 96);
  EXPECT_EQ(tiling.blend_extent, 256);
  EXPECT_EQ(tiling.row_limit(), 768);
}

}  // namespace tessera::models
