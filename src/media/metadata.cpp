#include "media/metadata.h"

#include <algorithm>
#include <vector>

#include "base/strings.h"

namespace tessera::media {
namespace {

constexpr const char* kRecipeKey = "tessera";
constexpr const char* kPeopleKey = "parameters";

/// JSON text; bytes that are not UTF-8 (a prompt from a terminal in another encoding) become replacement characters.
std::string dump(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// "num_inference_steps" → "Num inference steps".
std::string title(std::string name) {
  std::ranges::replace(name, '_', ' ');
  if (!name.empty() && name[0] >= 'a' && name[0] <= 'z') name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return name;
}

std::string for_people(const Json& request) {
  std::string text;
  std::vector<std::string> values;
  for (const auto& [name, value] : request.items()) {
    if (name == "prompt" && value.is_string()) {
      text = value.get<std::string>() + "\n";
    } else if (value.is_primitive() && !value.is_null()) {
      values.push_back(title(name) + ": " + (value.is_string() ? value.get<std::string>() : dump(value)));
    }
  }
  text += strings::list(values);
  std::erase(text, '\0');  // a PNG text ends at the first NUL
  return text;
}

}  // namespace

PngTexts recipe_texts(const Json& recipe) {
  const bool nested = recipe.is_object() && recipe.contains("request") && recipe["request"].is_object();
  const std::string people = for_people(nested ? recipe["request"] : recipe);
  // Through JSON and back: the same replacement of broken bytes as in the recipe.
  return {{kRecipeKey, dump(recipe)}, {kPeopleKey, Json::parse(dump(Json(people))).get<std::string>()}};
}

Result<Json> read_recipe(const std::filesystem::path& path) {
  TESSERA_TRY(const Png png, read_png(path));
  const auto it = png.texts.find(kRecipeKey);
  if (it == png.texts.end()) {
    return fail(ErrorCode::BadFile, strings::join(path.string(), " holds no recipe"),
                "it was not made by tessera, or with --no-metadata, or another program dropped its texts");
  }
  TESSERA_TRY(Json recipe, json::parse(it->second, "the recipe in " + path.string()));
  if (!recipe.is_object())
    return fail(ErrorCode::BadFile, strings::join("the recipe in ", path.string(), " is damaged"));
  return recipe;
}

}  // namespace tessera::media
