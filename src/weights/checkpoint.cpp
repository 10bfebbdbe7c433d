#include "weights/checkpoint.h"

#include <algorithm>
#include <set>

#include "base/json.h"
#include "base/strings.h"

namespace tessera::weights {
namespace {

namespace fs = std::filesystem;

bool is_floating(DType dtype) {
  switch (dtype) {
    case DType::F16:
    case DType::BF16:
    case DType::F32:
    case DType::F64:
    case DType::F8E4M3:
    case DType::F8E5M2:
      return true;
    case DType::Bool:
    case DType::U8:
    case DType::I8:
    case DType::U16:
    case DType::I16:
    case DType::U32:
    case DType::I32:
    case DType::U64:
    case DType::I64:
      return false;
  }
  return false;
}

/// Matrices of 16 bits are used as they are stored, whatever the arithmetic (nn/linear, token tables).
bool stays_stored(const StoredTensor& tensor) {
  return tensor.info.shape.size() == 2 && (tensor.info.dtype == DType::BF16 || tensor.info.dtype == DType::F16);
}

bool converts(const StoredTensor& tensor, std::optional<DType> compute) {
  if (stays_stored(tensor)) return false;
  return compute && tensor.info.dtype && is_floating(*tensor.info.dtype) && *tensor.info.dtype != *compute;
}

bool is_aligned(const StoredTensor& tensor) {
  return !tensor.info.dtype || tensor.info.begin_bytes % size_bytes(*tensor.info.dtype) == 0;
}

int64_t loaded_bytes_of(const StoredTensor& tensor, std::optional<DType> compute) {
  return converts(tensor, compute) ? tensor.info.elements() * size_bytes(*compute) : tensor.info.size_bytes();
}

Status add_file(const fs::path& path, Checkpoint& checkpoint) {
  TESSERA_TRY(SafetensorsFile opened, open_safetensors(path));
  checkpoint.files.push_back(path);
  for (auto& [name, info] : opened.header.tensors) {
    checkpoint.tensors.insert_or_assign(name, StoredTensor{std::move(info), opened.file});
  }
  return {};
}

/// A shard's name may not lead out of the folder: an index from the network must not open other files.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

using ShardNames = std::map<std::string, std::string>;  // tensor → shard

Result<ShardNames> read_index(const fs::path& index) {
  TESSERA_TRY(const Json json, json::read_file(index));
  const auto map = json.is_object() ? json.find("weight_map") : json.end();
  if (!json.is_object() || map == json.end() || !map->is_object()) {
    return fail(ErrorCode::BadFile, strings::join(index.string(), " has no weight_map"), "the index is damaged");
  }
  ShardNames shards;
  for (const auto& [tensor, shard] : map->items()) {
    if (!shard.is_string() || !is_plain_name(shard.get_ref<const std::string&>())) {
      return fail(ErrorCode::BadFile,
                  strings::join(index.string(), ": shard name ", shard.dump(-1, ' ', true).substr(0, 120),
                                " of tensor '", tensor, "' is not a plain file name"),
                  "shards must lie beside their index");
    }
    shards[tensor] = shard.get<std::string>();
  }
  return shards;
}

Status check_index(const ShardNames& shards, const fs::path& folder, const Checkpoint& checkpoint) {
  for (const auto& [tensor, shard] : shards) {
    const auto it = checkpoint.tensors.find(tensor);
    if (it != checkpoint.tensors.end() && it->second.file->path() == folder / shard) continue;
    return fail(ErrorCode::BadFile,
                strings::join((folder / shard).string(), " has no tensor '", tensor, "', which ", checkpoint.origin,
                              " places there"),
                "index and shards are not of one download");
  }
  return {};
}

/// BASE[.VARIANT].safetensors or its index, whichever is there; the index first, as diffusers looks.
std::optional<fs::path> weights_of(const fs::path& folder, const std::string& base, const std::string& variant) {
  const std::string middle = variant.empty() ? "" : "." + variant;
  for (const std::string& name : {base + ".safetensors.index" + middle + ".json", base + middle + ".safetensors"}) {
    std::error_code ec;
    if (fs::is_regular_file(folder / name, ec)) return folder / name;
  }
  return std::nullopt;
}

constexpr std::string_view kBases[] = {"diffusion_pytorch_model", "model"};

std::optional<fs::path> weights_of(const fs::path& folder, const std::string& variant) {
  for (const std::string_view base : kBases) {
    if (auto path = weights_of(folder, std::string(base), variant)) return path;
  }
  return std::nullopt;
}

/// Variants for which `folder` has weights: the middle of BASE.VARIANT.safetensors and its index.
std::set<std::string> variants_in(const fs::path& folder) {
  std::set<std::string> variants;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(folder, ec)) {
    const std::vector<std::string> parts = strings::split(entry.path().filename().string(), '.');
    if (parts.empty() || std::ranges::find(kBases, parts[0]) == std::end(kBases)) continue;
    std::string variant;
    if (parts.size() == 3 && parts[2] == "safetensors") variant = parts[1];
    if (parts.size() == 5 && parts[1] == "safetensors" && parts[2] == "index" && parts[4] == "json") variant = parts[3];
    const bool shard = variant.find("-of-") != std::string::npos;  // "model.fp16-00001-of-00002.safetensors"
    if (!variant.empty() && !shard && weights_of(folder, variant)) variants.insert(variant);
  }
  return variants;
}

bool is_index(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".json") && name.find(".safetensors.index.") != std::string::npos;
}

}  // namespace

