#include "attention/policy/backend_id.h"

#include <array>

namespace tessera::attention {
namespace {

struct Name {
  BackendId id;
  std::string_view name;
};

constexpr Name kNames[] = {
    {BackendId::Reference, "reference"},
    {BackendId::CpuFlash, "cpu_flash"},
    {BackendId::CpuSage, "cpu_sage"},
    {BackendId::TorchSdpa, "torch_sdpa"},
    {BackendId::TorchCudnnSdpa, "torch_cudnn_sdpa"},
    {BackendId::Fa2, "fa2"},
    {BackendId::Fa3, "fa3"},
    {BackendId::Fa4, "fa4"},
    {BackendId::SageAttn, "sage_attn"},
    {BackendId::SageAttn3, "sage_attn_3"},
    {BackendId::SpargeAttn, "sparge_attn"},
    {BackendId::SlidingTileAttn, "sliding_tile_attn"},
    {BackendId::VideoSparseAttn, "video_sparse_attn"},
    {BackendId::VideoSparseAttnH3, "video_sparse_attn_h3"},
    {BackendId::HybridWindowAttnH3, "hybrid_window_attn_h3"},
    {BackendId::SparseVideoGen2Attn, "sparse_video_gen_2_attn"},
    {BackendId::VmobaAttn, "vmoba_attn"},
    {BackendId::Aiter, "aiter"},
    {BackendId::AiterSage, "aiter_sage"},
    {BackendId::SlaAttn, "sla_attn"},
    {BackendId::SageSlaAttn, "sage_sla_attn"},
    {BackendId::LaserAttn, "laser_attn"},
    {BackendId::BlockSparseAttn, "block_sparse_attn"},
    {BackendId::RainFusionAttn, "rain_fusion_attn"},
    {BackendId::SolAttn, "sol_attn"},
    {BackendId::SubblockSparseAttn, "subblock_sparse_attn"},
    {BackendId::CubeSparseAttn, "cube_sparse_attn"},
    {BackendId::Fp8FaSm120, "fp8_fa_sm120"},
    {BackendId::Plugin, "plugin"},
    {BackendId::NoAttention, "no_attention"},
};

constexpr auto kIds = [] {
  std::array<BackendId, std::size(kNames)> ids{};
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = kNames[i].id;
  return ids;
}();

constexpr bool in_enum_order() {
  for (std::size_t i = 0; i < kIds.size(); ++i) {
    if (static_cast<std::size_t>(kIds[i]) != i) return false;
  }
  return kIds.back() == BackendId::NoAttention;
}
static_assert(in_enum_order(), "kNames must list every BackendId in the order of the enum");

}  // namespace

std::span<const BackendId> all_backends() {
  return kIds;
}

std::string_view backend_name(BackendId id) {
  return kNames[static_cast<std::size_t>(id)].name;
}

std::optional<BackendId> backend_of(std::string_view name) {
  for (const Name& row : kNames) {
    if (row.name == name) return row.id;
  }
  return std::nullopt;
}

}  // namespace tessera::attention
