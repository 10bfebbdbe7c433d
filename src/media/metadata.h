// The recipe of a picture in its metadata, so that a file says how it was made and can be made again.
#pragma once

#include <filesystem>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "media/png.h"

namespace tessera::media {

/// The texts of a picture: "tessera" holds the recipe as JSON; "parameters" says the same to people: the prompt, the
/// negative prompt, and one line of the other values. `recipe["request"]` holds the values, or else `recipe` itself.
PngTexts recipe_texts(const Json& recipe);

/// The recipe of a picture. Errors: NotFound, Io, BadFile (not a PNG, or no recipe in it).
Result<Json> read_recipe(const std::filesystem::path& path);

}  // namespace tessera::media
