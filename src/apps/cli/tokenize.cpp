// `tessera tokenize`: token ids of a text, or of JSON lines on stdin.
#include <iostream>
#include <memory>

#include "apps/cli/commands.h"
#include "base/json.h"
#include "base/log.h"
#include "base/strings.h"
#include "text/tokenizer.h"

namespace tessera::cli {
namespace {

struct Options {
  std::string folder;
  std::string text;
  int64_t max_length = 0;
  bool batch = false;
};

// "ids", and with a max_length: cut to it, "input_ids" and "attention_mask" as the pipelines pad them, "cut" if any.
Result<Json> tokenize(const text::Tokenizer& tokenizer, std::string_view text, int64_t max_length) {
  if (max_length < 0) return fail(ErrorCode::Usage, strings::join("max_length is ", max_length), "give 1 or more");
  if (max_length == 0) {
    TESSERA_TRY(const auto ids, tokenizer.encode(text));
    return Json{{"ids", ids}};
  }
  std::string cut;
  TESSERA_TRY(const auto ids, tokenizer.encode_truncated(text, max_length, &cut));
  Json out = {{"ids", ids}};
  if (tokenizer.framing().pad_id) {
    TESSERA_TRY(const auto padded, tokenizer.encode_padded(text, max_length));
    out["input_ids"] = padded.ids;
    out["attention_mask"] = padded.attention_mask;
  }
  if (!cut.empty()) {
    log::warning("the text is too long; cut off: " + cut);
    out["cut"] = cut;
  }
  return out;
}

Result<Json> tokenize_line(const text::Tokenizer& tokenizer, const std::string& line, int64_t number) {
  const std::string origin = strings::join("line ", number);
  auto object = json::parse(line, origin);
  if (!object) return fail(ErrorCode::Usage, object.error().what, "one JSON object a line");
  const auto text = object->is_object() ? json::value_or<std::string>(*object, "text", "") : Result<std::string>("");
  if (!object->is_object() || !object->contains("text") || !text) {
    return fail(ErrorCode::Usage, origin + " has no text", R"(write {"text": "…", "max_length": 77})");
  }
  const auto max_length = json::value_or<int64_t>(*object, "max_length", 0);
  if (!max_length) return fail(ErrorCode::Usage, origin + ": " + max_length.error().what);
  return tokenize(tokenizer, *text, *max_length);
}

Status run_batch(const text::Tokenizer& tokenizer) {
  std::string line;
  for (int64_t number = 1; std::getline(std::cin, line); ++number) {
    if (strings::trim(line).empty()) continue;
    TESSERA_TRY(const Json result, tokenize_line(tokenizer, line, number));
    std::cout << result.dump(-1, ' ', false, Json::error_handler_t::replace) << "\n";
  }
  std::cout.flush();
  return {};
}

Status run(const Options& options, const SharedOptions& shared) {
  TESSERA_TRY(const auto tokenizer, text::load_tokenizer(options.folder));
  if (options.batch) return run_batch(*tokenizer);
  TESSERA_TRY(const Json result, tokenize(*tokenizer, options.text, options.max_length));
  if (shared.json) {
    std::cout << result.dump(-1, ' ', false, Json::error_handler_t::replace) << "\n";
    return {};
  }
  std::string line;
  for (const auto& id : result.at("ids")) line += (line.empty() ? "" : " ") + id.dump();
  std::cout << line << "\n";
  return {};
}

}  // namespace

Command add_tokenize(CLI::App& app, SharedOptions& shared) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("tokenize", "token ids of a text");
  command->add_option("--tokenizer", options->folder, "folder with tokenizer_config.json and its vocabulary")
      ->required();
  auto* text = command->add_option("TEXT", options->text, "the text; it may be empty");
  command->add_option("--max-length", options->max_length, "cut to this many ids");
  auto* batch =
      command->add_flag("--batch", options->batch, "JSON lines {\"text\", \"max_length\"} from stdin to stdout");
  batch->excludes(text);
  add_shared_flags(*command, shared);
  return {command, [options, text, &shared]() -> Status {
            if (!options->batch && text->count() == 0) {
              return fail(ErrorCode::Usage, "no text given", "tessera tokenize --tokenizer DIR TEXT");
            }
            return run(*options, shared);
          }};
}

}  // namespace tessera::cli
