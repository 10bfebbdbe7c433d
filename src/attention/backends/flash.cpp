#include "attention/backends/flash.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>

#include <ATen/Context.h>
#include <ATen/ops/_flash_attention_forward.h>
#include <c10/core/DeviceGuard.h>

#include "attention/backends/cuda_call.h"
#include "attention/backends/operator_call.h"
#include "attention/segments.h"
#include "base/env.h"
#include "base/strings.h"

namespace tessera::attention {
namespace {

Error refused(std::string what) {
  return {ErrorCode::Unsupported, "FlashAttention " + std::move(what), "another backend serves this problem"};
}

}  // namespace

std::optional<Error> flash_refusal(const AttentionInputs& in) {
  const bool square = in.packed ? std::ranges::equal(in.packed->query_bounds, in.packed->key_bounds)
                                : in.query.size(1) == in.key.size(1);
  if (in.causal == Causal::TopLeft && !square) {
    return refused("aligns causal masks to the bottom right corner");
  }
  if (std::holds_alternative<BoolMask>(in.mask) || std::holds_alternative<AdditiveMask>(in.mask)) {
    return refused("takes no dense mask");
  }
  if (in.causal != Causal::None && std::holds_alternative<KeyLengths>(in.mask)) {
    return refused("begins a causal triangle at each row's last key, not at the last of all keys");
  }
  for (const auto& [name, tensor] : {std::pair("query", in.query), {"key", in.key}, {"value", in.value}}) {
    if (auto text = misaligned_rows(name, tensor)) return refused("reads 16 bytes at a time, and " + *text);
  }
  return std::nullopt;
}

namespace {

/// The problem as the kernels get it. Lengths that are all equal are cut off first, then what is left is judged.
Result<AttentionInputs> accepted(const AttentionInputs& inputs) {
  AttentionInputs in = without_equal_lengths(inputs);
  if (auto refusal = flash_refusal(in)) return fail(std::move(*refusal));
  return in;
}

/// [0, step, 2 step, …]: dense batch rows as packed segments, for the kernels that take lengths.
at::Tensor segment_bounds(int64_t rows, int64_t step, at::Device device) {
  return at::arange(0, (rows + 1) * step, std::max<int64_t>(step, 1),
                    at::TensorOptions().dtype(at::kInt).device(device));
}

/// The host's bounds as the kernels read them.
at::Tensor device_bounds(std::span<const int64_t> bounds, at::Device device) {
  const at::Tensor host = at::empty({static_cast<int64_t>(bounds.size())}, at::kInt);
  std::ranges::transform(bounds, host.mutable_data_ptr<int>(), [](int64_t n) { return static_cast<int>(n); });
  return host.to(device);
}

int64_t longest(std::span<const int64_t> bounds) {
  int64_t most = 0;
  for (size_t i = 1; i < bounds.size(); ++i) most = std::max(most, bounds[i] - bounds[i - 1]);
  return most;
}

at::Tensor packed(const at::Tensor& t) {
  return t.reshape({t.size(0) * t.size(1), t.size(2), t.size(3)});  // [B * S, H, D]
}

/// Kernels give [B, H, Sq], or [H, B * Sq] for packed rows.
void write(const at::Tensor& out, const at::Tensor& lse, const AttentionOutputs& outputs) {
  outputs.out.copy_(out.view(outputs.out.sizes()));
  if (!outputs.lse.defined()) return;
  const int64_t batch = outputs.lse.size(0), heads = outputs.lse.size(1), queries = outputs.lse.size(2);
  if (lse.dim() == 2) {
    outputs.lse.copy_(lse.reshape({heads, batch, queries}).transpose(0, 1));
    return;
  }
  outputs.lse.copy_(lse.narrow(2, 0, queries));  // some versions pad the rows
}

/// Only the tokens that belong to a sequence.
AttentionInputs used_tokens(const AttentionInputs& in) {
  AttentionInputs used = in;
  used.query = in.query.narrow(1, 0, in.packed->query_bounds.back());
  used.key = in.key.narrow(1, 0, in.packed->key_bounds.back());
  used.value = in.value.narrow(1, 0, in.packed->key_bounds.back());
  return used;
}

/// Queries that causality from the bottom right or a sequence without keys leaves without any key.
void clear_dead_rows_of_segments(const AttentionInputs& in, const AttentionOutputs& outputs) {
  const auto& [query_bounds, key_bounds] = *in.packed;
  for (size_t i = 0; i + 1 < query_bounds.size(); ++i) {
    const int64_t rows = query_bounds[i + 1] - query_bounds[i];
    const int64_t keys = key_bounds[i + 1] - key_bounds[i];
    const int64_t dead = keys == 0 ? rows : in.causal == Causal::BottomRight ? std::max<int64_t>(rows - keys, 0) : 0;
    if (dead == 0) continue;
    fill_empty(rows_of(outputs, query_bounds[i], dead));
  }
}

}  // namespace

Status Flash2Backend::run_packed(const AttentionInputs& inputs, const AttentionOutputs& outputs) {
  if (auto refusal = flash_refusal(inputs)) return fail(*refusal);
  if (is_capturing(inputs.query)) return not_in_capture("a copy of the bounds of packed sequences");
  const c10::DeviceGuard guard(inputs.query.device());
  const AttentionInputs in = used_tokens(inputs);
  const at::Device device = in.query.device();
  const int64_t used = in.query.size(1);
  clear_after_segments(*inputs.packed, outputs);
  const auto& [query_bounds, key_bounds] = *inputs.packed;
  if (used == 0) return {};
  const AttentionOutputs target = rows_of(outputs, 0, used);
  if (longest(key_bounds) == 0) {
    fill_empty(target);
    return {};
  }
  const auto result = at::_flash_attention_forward(
      packed(in.query), packed(in.key), packed(in.value), device_bounds(query_bounds, device),
      device_bounds(key_bounds, device), longest(query_bounds), longest(key_bounds), 0.0, in.causal != Causal::None,
      false, in.scale);
  write(std::get<0>(result), std::get<1>(result), target);
  clear_dead_rows_of_segments(inputs, outputs);
  return {};
}

Status Flash2Backend::run(const AttentionInputs& inputs, const AttentionOutputs& outputs, Quality tier) {
  if (!inputs.query.is_cuda()) return fail(refused("runs on CUDA devices"));
  if (inputs.packed && std::holds_alternative<std::monostate>(inputs.mask)) return run_packed(inputs, outputs);
  if (inputs.packed) {
    return run_by_segments(*this, inputs, outputs, tier);
  }
  TESSERA_TRY(const AttentionInputs in, accepted(inputs));
  const c10::DeviceGuard guard(in.query.device());
  const bool causal = in.causal != Causal::None;
  const int64_t batch = in.query.size(0), seq_q = in.query.size(1), seq_kv = in.key.size(1);
  if (const auto* lengths = std::get_if<KeyLengths>(&in.mask)) {
    const at::Device device = in.query.device();
    TESSERA_TRY(const at::Tensor used, lengths_.on(*lengths, device, is_capturing(in.query)));
    const auto result =
        at::_flash_attention_forward(packed(in.query), packed(in.key), packed(in.value),
                                     segment_bounds(batch, seq_q, device), segment_bounds(batch, seq_kv, device), seq_q,
                                     seq_kv, 0.0, causal, false, in.scale, std::nullopt, std::nullopt, used);
    write(std::get<0>(result), std::get<1>(result), outputs);
  } else {
    const auto result = at::_flash_attention_forward(in.query, in.key, in.value, std::nullopt, std::nullopt, seq_q,
                                                     seq_kv, 0.0, causal, false, in.scale);
    write(std::get<0>(result), std::get<1>(result), outputs);
  }
  clear_dead_rows(in, outputs);
  return {};
}

namespace {

struct External {
  BackendId id;
  const char* op;
  const char* variable;  ///< names the library's file
  const char* package;   ///< folder beside LibTorch's that holds it
  const char* hint;
};

constexpr External kExternal[] = {
    {BackendId::Fa3, "flash_attn_3::fwd", "TESSERA_FLASH3_LIBRARY", "flash_attn_3",
     "build flash-attention's hopper/ folder and set TESSERA_FLASH3_LIBRARY to its _C.abi3.so, or use torch_sdpa"},
    {BackendId::Fa4, "flash_attn_4::fwd", "TESSERA_FLASH4_LIBRARY", "flash_attn_4",
     "FlashAttention 4 is compiled from Python; load an export of it as a plugin named fa4, or use torch_cudnn_sdpa"},
};

/// The folder of the Python packages that LibTorch lies in.
std::filesystem::path packages_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&at::globalContext), &info) == 0 || info.dli_fname == nullptr) return {};
  return std::filesystem::path(info.dli_fname).parent_path().parent_path().parent_path();
}

