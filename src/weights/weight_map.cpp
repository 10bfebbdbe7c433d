#include "weights/weight_map.h"

#include <set>

#include "base/check.h"
#include "weights/mapped_file.h"

namespace tessera::weights {

struct WeightMap::Store {
  std::map<std::string, Weight> weights;
  std::string origin;
  std::set<std::string> used;
};

namespace {

std::map<std::string, Weight> without_files(std::map<std::string, at::Tensor> tensors) {
  std::map<std::string, Weight> weights;
  for (auto& [name, tensor] : tensors) weights[name].tensor = std::move(tensor);
  return weights;
}

// Only this one: other negative sizes come from a damaged config and fit nothing.
constexpr int64_t kAnySize = -1;

/// "[3, *]"
std::string text_of(at::IntArrayRef shape) {
  std::vector<std::string> sizes;
  for (const int64_t size : shape) sizes.push_back(size == kAnySize ? "*" : std::to_string(size));
  return "[" + strings::list(sizes) + "]";
}

bool fits(at::IntArrayRef have, at::IntArrayRef want) {
  if (have.size() != want.size()) return false;
  for (size_t i = 0; i < have.size(); ++i) {
    if (want[i] != kAnySize && want[i] != have[i]) return false;
  }
  return true;
}

[[noreturn]] void bad_file(std::string what) {
  throw RuntimeFault({ErrorCode::BadFile, std::move(what), "the weights do not belong to this model's config.json"});
}

/// The tensor in the wanted type. The stored bytes are read once by a conversion, so their pages can go afterwards:
/// without that a model held in another type than it is stored in would need the memory for both.
at::Tensor converted(const Weight& weight, std::optional<at::ScalarType> dtype) {
  const at::Tensor& stored = weight.tensor;
  if (!dtype || *dtype == stored.scalar_type() || !at::isFloatingType(stored.scalar_type())) return stored;
  at::Tensor result = stored.to(*dtype);
  if (weight.file) {
    weight.file->drop_pages({static_cast<const char*>(stored.const_data_ptr()), stored.nbytes()});
  }
  return result;
}

}  // namespace

WeightMap::WeightMap(std::map<std::string, at::Tensor> tensors, std::optional<at::ScalarType> dtype, std::string origin)
    : WeightMap(without_files(std::move(tensors)), dtype, std::move(origin)) {}

WeightMap::WeightMap(std::map<std::string, Weight> weights, std::optional<at::ScalarType> dtype, std::string origin)
    : WeightMap(std::make_shared<Store>(Store{std::move(weights), std::move(origin), {}}), "", dtype,
                LinearTier::Exact) {}

WeightMap::WeightMap(std::shared_ptr<Store> store, std::string prefix, std::optional<at::ScalarType> dtype,
                     LinearTier linears)
    : store_(std::move(store)), prefix_(std::move(prefix)), dtype_(dtype), linears_(linears) {}

WeightMap WeightMap::sub(const std::string& name) const {
  return {store_, prefix_ + name + ".", dtype_, linears_};
}

WeightMap WeightMap::as(std::optional<at::ScalarType> dtype) const {
  return {store_, prefix_, dtype, linears_};
}

WeightMap WeightMap::with_linears(LinearTier tier) const {
  return {store_, prefix_, dtype_, tier};
}

const Weight* WeightMap::lookup(const std::string& name) const {
  const auto it = store_->weights.find(prefix_ + name);
  return it == store_->weights.end() ? nullptr : &it->second;
}

bool WeightMap::has(const std::string& name) const {
  return lookup(name) != nullptr;
}

const Weight& WeightMap::checked(const std::string& name, at::IntArrayRef shape) const {
  const Weight* weight = lookup(name);
  const std::string full = prefix_ + name;
  if (weight == nullptr) {
    bad_file(strings::join(store_->origin, " has no tensor '", full, "' (expected ", text_of(shape), ")"));
  }
  if (!fits(weight->tensor.sizes(), shape)) {
    const std::string file = weight->file ? weight->file->path().string() : store_->origin;
    bad_file(strings::join("tensor '", full, "' in ", file, " has shape ", text_of(weight->tensor.sizes()),
                           " instead of ", text_of(shape)));
  }
  store_->used.insert(full);
  return *weight;
}

at::Tensor WeightMap::get(const std::string& name, at::IntArrayRef shape) const {
  return converted(checked(name, shape), dtype_);
}

at::Tensor WeightMap::compact(const std::string& name, at::IntArrayRef shape) const {
  const at::Tensor& kept = checked(name, shape).tensor;
  const bool half = kept.scalar_type() == at::kBFloat16 || kept.scalar_type() == at::kHalf;
  return half && kept.is_cpu() ? kept : get(name, shape);
}

at::Tensor WeightMap::stored(const std::string& name, at::IntArrayRef shape) const {
  return checked(name, shape).tensor;
}

void WeightMap::release(const std::string& name) const {
  const Weight* weight = lookup(name);
  if (weight == nullptr || !weight->file) return;
  weight->file->drop_pages({static_cast<const char*>(weight->tensor.const_data_ptr()), weight->tensor.nbytes()});
}

std::optional<at::Tensor> WeightMap::find(const std::string& name, at::IntArrayRef shape) const {
  if (!has(name)) return std::nullopt;
  return get(name, shape);
}

std::vector<std::string> WeightMap::names() const {
  std::vector<std::string> names;
  for (auto it = store_->weights.lower_bound(prefix_); it != store_->weights.end(); ++it) {
    if (!it->first.starts_with(prefix_)) break;
    names.push_back(it->first.substr(prefix_.size()));
  }
  return names;
}

std::vector<std::string> WeightMap::unused() const {
  std::vector<std::string> names;
  for (const auto& [name, weight] : store_->weights) {
    if (!store_->used.contains(name)) names.push_back(name);
  }
  return names;
}

const std::string& WeightMap::origin() const {
  return store_->origin;
}

}  // namespace tessera::weights