std::string_view StoredTensor::bytes() const {
  return file->bytes().substr(static_cast<size_t>(info.begin_bytes), static_cast<size_t>(info.size_bytes()));
}

int64_t Checkpoint::stored_bytes() const {
  return loaded_bytes(std::nullopt);
}

int64_t Checkpoint::loaded_bytes(std::optional<DType> compute) const {
  int64_t bytes = 0;
  for (const auto& [name, tensor] : tensors) bytes += loaded_bytes_of(tensor, compute);
  return bytes;
}

int64_t Checkpoint::copied_bytes(std::optional<DType> compute) const {
  int64_t bytes = 0;
  for (const auto& [name, tensor] : tensors) {
    if (converts(tensor, compute) || !is_aligned(tensor)) bytes += loaded_bytes_of(tensor, compute);
  }
  return bytes;
}

Result<Checkpoint> open_file(const fs::path& path) {
  Checkpoint checkpoint{path.string(), {}, {}};
  TESSERA_TRY_OK(add_file(path, checkpoint));
  return checkpoint;
}

Result<Checkpoint> open_index(const fs::path& index) {
  TESSERA_TRY(const ShardNames shards, read_index(index));
  const fs::path folder = index.parent_path();
  std::set<std::string> names;
  for (const auto& [tensor, shard] : shards) names.insert(shard);
  Checkpoint checkpoint{index.string(), {}, {}};
  for (const std::string& name : names) {
    std::error_code ec;
    if (!fs::exists(folder / name, ec)) {
      return fail(ErrorCode::NotFound,
                  strings::join("shard ", (folder / name).string(), " of ", index.string(), " is missing"),
                  "the download is incomplete; fetch it again");
    }
    TESSERA_TRY_OK(add_file(folder / name, checkpoint));
  }
  TESSERA_TRY_OK(check_index(shards, folder, checkpoint));
  return checkpoint;
}

Result<Checkpoint> open_component(const fs::path& folder, const std::optional<std::string>& variant) {
  std::error_code ec;
  if (!fs::is_directory(folder, ec)) {
    return fail(ErrorCode::NotFound, strings::join("component folder ", folder.string(), " is missing"),
                "the model folder is incomplete; fetch it again");
  }
  std::optional<fs::path> path = variant ? weights_of(folder, *variant) : std::nullopt;
  if (!path) path = weights_of(folder, "");
  const std::set<std::string> variants = path ? std::set<std::string>{} : variants_in(folder);
  if (variants.size() == 1) path = weights_of(folder, *variants.begin());
  if (path) return is_index(*path) ? open_index(*path) : open_file(*path);
  const std::string hint = variants.empty()
                               ? "it is no model folder, is incomplete, or its weights are not safetensors"
                               : "ask for one of the variants " + strings::list({variants.begin(), variants.end()});
  return fail(ErrorCode::NotFound,
              strings::join(folder.string(),
                            " has no weights (diffusion_pytorch_model.safetensors, model.safetensors, or "
                            "their index of shards)"),
              hint);
}

Result<Checkpoint> open_checkpoint(const fs::path& path, const std::optional<std::string>& variant) {
  std::error_code ec;
  if (fs::is_directory(path, ec)) return open_component(path, variant);
  return is_index(path) ? open_index(path) : open_file(path);
}

}  // namespace tessera::weights
