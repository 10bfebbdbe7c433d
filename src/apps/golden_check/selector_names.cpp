#include "apps/golden_check/selector_names.h"

#include <algorithm>
#include <set>

#include "base/strings.h"
#include "platform/presets.h"

namespace tessera::golden {
namespace {

using attention::Attempt;
using attention::BackendId;
using attention::Choice;
using attention::ChoiceKind;
using attention::Reason;

std::string upper(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return out;
}

bool is_enum_name(std::string_view lower) {
  if (lower == "fa" || lower == "dynamic_cudnn_sdpa") return true;
  static const std::set<std::string_view> ours = {"reference", "cpu_flash", "cpu_sage", "fa3", "fa4", "plugin"};
  return attention::backend_of(lower).has_value() && !ours.contains(lower);
}

std::optional<Choice> read_as_reference(std::string_view name, NameSource source) {
  std::string text(name);
  if (source == NameSource::Component) {
    text = strings::lower(strings::trim(text));
    if (text == "cudnn_sdpa") text = "torch_cudnn_sdpa";
  }
  if (source != NameSource::Bare && (text == "fa3" || text == "fa4")) text = "fa";
  text = strings::lower(text);
  if (!is_enum_name(text)) return std::nullopt;
  return enum_choice(text);
}

struct Code {
  BackendId backend;
  Reason reason;
  std::string_view code;
};

constexpr Code kCodes[] = {
    {BackendId::SageAttn, Reason::HeadDim, "sage_head_size"},
    {BackendId::SpargeAttn, Reason::CapabilityUnserved, "sparge_capability"},
    {BackendId::SpargeAttn, Reason::NotInstalled, "sparge_not_installed"},
    {BackendId::VideoSparseAttnH3, Reason::CapabilityUnserved, "vsa_h3_capability"},
    {BackendId::VideoSparseAttnH3, Reason::NotInstalled, "vsa_h3_not_importable"},
    {BackendId::HybridWindowAttnH3, Reason::CapabilityUnserved, "hybrid_window_capability"},
    {BackendId::HybridWindowAttnH3, Reason::NeedsFlash, "hybrid_window_needs_fa"},
    {BackendId::HybridWindowAttnH3, Reason::NotInstalled, "hybrid_window_not_importable"},
    {BackendId::CubeSparseAttn, Reason::NeedsFlash, "cube_needs_fa"},
    {BackendId::CubeSparseAttn, Reason::NotInstalled, "backend_module_not_importable"},
    {BackendId::SubblockSparseAttn, Reason::CapabilityUnserved, "subblock_capability"},
    {BackendId::SubblockSparseAttn, Reason::NotInstalled, "subblock_not_importable"},
    {BackendId::SlidingTileAttn, Reason::NotInstalled, "sliding_tile_not_installed"},
    {BackendId::VideoSparseAttn, Reason::NotInstalled, "vsa_not_installed"},
    {BackendId::SparseVideoGen2Attn, Reason::NotInstalled, "svg2_not_installed"},
    {BackendId::SolAttn, Reason::NotInstalled, "sol_not_installed"},
    {BackendId::VmobaAttn, Reason::NotInstalled, "vmoba_not_installed"},
    {BackendId::Fa2, Reason::NotInstalled, "module_not_found"},
    {BackendId::Aiter, Reason::NotInstalled, "backend_module_not_importable"},
    {BackendId::SlaAttn, Reason::NotInstalled, "backend_module_not_importable"},
    {BackendId::SageSlaAttn, Reason::NotInstalled, "backend_module_not_importable"},
};

}  // namespace

std::optional<Choice> read_name(std::string_view name, NameSource source, const World& world) {
  if (!world.has(Departure::Names)) return read_as_reference(name, source);
  const auto choice = attention::parse_choice(name);
  return choice ? std::optional(*choice) : std::nullopt;
}

Choice enum_choice(std::string_view name) {
  return attention::parse_choice(name).value();
}

std::string enum_name(BackendId backend, const Choice& via) {
  if (via.kind == ChoiceKind::DynamicCudnn) return "DYNAMIC_CUDNN_SDPA";
  const bool exactly_fa2 = via.kind == ChoiceKind::Backend && backend == BackendId::Fa2;
  const bool flash = backend == BackendId::Fa2 || backend == BackendId::Fa3 || backend == BackendId::Fa4;
  return flash && !exactly_fa2 ? "FA" : upper(attention::backend_name(backend));
}

std::string enum_name(const Choice& choice) {
  return enum_name(choice.backend, choice);
}

platform::DeviceProfile cuda_device(const Json& capability) {
  platform::DeviceProfile device = platform::preset("h100").value();
  device.name = "golden";
  device.sm = {capability.at(0).get<int>(), capability.at(1).get<int>()};
  return device;
}

void install(platform::DeviceProfile& device, const Json& packages, const Json& environment) {
  std::set<std::string> have;
  for (const Json& package : packages) have.insert(package.get<std::string>());
  std::vector<std::string> tokens = {"cudnn", "torch"};
  const auto add = [&](bool present, const char* token) {
    if (present) tokens.emplace_back(token);
  };
  const bool flash = have.contains("fa_backend");
  const bool sage_module = have.contains("sage_backend");
  add(flash, "flash3");
  add(flash, "flash4");
  add(have.contains("flash_attn"), "flash2");
  add(have.contains("sageattention") && sage_module, "sage");
  add(have.contains("sage_sm90_fix") && have.contains("sage_sm90_module"), "sage_sm90_fix");
  add(have.contains("sageattn3"), "sage3");
  add(have.contains("spas_sage_attn"), "sparge");
  for (const char* same :
       {"vsa", "st_attn", "svg", "sol_attn", "vmoba", "triton", "cutlass", "flashinfer", "aiter", "fa4_cute"}) {
    add(have.contains(same), same);
  }
  const std::string build = strings::lower(environment.value("SGLANG_USE_SAGE_ATTENTION_IMPL", ""));
  add(sage_module && (build == "trtllm_gen" || build == "trtllm-gen"), "sage_trtllm");
  platform::set_libraries(device, tokens);
}

std::string error_code(const Attempt& refused) {
  const Reason reason = refused.refused.value();
  for (const Code& row : kCodes) {
    if (row.backend == refused.backend && row.reason == reason) return std::string(row.code);
  }
  switch (reason) {
    case Reason::NeedsOtherPlatform:
    case Reason::NoKernel:
      return "backend_unknown_to_cuda";
    case Reason::CrossAttention:
      return "sparse_cannot_serve_cross";
    case Reason::Varlen:
      return "packed_varlen_missing";
    // A refused FlashAttention is torch SDPA to the reference, which then is not in the model's set.
    default:
      return "not_in_supported_set";
  }
}

bool ends_search(const Attempt& refused, const platform::DeviceProfile& device) {
  // Its package is the only thing that the reference looks for.
  if (refused.backend == BackendId::Fa2 && refused.via.kind == ChoiceKind::Backend) return !device.has("flash2");
  if (refused.refused == Reason::NeedsFlash) return true;
  if (refused.refused != Reason::NotInstalled) return false;
  // FlashAttention and the two Sage rows are replaced, every other missing package raises.
  switch (refused.backend) {
    case BackendId::Fa2:
    case BackendId::Fa3:
    case BackendId::Fa4:
    case BackendId::SageAttn:
    case BackendId::SageAttn3:
    case BackendId::Fp8FaSm120:
      return false;
    default:
      return true;
  }
}

bool unchecked_by_reference(const Attempt& refused) {
  const bool dynamic = refused.via.kind == ChoiceKind::DynamicCudnn;
  const bool exactly_fa2 = refused.backend == BackendId::Fa2 && refused.via.kind == ChoiceKind::Backend;
  const bool direct = dynamic || exactly_fa2 || refused.backend == BackendId::TorchCudnnSdpa ||
                      refused.backend == BackendId::SageAttn3 || refused.backend == BackendId::Fp8FaSm120 ||
                      refused.backend == BackendId::SageAttn;
  if (!direct) return false;
  switch (refused.refused.value()) {
    case Reason::Dtype:
      return true;
    case Reason::HeadDim:
      return refused.backend != BackendId::SageAttn;
    case Reason::CapabilityTooOld:
      return true;
    case Reason::CapabilityUnserved:
      return refused.backend != BackendId::Fp8FaSm120;
    case Reason::NotInstalled:
      return dynamic;
    default:
      return false;
  }
}

}  // namespace tessera::golden
