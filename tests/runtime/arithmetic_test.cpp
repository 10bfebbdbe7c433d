#include "runtime/arithmetic.h"

#include <gtest/gtest.h>

#include "kernels/linear/linear.h"
#include "runtime/generator.h"

namespace tessera::runtime {
namespace {

using kernels::Isa;
using weights::LinearTier;

Arithmetic chosen(const ArithmeticQuestion& question) {
  return choose_arithmetic(question).value();
}

}  // namespace

TEST(Arithmetic, AutoIsFloat32OnCpusAndBfloat16OnGpus) {
  EXPECT_EQ(chosen({}).dtype, at::kFloat);
  EXPECT_EQ(chosen({.on_cpu = false}).dtype, at::kBFloat16);
  EXPECT_EQ(chosen({.dtype = "fp16"}).dtype, at::kHalf);
}

TEST(Arithmetic, QualityReachesTheLinearsWhereIntegersPay) {
  EXPECT_EQ(chosen({.linear_isa = Isa::Avx512Vnni}).linears, LinearTier::Exact);
  EXPECT_EQ(chosen({.quality = "high", .linear_isa = Isa::Avx512Vnni}).linears, LinearTier::High);
  EXPECT_EQ(chosen({.quality = "fast", .linear_isa = Isa::AvxVnni}).linears, LinearTier::Fast);
  const Arithmetic without = chosen({.quality = "fast"});
  EXPECT_EQ(without.linears, LinearTier::Exact);
  EXPECT_NE(without.reason.find("without VNNI"), std::string::npos) << without.reason;
  EXPECT_EQ(chosen({.quality = "fast", .on_cpu = false}).linears, LinearTier::Exact);
}

TEST(Arithmetic, WordsThatNoFlagTakesAreWrongUsage) {
  EXPECT_EQ(choose_arithmetic({.dtype = "int3"}).error().code, ErrorCode::Usage);
  EXPECT_EQ(choose_arithmetic({.quality = "best"}).error().code, ErrorCode::Usage);
}

namespace {

/// Peak signal-to-noise ratio of two uint8 pictures.
double psnr(const at::Tensor& a, const at::Tensor& b) {
  const double mse = (a.to(at::kDouble) - b.to(at::kDouble)).square().mean().item<double>();
  return 10 * std::log10(255.0 * 255.0 / mse);
}

at::Tensor demo_picture(const std::string& prompt, const std::string& quality) {
  auto generator = Generator::open({.model = TESSERA_SOURCE_DIR "/demo-model/model", .quality = quality});
  pipeline::GenerateRequest request;
  request.prompt = prompt;
  request.seed = 1;
  auto made = generator->run(generator->complete(request).value(), {});
  return made.value().media.frames;
}

}  // namespace

TEST(Quality, FastAndHighPicturesOfTheDemoModelStayCloseToExactOnes) {
  if (kernels::linear_isa() == Isa::Auto) GTEST_SKIP() << "no integer linears on this processor";
  for (const char* prompt : {"a fox on a blue background", "red apple", "a rocket on a green background"}) {
    const at::Tensor exact = demo_picture(prompt, "exact");
    const at::Tensor fast = demo_picture(prompt, "fast"), high = demo_picture(prompt, "high");
    EXPECT_GT(psnr(exact, fast), 30) << prompt;
    EXPECT_GT(psnr(exact, high), 40) << prompt;
    EXPECT_FALSE(at::equal(exact, fast) || at::equal(exact, high)) << prompt << ": nothing was done in integers";
  }
}

}  // namespace tessera::runtime
