#include "media/png.h"

#include <csetjmp>
#include <new>
#include <vector>

#include <png.h>

#include "base/file.h"
#include "base/strings.h"

namespace tessera::media {
namespace {

/// What libpng's callbacks share with the caller. It lives outside of the functions that call setjmp, so that a jump
/// skips no destructor: those functions own nothing but pointers.
struct Writer {
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::string bytes;
  std::string message;

  ~Writer() { png_destroy_write_struct(&png, &info); }
};

[[noreturn]] void on_error(png_structp png, png_const_charp text) {
  auto* writer = static_cast<Writer*>(png_get_error_ptr(png));
  try {
    writer->message = text;
  } catch (const std::bad_alloc&) {
    writer->message.clear();
  }
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

void on_write(png_structp png, png_bytep data, png_size_t size) {
  auto* writer = static_cast<Writer*>(png_get_io_ptr(png));
  bool ok = true;
  try {
    writer->bytes.append(reinterpret_cast<const char*>(data), size);
  } catch (const std::bad_alloc&) {
    ok = false;  // leave the handler first: png_error jumps
  }
  if (!ok) png_error(png, "no memory");
}

void on_flush(png_structp) {}

/// Calls libpng; false after an error.
bool encode(Writer& writer, const ImageView& image, png_textp texts, int count) noexcept {
  if (setjmp(png_jmpbuf(writer.png)) != 0) return false;
  png_set_write_fn(writer.png, &writer, on_write, on_flush);
  png_set_IHDR(writer.png, writer.info, static_cast<png_uint_32>(image.width), static_cast<png_uint_32>(image.height),
               8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (count > 0) png_set_text(writer.png, writer.info, texts, count);
  png_write_info(writer.png, writer.info);
  for (int64_t y = 0; y < image.height; ++y) png_write_row(writer.png, image.rgb + y * image.width * 3);
  png_write_end(writer.png, writer.info);
  return true;
}

/// libpng's view of the texts; it points into `texts`.
std::vector<png_text> itxt_chunks(const PngTexts& texts) {
  static char none[] = "";
  std::vector<png_text> chunks;
  for (const auto& [key, text] : texts) {
    png_text chunk{};
    chunk.compression = PNG_ITXT_COMPRESSION_NONE;
    chunk.key = const_cast<char*>(key.c_str());
    chunk.text = const_cast<char*>(text.c_str());
    chunk.itxt_length = text.size();
    chunk.lang = none;
    chunk.lang_key = none;
    chunks.push_back(chunk);
  }
  return chunks;
}

Status check(const ImageView& image, const PngTexts& texts) {
  constexpr int64_t kLargest = 1'000'000;  // libpng's own limit for a side
  if (image.rgb == nullptr || image.width < 1 || image.height < 1 || image.width > kLargest ||
      image.height > kLargest) {
    return fail(ErrorCode::Misuse, strings::join("a picture of ", image.width, "x", image.height, " cannot be a PNG"));
  }
  for (const auto& [key, text] : texts) {
    if (key.empty() || key.size() > 79) {
      return fail(ErrorCode::Misuse, strings::join("PNG keyword '", key, "' does not have 1 to 79 characters"));
    }
    if (text.find('\0') != std::string::npos) {
      return fail(ErrorCode::Misuse, strings::join("the PNG text '", key, "' contains a NUL character"));
    }
  }
  return {};
}

}  // namespace

Result<std::string> encode_png(const ImageView& image, const PngTexts& texts) {
  TESSERA_TRY_OK(check(image, texts));
  std::vector<png_text> chunks = itxt_chunks(texts);
  Writer writer;
  writer.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &writer, on_error, on_warning);
  if (writer.png != nullptr) writer.info = png_create_info_struct(writer.png);
  if (writer.info == nullptr) return fail(ErrorCode::OutOfMemory, "no memory for a PNG");
  if (!encode(writer, image, chunks.data(), static_cast<int>(chunks.size()))) {
    return fail(ErrorCode::OutOfMemory, strings::join("the PNG cannot be made (", writer.message, ")"));
  }
  return std::move(writer.bytes);
}

Status write_png(const std::filesystem::path& path, const ImageView& image, const PngTexts& texts) {
  TESSERA_TRY(const std::string bytes, encode_png(image, texts));
  return file::write_atomically(path, bytes);
}

}  // namespace tessera::media
