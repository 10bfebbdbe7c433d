// The identity of every attention backend: one enumerator per kernel family that a decision can name.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace tessera::attention {

/// One row of the catalog. `fa`, `auto` and `dynamic_cudnn_sdpa` are choices over rows (see selection.h), not rows.
enum class BackendId {
  Reference,
  CpuFlash,
  CpuSage,
  TorchSdpa,
  TorchCudnnSdpa,
  Fa2,
  Fa3,
  Fa4,
  SageAttn,
  SageAttn3,
  SpargeAttn,
  SlidingTileAttn,
  VideoSparseAttn,
  VideoSparseAttnH3,
  HybridWindowAttnH3,
  SparseVideoGen2Attn,
  VmobaAttn,
  Aiter,
  AiterSage,
  SlaAttn,
  SageSlaAttn,
  LaserAttn,
  BlockSparseAttn,
  RainFusionAttn,
  SolAttn,
  SubblockSparseAttn,
  CubeSparseAttn,
  Fp8FaSm120,
  Plugin,
  NoAttention,
};

/// Every backend, in the order of the enum.
std::span<const BackendId> all_backends();

/// The name of flags and JSON: "torch_cudnn_sdpa", "fa3", …
std::string_view backend_name(BackendId id);

/// The backend of exactly that lower-case name, no aliases (those are choices: parse_choice).
std::optional<BackendId> backend_of(std::string_view name);

}  // namespace tessera::attention
