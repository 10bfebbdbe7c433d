// The reading half of png.h: hostile files end in an error, with nothing leaked by libpng's jumps.
#include <csetjmp>
#include <cstring>
#include <new>

#include <png.h>

#include "base/file.h"
#include "base/strings.h"
#include "media/png.h"

namespace tessera::media {
namespace {

/// What libpng's callbacks share with the caller. It lives outside of the functions that call setjmp, so that a jump
/// skips no destructor: those functions own nothing but pointers.
struct Reader {
  png_structp png = nullptr;
  png_infop info = nullptr;
  png_infop end_info = nullptr;
  std::string_view rest;
  std::string message;
  Png result;
  std::vector<png_bytep> rows;

  ~Reader() { png_destroy_read_struct(&png, &info, &end_info); }
};

[[noreturn]] void on_error(png_structp png, png_const_charp text) {
  auto* reader = static_cast<Reader*>(png_get_error_ptr(png));
  try {
    reader->message = text;
  } catch (const std::bad_alloc&) {
    reader->message.clear();
  }
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

void on_read(png_structp png, png_bytep out, png_size_t size) {
  auto* reader = static_cast<Reader*>(png_get_io_ptr(png));
  if (size > reader->rest.size()) png_error(png, "the file is cut short");
  std::memcpy(out, reader->rest.data(), size);
  reader->rest.remove_prefix(size);
}

/// Reads the header and asks for 8-bit RGB rows; false after an error.
bool read_header(Reader& reader) noexcept {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  png_set_read_fn(reader.png, &reader, on_read);
  png_read_info(reader.png, reader.info);
  png_set_palette_to_rgb(reader.png);
  png_set_expand_gray_1_2_4_to_8(reader.png);
  png_set_strip_16(reader.png);
  png_set_gray_to_rgb(reader.png);
  png_set_strip_alpha(reader.png);
  png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  return true;
}

/// Reads the pixels into reader.rows, and the chunks behind them; false after an error.
bool read_pixels(Reader& reader) noexcept {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  png_read_image(reader.png, reader.rows.data());
  png_read_end(reader.png, reader.end_info);
  return true;
}

/// A header may promise any size. Deflate packs at most 1032 to 1, so a file too short for its rows is refused before
/// memory is taken for them. Rows as stored have at least one bit a pixel.
bool can_hold(size_t file_bytes, int64_t width, int64_t height, int bits) {
  const int64_t row_bytes = width * bits / 8;
  return row_bytes * height / 1032 <= static_cast<int64_t>(file_bytes);
}

/// Whether every chunk ends inside the file. libpng 1.6 takes (and clears) a chunk's whole length before it reads the
/// first byte, up to 2 GB from a damaged length, and reports its own limit only as a warning.
bool chunks_fit(std::string_view bytes) {
  constexpr size_t kSignature = 8;
  constexpr size_t kFrame = 12;  // length, type, checksum
  for (size_t at = kSignature; at < bytes.size();) {
    if (bytes.size() - at < kFrame) return false;
    size_t length = 0;
    for (size_t i = 0; i < 4; ++i) length = length << 8 | static_cast<unsigned char>(bytes[at + i]);
    if (length > bytes.size() - at - kFrame) return false;
    if (bytes.substr(at + 4, 4) == "IEND") return true;  // what follows is not read
    at += kFrame + length;
  }
  return false;
}

void take_texts(Reader& reader, png_infop info) {
  png_textp texts = nullptr;
  const int count = png_get_text(reader.png, info, &texts, nullptr);
  for (int i = 0; i < count; ++i) {
    const png_text& t = texts[i];
    const size_t length = t.compression > 0 ? t.itxt_length : t.text_length;
    reader.result.texts[t.key] = t.text == nullptr ? "" : std::string(t.text, length);
  }
}

Error bad_png(const std::string& origin, const std::string& why) {
  return {ErrorCode::BadFile, strings::join(origin, " is not a valid PNG (", why, ")"), ""};
}

Status prepare_rows(Reader& reader, size_t file_bytes, int stored_bits, const std::string& origin) {
  const int64_t width = png_get_image_width(reader.png, reader.info);
  const int64_t height = png_get_image_height(reader.png, reader.info);
  if (!can_hold(file_bytes, width, height, stored_bits)) {
    return fail(bad_png(origin, strings::join("it is too short for ", width, "x", height, " pixels")));
  }
  TESSERA_TRY_OK(png_get_rowbytes(reader.png, reader.info) == static_cast<size_t>(width) * 3
                     ? Status()
                     : fail(bad_png(origin, "unknown pixel format")));
  Image& image = reader.result.image;
  image.width = width;
  image.height = height;
  image.rgb.resize(static_cast<size_t>(width * height * 3));
  for (int64_t y = 0; y < height; ++y) reader.rows.push_back(image.rgb.data() + y * width * 3);
  return {};
}

Result<Png> decode(std::string_view bytes, const std::string& origin) {
  if (bytes.size() < 29 || png_sig_cmp(reinterpret_cast<png_const_bytep>(bytes.data()), 0, 8) != 0) {
    return fail(bad_png(origin, "it does not begin as one"));
  }
  if (!chunks_fit(bytes)) return fail(bad_png(origin, "it is cut short or damaged"));
  Reader reader;
  reader.rest = bytes;
  reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, on_error, on_warning);
  if (reader.png != nullptr) reader.info = png_create_info_struct(reader.png);
  if (reader.info != nullptr) reader.end_info = png_create_info_struct(reader.png);
  if (reader.end_info == nullptr) return fail(ErrorCode::OutOfMemory, strings::join("no memory to read ", origin));
  if (!read_header(reader)) return fail(bad_png(origin, reader.message));
  const int stored_bits = static_cast<unsigned char>(bytes[24]);  // IHDR's bits of a channel: a lower bound for a pixel
  TESSERA_TRY_OK(prepare_rows(reader, bytes.size(), stored_bits, origin));
  if (!read_pixels(reader)) return fail(bad_png(origin, reader.message));
  take_texts(reader, reader.info);
  take_texts(reader, reader.end_info);
  return std::move(reader.result);
}

}  // namespace

Result<Png> decode_png(std::string_view bytes, const std::string& origin) {
  try {
    return decode(bytes, origin);
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::OutOfMemory, strings::join("no memory for the picture ", origin));
  }
}

Result<Png> read_png(const std::filesystem::path& path) {
  TESSERA_TRY(const std::string bytes, file::read_text(path));
  return decode_png(bytes, path.string());
}

}  // namespace tessera::media
