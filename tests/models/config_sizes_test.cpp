// Configs with sizes that no model can have are refused by name, in every family.
#include "models/config_sizes.h"

#include <gtest/gtest.h>

#include "models/flux/config.h"
#include "models/qwen_image/config.h"
#include "models/text/clip.h"
#include "models/text/qwen_lm.h"
#include "models/text/t5.h"
#include "models/vae/kl_config.h"
#include "models/vae/wan_config.h"
#include "models/wan/config.h"
#include "models/z_image/config.h"

namespace tessera::models {
namespace {

template <typename Parse>
void refuses(const Parse& parse, const char* field, const Json& value) {
  const auto config = parse(Json{{field, value}});
  ASSERT_FALSE(config.has_value()) << field << " " << value.dump();
  EXPECT_EQ(config.error().code, ErrorCode::BadFile);
  EXPECT_NE(config.error().line().find(field), std::string::npos) << config.error().line();
}

TEST(ConfigSizes, ANegativeSizeIsRefusedInEveryFamily) {
  for (const int64_t heads : {-2, -1, 0}) {
    refuses(parse_flux_config, "num_attention_heads", heads);
    refuses(parse_qwen_image_config, "num_attention_heads", heads);
    refuses(parse_wan_config, "num_attention_heads", heads);
    refuses(parse_z_image_config, "n_heads", heads);
    refuses(parse_clip_config, "num_attention_heads", heads);
    refuses(parse_qwen_lm_config, "num_key_value_heads", heads);
    refuses(parse_t5_config, "num_heads", heads);
    refuses(parse_kl_config, "latent_channels", heads);
    refuses(parse_wan_vae_config, "base_dim", heads);
  }
}

TEST(ConfigSizes, EntriesOfListsAndCountsOfLayersAreJudgedToo) {
  refuses(parse_flux_config, "axes_dims_rope", {-16, 72, 72});
  refuses(parse_kl_config, "block_out_channels", {128, 0});
  refuses(parse_flux_config, "num_layers", -1);
  refuses(parse_t5_config, "d_model", int64_t{1} << 62);
  refuses(parse_t5_config, "d_model", UINT64_MAX);
  refuses(parse_t5_config, "num_layers", 1'000'000'000);
  EXPECT_TRUE(parse_flux_config(Json{{"num_layers", 0}, {"out_channels", nullptr}}).has_value());
}

TEST(ConfigSizes, PositionBucketsNeedAPartForSingleDistances) {
  refuses(parse_t5_config, "relative_attention_num_buckets", 1);
  refuses(parse_t5_config, "relative_attention_num_buckets", 3);
  refuses(parse_t5_config, "relative_attention_max_distance", 8);  // the 32 buckets give the first 8 to single ones
  EXPECT_TRUE(parse_t5_config(Json{{"relative_attention_max_distance", 9}}).has_value());
}

}  // namespace
}  // namespace tessera::models
