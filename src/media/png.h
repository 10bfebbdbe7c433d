// PNG files: pictures out with their recipe, pictures in from any kind of PNG.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "media/image.h"

namespace tessera::media {

/// Texts of a file by keyword, UTF-8.
using PngTexts = std::map<std::string, std::string>;

/// A PNG file that was read.
struct Png {
  Image image;
  PngTexts texts;
};

/// The bytes of an RGB PNG with 8 bits a channel. Texts become iTXt chunks; keywords have 1 to 79 characters.
/// Errors: Misuse (no pixels, a bad keyword), OutOfMemory.
Result<std::string> encode_png(const ImageView& image, const PngTexts& texts = {});

/// encode_png into a file, all or nothing. Errors: also Io.
Status write_png(const std::filesystem::path& path, const ImageView& image, const PngTexts& texts = {});

/// A picture of any PNG colour type as RGB with 8 bits: grey is repeated, palettes are looked up, alpha is dropped and
/// of 16 bits the upper 8 are kept, as PIL's convert("RGB") does it. `origin` names it in errors.
/// Errors: BadFile (not a PNG, damaged, cut short), OutOfMemory.
Result<Png> decode_png(std::string_view bytes, const std::string& origin);

/// decode_png of a file. Errors: also NotFound, Io.
Result<Png> read_png(const std::filesystem::path& path);

}  // namespace tessera::media
