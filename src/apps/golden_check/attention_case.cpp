// From a row of the index and its file to an attention problem.
#include "apps/golden_check/attention_case.h"

#include "base/strings.h"
#include "weights/checkpoint.h"
#include "weights/tensors.h"

namespace tessera::golden {
namespace {

using attention::AttentionInputs;

struct Loader {
  const weights::Checkpoint& file;
  const Json& row;

  Result<at::Tensor> stored(const std::string& name) const {
    const auto found = file.tensors.find(name);
    if (found == file.tensors.end()) return fail(ErrorCode::BadFile, strings::join(file.origin, ": no tensor ", name));
    return weights::map_tensor(found->second, name);
  }

  /// q, k or v: a view of a stored tensor by shape, strides and offset in elements.
  Result<at::Tensor> view(const std::string& name) const {
    const Json& view = row.at("views").at(name);
    TESSERA_TRY(const at::Tensor storage, stored(view.at("storage")));
    const auto shape = view.at("shape").get<std::vector<int64_t>>();
    const auto strides = view.at("strides").get<std::vector<int64_t>>();
    const int64_t offset = view.value("offset", int64_t{0});
    int64_t last = offset;
    bool good = shape.size() == 4 && strides.size() == 4 && offset >= 0;
    for (size_t d = 0; good && d < 4; ++d) {
      good = shape[d] >= 0 && strides[d] >= 0;
      last += std::max<int64_t>(shape[d] - 1, 0) * strides[d];
    }
    if (!good || last >= std::max<int64_t>(storage.numel(), 1)) {
      return fail(ErrorCode::BadFile, strings::join(file.origin, ": the view of ", name, " leaves its tensor"));
    }
    const at::Tensor tensor = storage.as_strided(shape, strides, offset);
    return row.value("layout", "BSHD") == "BHSD" ? tensor.transpose(1, 2) : tensor;
  }
};

Status read_mask(const Loader& loader, AttentionCase& made) {
  const Json mask = loader.row.value("mask", Json());
  if (mask.is_null()) return {};
  TESSERA_TRY(const at::Tensor tensor, loader.stored(mask.value("storage", "mask")));
  const attention::Sizes sizes = attention::sizes_of(made.inputs);
  if (tensor.dim() == 1 && at::isIntegralType(tensor.scalar_type(), false)) {
    const at::Tensor lengths = tensor.to(at::kLong).contiguous();
    made.key_lengths.assign(lengths.const_data_ptr<int64_t>(), lengths.const_data_ptr<int64_t>() + lengths.numel());
    made.inputs.mask = attention::KeyLengths{made.key_lengths};
    return {};
  }
  TESSERA_TRY(const at::Tensor full, attention::expand_mask(tensor, sizes));
  if (tensor.scalar_type() == at::kBool) {
    made.inputs.mask = attention::BoolMask{full};
  } else {
    made.inputs.mask = attention::AdditiveMask{full};
  }
  return {};
}

attention::Causal causal_of(const Json& row) {
  const Json causal = row.value("causal", Json(false));
  if (causal.is_string()) {
    return causal == "bottom_right" ? attention::Causal::BottomRight
           : causal == "top_left"   ? attention::Causal::TopLeft
                                    : attention::Causal::None;
  }
  return causal.get<bool>() ? attention::Causal::TopLeft : attention::Causal::None;
}

Status read_answer(const Loader& loader, AttentionCase& made) {
  TESSERA_TRY(const at::Tensor out, loader.stored("out"));
  made.out = out.to(at::kDouble);
  if (loader.file.tensors.contains("lse")) {
    TESSERA_TRY(const at::Tensor lse, loader.stored("lse"));
    made.lse = lse.to(at::kDouble);
  }
  const attention::Sizes s = attention::sizes_of(made.inputs);
  const bool fits = made.out.sizes() == at::IntArrayRef({s.batch, s.seq_q, s.heads_q, s.value_dim}) &&
                    (!made.lse.defined() || made.lse.sizes() == at::IntArrayRef({s.batch, s.heads_q, s.seq_q}));
  if (!fits) return fail(ErrorCode::BadFile, strings::join(loader.file.origin, ": out or lse has another shape"));
  made.out_tolerance = loader.row.at("tolerance").at("out_abs");
  made.lse_tolerance = loader.row.at("tolerance").value("lse_abs", 0.0);
  return {};
}

Status read_case(const Loader& loader, AttentionCase& made) {
  TESSERA_TRY(made.inputs.query, loader.view("q"));
  TESSERA_TRY(made.inputs.key, loader.view("k"));
  TESSERA_TRY(made.inputs.value, loader.view("v"));
  const auto head_dim = static_cast<double>(std::max<int64_t>(made.inputs.query.size(3), 1));
  const Json scale = loader.row.value("scale", Json());
  made.inputs.scale = scale.is_number() ? scale.get<double>() : 1 / std::sqrt(head_dim);
  made.inputs.causal = causal_of(loader.row);
  made.role = made.inputs.query.size(1) == made.inputs.key.size(1) ? attention::Role::Self : attention::Role::Cross;
  TESSERA_TRY_OK(read_mask(loader, made));
  TESSERA_TRY_OK(attention::validate(made.inputs));
  return read_answer(loader, made);
}

}  // namespace

Result<std::unique_ptr<AttentionCase>> load_attention_case(const std::filesystem::path& folder, const Json& row) {
  auto made = std::make_unique<AttentionCase>();
  try {
    made->name = row.value("name", "?");
    TESSERA_TRY(const weights::Checkpoint file, weights::open_file(folder / row.at("file").get<std::string>()));
    TESSERA_TRY_OK(read_case({file, row}, *made));
  } catch (const nlohmann::json::exception& e) {
    return fail(ErrorCode::BadFile, strings::join("index.json, case ", made->name, ": ", e.what()));
  }
  return made;
}

}  // namespace tessera::golden
