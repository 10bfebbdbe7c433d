#include "weights/tensors.h"

#include "base/strings.h"
#include "tensor/dtypes.h"

namespace tessera::weights {
namespace {

/// Without data only the shape can go wrong: [2^62, 3, 0] is a valid file, but ATen cannot hold its strides.
Result<at::Tensor> empty_tensor(const StoredTensor& stored, const std::string& name, const at::TensorOptions& options) {
  try {
    return at::empty(stored.info.shape, options);
  } catch (const c10::Error&) {
    return fail(ErrorCode::BadFile, strings::join("tensor '", name, "' in ", stored.file->path().string(), " is ",
                                                  describe(stored.info), ", too large to index"));
  }
}

}  // namespace

Result<at::Tensor> map_tensor(const StoredTensor& stored, const std::string& name) {
  if (!stored.info.dtype) {
    return fail(ErrorCode::Unsupported, strings::join("tensor '", name, "' in ", stored.file->path().string(), " is ",
                                                      describe(stored.info), ", a type that cannot be computed with"));
  }
  const auto options = at::TensorOptions().dtype(tensor::scalar_type(*stored.info.dtype));
  const std::string_view bytes = stored.bytes();
  if (bytes.empty()) return empty_tensor(stored, name, options);
  const auto address = reinterpret_cast<uintptr_t>(bytes.data());
  if (address % static_cast<uintptr_t>(size_bytes(*stored.info.dtype)) != 0) {
    at::Tensor copy = at::empty(stored.info.shape, options);
    std::copy(bytes.begin(), bytes.end(), static_cast<char*>(copy.mutable_data_ptr()));
    return copy;
  }
  // from_blob takes void*, but nothing of ours writes to weights: the pages are mapped without write permission.
  return at::from_blob(
      const_cast<char*>(bytes.data()), stored.info.shape, [file = stored.file](void*) {}, options);
}

Result<WeightMap> to_weight_map(const Checkpoint& checkpoint, std::optional<at::ScalarType> dtype) {
  std::map<std::string, Weight> weights;
  for (const auto& [name, stored] : checkpoint.tensors) {
    TESSERA_TRY(at::Tensor tensor, map_tensor(stored, name));
    weights.emplace(name, Weight{std::move(tensor), stored.file});
  }
  return WeightMap(std::move(weights), dtype, checkpoint.origin);
}

}  // namespace tessera::weights
