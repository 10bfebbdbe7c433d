// `tessera inspect`: what a weight file or a model folder holds, after checking all of it.
#include <algorithm>
#include <iostream>
#include <memory>

#include "apps/cli/commands.h"
#include "base/json.h"
#include "base/strings.h"
#include "residency/plan.h"
#include "weights/pipeline_folder.h"
#include "weights/quantization.h"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;
using weights::Checkpoint;

struct Options {
  std::string path;
  std::string variant;
  bool tensors = false;
};

std::string to_text(const OrderedJson& value) {
  return value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

/// {"files", "bytes", "parameters", "dtypes", "quantization", "tensors"}.
OrderedJson describe(const Checkpoint& checkpoint, const Json& config) {
  OrderedJson out;
  out["files"] = OrderedJson::array();
  for (const fs::path& file : checkpoint.files) out["files"].push_back(file.filename().string());
  out["bytes"] = checkpoint.stored_bytes();
  OrderedJson tensors = OrderedJson::array();
  std::map<std::string, int64_t> dtypes;
  int64_t parameters = 0;
  for (const auto& [name, stored] : checkpoint.tensors) {
    const weights::TensorInfo& info = stored.info;
    tensors.push_back({{"name", name},
                       {"dtype", info.stored_dtype},
                       {"shape", info.shape},
                       {"bytes", info.size_bytes()},
                       {"file", stored.file->path().filename().string()}});
    ++dtypes[info.stored_dtype];
    parameters += info.elements();
  }
  out["parameters"] = parameters;
  out["dtypes"] = dtypes;
  const std::string quantization = weights::quantization_of(config, checkpoint);
  out["quantization"] = quantization.empty() ? OrderedJson() : OrderedJson(quantization);
  out["tensors"] = std::move(tensors);
  return out;
}

std::optional<std::string> variant_of(const Options& options) {
  return options.variant.empty() ? std::nullopt : std::optional(options.variant);
}

/// The metadata of a single file; shards carry none of interest.
Result<OrderedJson> describe_weights(const fs::path& path, const Options& options) {
  TESSERA_TRY(const Checkpoint checkpoint, weights::open_checkpoint(path, variant_of(options)));
  const auto config = json::read_file(path / "config.json");
  OrderedJson out = {{"path", path.string()}, {"kind", "weights"}};
  out.update(describe(checkpoint, config ? *config : Json()));
  if (checkpoint.files.size() == 1) {
    TESSERA_TRY(const auto file, weights::open_safetensors(checkpoint.files[0]));
    out["metadata"] = file.header.metadata ? OrderedJson(*file.header.metadata) : OrderedJson();
  }
  return out;
}

/// Models have a config.json and weights; schedulers, tokenizers and processors have neither.
Result<OrderedJson> describe_component(const weights::PipelineFolder& folder, const std::string& name,
                                       const Options& options) {
  const weights::ComponentClass& component = folder.components.at(name);
  OrderedJson out = {{"library", component.library}, {"class", component.name}};
  std::error_code ec;
  if (!fs::is_directory(folder.folder(name), ec)) {
    return fail(ErrorCode::NotFound, strings::join("component folder ", folder.folder(name).string(), " is missing"),
                "the model folder is incomplete; fetch it again");
  }
  if (!fs::exists(folder.folder(name) / "config.json", ec)) return out;
  TESSERA_TRY(const Json config, folder.config(name));
  TESSERA_TRY(const Checkpoint checkpoint, weights::open_component(folder.folder(name), variant_of(options)));
  out.update(describe(checkpoint, config));
  return out;
}

Result<OrderedJson> describe_pipeline(const fs::path& path, const Options& options) {
  TESSERA_TRY(const weights::PipelineFolder folder, weights::open_pipeline_folder(path));
  OrderedJson out = {{"path", path.string()}, {"kind", "pipeline"}, {"class", folder.class_name}, {"bytes", 0}};
  int64_t bytes = 0;
  OrderedJson components = OrderedJson::object();
  for (const auto& [name, component] : folder.components) {
    TESSERA_TRY(components[name], describe_component(folder, name, options));
    bytes += components[name].value("bytes", int64_t{0});
  }
  out["bytes"] = bytes;
  out["components"] = std::move(components);
  return out;
}

std::string summary(const OrderedJson& part) {
  std::vector<std::string> dtypes;
  for (const auto& [dtype, count] : part["dtypes"].items()) dtypes.push_back(dtype + " x" + count.dump());
  std::string text = strings::join(part["tensors"].size(), " tensors, ", part["parameters"], " parameters, ",
                                   residency::bytes_text(part["bytes"].get<int64_t>()), " in ", part["files"].size(),
                                   part["files"].size() == 1 ? " file" : " files", " (", strings::list(dtypes), ")");
  if (!part["quantization"].is_null()) text += ", quantised: " + part["quantization"].get<std::string>();
  return text;
}

void print_tensors(const OrderedJson& part, const std::string& indent) {
  for (const OrderedJson& t : part["tensors"]) {
    // Names come from the file: printed as JSON text, so that control characters do not reach the terminal.
    std::cout << indent << to_text(t["name"]) << "  " << t["dtype"].get<std::string>() << " " << to_text(t["shape"])
              << "  " << residency::bytes_text(t["bytes"].get<int64_t>()) << "\n";
  }
}

void print_for_people(const OrderedJson& out, const Options& options) {
  if (out["kind"] == "weights") {
    std::cout << options.path << ": " << summary(out) << "\n";
    return print_tensors(out, "  ");
  }
  std::cout << options.path << ": " << out["class"].get<std::string>() << ", "
            << residency::bytes_text(out["bytes"].get<int64_t>()) << "\n";
  for (const auto& [name, part] : out["components"].items()) {
    std::cout << "  " << name << ": " << part["class"].get<std::string>();
    std::cout << (part.contains("tensors") ? ", " + summary(part) : "") << "\n";
    if (options.tensors && part.contains("tensors")) print_tensors(part, "    ");
  }
}

Status run(const Options& options, const SharedOptions& shared) {
  const fs::path path = options.path;
  std::error_code ec;
  if (!fs::exists(path, ec)) return fail(ErrorCode::NotFound, options.path + " is not there", "name a file or folder");
  const bool pipeline = fs::exists(path / "model_index.json", ec);
  TESSERA_TRY(const OrderedJson out, pipeline ? describe_pipeline(path, options) : describe_weights(path, options));
  if (shared.json) {
    std::cout << to_text(out) << "\n";
  } else {
    print_for_people(out, options);
  }
  return {};
}

}  // namespace

Command add_inspect(CLI::App& app, SharedOptions& shared) {
  auto options = std::make_shared<Options>();  // shared: the parser fills what the action reads
  CLI::App* command =
      app.add_subcommand("inspect", "what a safetensors file or a model folder holds; checks all of it");
  add_shared_flags(*command, shared);
  command->add_option("PATH", options->path, "a .safetensors file, an index of shards, or a folder")->required();
  command->add_option("--variant", options->variant, "weights to look at where there are several, e.g. fp16");
  command->add_flag("--tensors", options->tensors, "list every tensor of a model folder too");
  return {command, [options, &shared] { return run(*options, shared); }};
}

}  // namespace tessera::cli
