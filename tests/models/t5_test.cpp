#include "models/text/t5.h"

#include <gtest/gtest.h>

#include "tests/models/golden_data.h"

namespace tessera::models {
namespace {

Json config(const char* type, const char* feed_forward) {
  return {{"model_type", type}, {"vocab_size", 50}, {"d_model", 16},  {"d_kv", 8},
          {"d_ff", 32},         {"num_layers", 2},  {"num_heads", 2}, {"feed_forward_proj", feed_forward}};
}

}  // namespace

TEST(T5Encoder, EqualsTransformersWithAndWithoutPadding) {
  const c10::InferenceMode inference;
  const struct {
    const char *file, *type, *feed_forward;
  } cases[] = {{"t5_relu", "t5", "relu"}, {"umt5_gated", "umt5", "gated-gelu"}};
  for (const auto& c : cases) {
    const weights::WeightMap data = golden_tensors(c.file);
    const T5Encoder encoder(data.sub("weights"), unwrap(parse_t5_config(config(c.type, c.feed_forward))));
    const at::Tensor ids = data.get("ids", {2, 150});
    EXPECT_LT(deviation(encoder.forward(ids, std::nullopt, {}), data.get("out", {2, 150, 16})), 1e-4) << c.file;
    const at::Tensor masked = encoder.forward(ids, std::vector<int64_t>{40, 150}, {});
    EXPECT_LT(deviation(masked, data.get("masked_out", {2, 150, 16})), 1e-4) << c.file;
  }
}

TEST(T5Encoder, AnIdOutsideTheVocabularyIsABadFile) {
  const weights::WeightMap data = golden_tensors("t5_relu");
  const T5Encoder encoder(data.sub("weights"), unwrap(parse_t5_config(config("t5", "relu"))));
  try {
    encoder.forward(at::full({1, 3}, 50, at::kLong), std::nullopt, {});
    FAIL() << "id 50 of 50 tokens was taken";
  } catch (const RuntimeFault& fault) {
    EXPECT_EQ(fault.error.code, ErrorCode::BadFile);
  }
}

TEST(T5Encoder, AnUnknownActivationIsUnsupported) {
  const auto parsed = parse_t5_config(config("t5", "gated-softmoo"));
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, ErrorCode::Unsupported);
}

}  // namespace tessera::models
