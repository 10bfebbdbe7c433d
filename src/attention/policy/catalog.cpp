#include "attention/policy/catalog.h"

#include "attention/policy/accept.h"
#include "attention/policy/known_bad.h"
#include "base/strings.h"

namespace tessera::attention {
namespace {

constexpr ErrorBound kExact[] = {{Quality::Exact, 0}};
// High: 13-bit integers, error at most 1.2x of bf16's own rounding. Fast: int8 queries and keys.
// Both were set as goals for the kernels on the data of the attention goldens; the conformance tests hold them to it.
constexpr ErrorBound kCpuFlash[] = {{Quality::Exact, 0}, {Quality::High, 4e-3}};
constexpr ErrorBound kCpuSage[] = {{Quality::Fast, 2e-2}};
// int8/fp8 and fp4 products on GPUs: the papers' own cosine and L1 tables (arXiv 2411.10958, 2505.11594).
constexpr ErrorBound kSage[] = {{Quality::Fast, 5e-2}};
constexpr ErrorBound kSage3[] = {{Quality::Fast, 1.5e-1}};
constexpr ErrorBound kSparse[] = {{Quality::Fast, 5e-1}};

BackendInfo row(BackendId id, decltype(BackendInfo::accepts) accepts, std::span<const ErrorBound> bounds,
                std::string_view library = "") {
  return {id, backend_name(id), bounds.data() == kSparse, false, library, bounds, accepts};
}

using enum BackendId;

std::vector<BackendInfo> make_rows() {
  std::vector<BackendInfo> rows = {
      row(Reference, accept_reference, kExact),
      row(CpuFlash, accept_cpu_flash, kCpuFlash),
      row(CpuSage, accept_cpu_sage, kCpuSage),
      row(TorchSdpa, accept_torch_sdpa, kExact),
      row(TorchCudnnSdpa, accept_torch_cudnn_sdpa, kExact, "cudnn"),
      row(Fa2, accept_fa2, kExact, "flash2"),
      row(Fa3, accept_fa3, kExact, "flash3"),
      row(Fa4, accept_fa4, kExact, "flash4"),
      row(SageAttn, accept_sage_attn, kSage, "sage"),
      row(SageAttn3, accept_sage_attn_3, kSage3, "sage3"),
      row(SpargeAttn, accept_sparge_attn, kSparse, "sparge"),
      row(SlidingTileAttn, accept_sliding_tile_attn, kSparse, "st_attn"),
      row(VideoSparseAttn, accept_video_sparse_attn, kSparse, "vsa"),
      row(VideoSparseAttnH3, accept_video_sparse_attn_h3, kSparse, "triton"),
      row(HybridWindowAttnH3, accept_hybrid_window_attn_h3, kSparse),
      row(SparseVideoGen2Attn, accept_sparse_video_gen_2_attn, kSparse, "svg"),
      row(VmobaAttn, accept_vmoba_attn, kSparse, "vmoba"),
      row(Aiter, accept_aiter, kExact, "aiter"),
      row(AiterSage, accept_rocm_only, kSage, "aiter"),
      row(SlaAttn, accept_sla_attn, kSparse, "triton"),
      row(SageSlaAttn, accept_sla_attn, kSparse, "triton"),
      row(LaserAttn, accept_ascend_only, kSparse),
      row(BlockSparseAttn, accept_ascend_only, kSparse),
      row(RainFusionAttn, accept_ascend_only, kSparse),
      row(SolAttn, accept_sol_attn, kSparse, "sol_attn"),
      row(SubblockSparseAttn, accept_subblock_sparse_attn, kSparse, "fa4_cute"),
      row(CubeSparseAttn, accept_cube_sparse_attn, kSparse),
      row(Fp8FaSm120, accept_fp8_fa_sm120, kSage, "cutlass"),
      row(Plugin, accept_plugin, kExact, "plugin"),
      row(NoAttention, accept_no_attention, kExact),
  };
  // As the reference logs them: a missing video package is an error in its log, a missing dense one is not.
  for (const BackendId id : {SlidingTileAttn, VideoSparseAttn, VideoSparseAttnH3, HybridWindowAttnH3,
                             SparseVideoGen2Attn, VmobaAttn, SolAttn, SubblockSparseAttn, Fp8FaSm120}) {
    rows[static_cast<std::size_t>(id)].loud_when_missing = true;
  }
  return rows;
}

}  // namespace

std::span<const BackendInfo> catalog() {
  static const std::vector<BackendInfo> rows = make_rows();
  return rows;
}

const BackendInfo& info(BackendId id) {
  return catalog()[static_cast<std::size_t>(id)];
}

Verdict accepts(BackendId id, const AttentionProblem& problem, const platform::DeviceProfile& device) {
  const BackendInfo& backend = info(id);
  if (!device.simulated && !device.built.contains(std::string(backend.name))) {
    return Verdict::refuse(Reason::NotBuilt, "is not in this build; see tessera doctor for what a build needs");
  }
  Verdict verdict = backend.accepts(problem, device);
  if (!verdict.accepted()) return verdict;
  if (const KnownBad* bad = find_known_bad(id, problem, device)) {
    return Verdict::refuse(Reason::KnownBad, strings::join(bad->what, " (", bad->report, "); ", bad->remedy));
  }
  return verdict;
}

double error_bound(BackendId id, Quality tier) {
  for (const ErrorBound& bound : info(id).bounds) {
    if (bound.tier == tier) return bound.l1_relative;
  }
  return 0;
}

std::optional<Quality> tier_for(BackendId id, Quality asked) {
  std::optional<Quality> best;
  for (const ErrorBound& bound : info(id).bounds) {
    // Bounds stand from the strictest to the loosest: the last one that is allowed is the fastest.
    if (bound.tier <= asked) best = bound.tier;
  }
  return best;
}

}  // namespace tessera::attention
