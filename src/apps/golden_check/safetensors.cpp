#include "apps/golden_check/safetensors.h"

#include "base/strings.h"
#include "weights/checkpoint.h"

namespace tessera::golden {
namespace {

namespace fs = std::filesystem;

std::string hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

/// The content of a file in the form of the index.
Json content_of(const weights::SafetensorsFile& file) {
  Json content = {{"metadata", nullptr}, {"tensors", Json::object()}};
  if (file.header.metadata) content["metadata"] = *file.header.metadata;
  for (const auto& [name, info] : file.header.tensors) {
    content["tensors"][name] = {{"dtype", info.stored_dtype},
                                {"shape", info.shape},
                                {"bytes", info.size_bytes()},
                                {"hex", hex(file.bytes(info))}};
  }
  return content;
}

/// The expected content, without what an index may leave out.
Json expected_content(const Json& want) {
  return {{"metadata", want.value("metadata", Json())}, {"tensors", want.value("tensors", Json::object())}};
}

std::string verdict(const Error* error) {
  return error == nullptr ? "accept" : "reject (" + error->line() + ")";
}

void check_file(const fs::path& path, const Json& want, const std::string& name, GoldenReport& report) {
  const auto file = weights::open_safetensors(path);
  const bool accept = want.at("expect") == "accept";
  if (file.has_value() != accept) {
    report.count(false, name, "verdict", verdict(file ? nullptr : &file.error()), want.at("expect"));
    return;
  }
  const Json got = file && want.contains("tensors") ? content_of(*file) : Json();
  const Json expected = file && want.contains("tensors") ? expected_content(want) : Json();
  report.count(got == expected, name, "content", got.dump().substr(0, 400), expected.dump().substr(0, 400));
}

void check_folder(const fs::path& index, const Json& want, const std::string& name, GoldenReport& report) {
  const auto checkpoint = weights::open_index(index);
  const bool accept = want.at("expect") == "accept";
  report.count(checkpoint.has_value() == accept, name, "verdict", verdict(checkpoint ? nullptr : &checkpoint.error()),
               want.at("expect"));
}

}  // namespace

bool is_safetensors(const fs::path& folder) {
  std::error_code ec;
  if (!fs::is_regular_file(folder / "index.json", ec)) return false;
  const auto index = json::read_file(folder / "index.json");
  if (!index || !index->is_object() || !index->contains("cases") || !(*index)["cases"].is_array()) return false;
  const Json& cases = (*index)["cases"];
  const auto is_ours = [](const Json& c) {
    return c.is_object() && c.contains("expect") && (c.contains("file") || c.contains("folder"));
  };
  return !cases.empty() && std::all_of(cases.begin(), cases.end(), is_ours);
}

GoldenReport check_safetensors(const fs::path& folder) {
  GoldenReport report;
  const Json index = json::read_file(folder / "index.json").value();
  for (const Json& want : index.at("cases")) {
    const std::string name = want.value("name", "?");
    if (want.contains("file")) {
      check_file(folder / want.at("file").get<std::string>(), want, name, report);
    } else {
      const fs::path shards = folder / want.at("folder").get<std::string>();
      check_folder(shards / want.value("index", "model.safetensors.index.json"), want, name, report);
    }
  }
  return report;
}

}  // namespace tessera::golden