/// Loading registers the operator. Symbols of Python stay unresolved: RTLD_LAZY, the operator's path needs none.
void try_load(const External& row) {
  if (const auto chosen = env::get(row.variable)) {
    dlopen(chosen->c_str(), RTLD_LAZY | RTLD_LOCAL);
    return;
  }
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(packages_folder() / row.package, ignored)) {
    if (entry.path().extension() == ".so") dlopen(entry.path().c_str(), RTLD_LAZY | RTLD_LOCAL);
  }
}

}  // namespace

Result<std::string> flash_operator(BackendId id) {
  for (const External& row : kExternal) {
    if (row.id != id) continue;
    if (!has_operator(row.op)) try_load(row);
    if (has_operator(row.op)) return row.op;
    return fail(ErrorCode::Unavailable,
                strings::join("no library registers the operator ", row.op, " for ", backend_name(id)), row.hint);
  }
  return fail(ErrorCode::Unavailable, strings::join(backend_name(id), " is no FlashAttention operator"));
}

// Off CUDA devices LibTorch itself finds no kernel of the operator: Unsupported.
Status FlashOperatorBackend::run(const AttentionInputs& inputs, const AttentionOutputs& outputs, Quality tier) {
  if (inputs.packed) {
    return run_by_segments(*this, inputs, outputs, tier);
  }
  TESSERA_TRY(const AttentionInputs in, accepted(inputs));
  TESSERA_TRY(const std::string op, flash_operator(id_));
  const c10::DeviceGuard guard(in.query.device());
  std::map<std::string, c10::IValue> arguments{{"q", in.query},
                                               {"k", in.key},
                                               {"v", in.value},
                                               {"softmax_scale", in.scale},
                                               {"is_causal", in.causal != Causal::None},
                                               {"causal", in.causal != Causal::None}};
  if (const auto* lengths = std::get_if<KeyLengths>(&in.mask)) {
    TESSERA_TRY(arguments["seqused_k"], lengths_.on(*lengths, in.query.device(), is_capturing(in.query)));
  }
  TESSERA_TRY(const auto results, call_operator(op, arguments));
  if (results.size() < 2 || !results[0].isTensor() || !results[1].isTensor()) {
    return fail(ErrorCode::Unavailable, strings::join("operator ", op, " does not return the output and its LSE"));
  }
  write(results[0].toTensor(), results[1].toTensor(), outputs);
  clear_dead_rows(in, outputs);
  return {};
}

}  // namespace tessera::attention
