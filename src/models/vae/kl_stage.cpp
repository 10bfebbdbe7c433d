#include "models/vae/kl_stage.h"

#include "models/vae/kl.h"
#include "pipeline/stage.h"

namespace tessera::models {

at::Tensor decode_kl_latents(const weights::PipelineFolder& folder, const KlConfig& vae, const at::Tensor& latents,
                             const pipeline::GenerateRequest& request, pipeline::Context& context) {
  const pipeline::Stage stage("decode", context, &pipeline::Timings::decode);
  // float16 overflows in autoencoders whose config asks for more range.
  const at::ScalarType dtype = context.dtype == at::kHalf && vae.force_upcast ? at::kFloat : context.dtype;
  const auto decoder = pipeline::load_component<KlDecoder>(
      folder, "vae", vae, {.dtype = dtype, .unused = {"encoder.", "quant_conv.", "post_quant_conv."}}, context);
  const at::Tensor z = (latents / vae.scaling_factor + vae.shift_factor).to(dtype);
  context.record("vae/decode/in", z);
  const at::Tensor image = decoder.decode(z, {.tiling = request.vae_tiling, .slicing = request.vae_slicing},
                                          pipeline::scope_of(context, "vae", "vae/decoder"));
  context.record("vae/decode/out", image);
  return image;
}

}  // namespace tessera::models
