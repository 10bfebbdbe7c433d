// The weights of one component: a single safetensors file, or shards with an index, as one set of named tensors.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "weights/safetensors.h"

namespace tessera::weights {

/// A tensor of a checkpoint and the file that holds it.
struct StoredTensor {
  TensorInfo info;
  std::shared_ptr<const MappedFile> file;  // shared: a shard stays mapped while any of its tensors is in use

  std::string_view bytes() const;
};

/// All tensors of one component. Opening reads headers only; the data is paged in when it is used.
struct Checkpoint {
  std::string origin;  ///< file, or index file of the shards, for messages
  std::vector<std::filesystem::path> files;
  std::map<std::string, StoredTensor> tensors;

  /// Bytes of all tensors as stored.
  int64_t stored_bytes() const;

  /// Bytes when floating-point tensors are held as `compute` (but 16-bit matrices, which stay as they are); nothing:
  /// as stored.
  int64_t loaded_bytes(std::optional<DType> compute) const;

  /// The part of loaded_bytes that is memory of its own, because a weight is stored in another type or not aligned.
  int64_t copied_bytes(std::optional<DType> compute) const;
};

/// One file. Errors: as open_safetensors.
Result<Checkpoint> open_file(const std::filesystem::path& path);

/// Shards by their index (`*.safetensors.index.json`). Every tensor of the index must be in the shard that it names;
/// shard names must be plain file names in the index's folder. Tensors that the index does not list are kept too.
/// Errors: NotFound (index or shard), BadFile (damaged index or shard, a missing tensor, a name that leaves the
/// folder).
Result<Checkpoint> open_index(const std::filesystem::path& index);

/// The weights of a component folder in the layouts of diffusers (`diffusion_pytorch_model…`) and transformers
/// (`model…`), single or sharded. `variant` ("fp16") is taken where it exists, else the plain files; without one the
/// plain files are taken, else the only variant there is.
/// Errors: NotFound with what was looked for; else as open_file and open_index.
Result<Checkpoint> open_component(const std::filesystem::path& folder, const std::optional<std::string>& variant = {});

/// `path` as a file, an index or a component folder, whichever it is.
Result<Checkpoint> open_checkpoint(const std::filesystem::path& path, const std::optional<std::string>& variant = {});

}  // namespace tessera::weights
