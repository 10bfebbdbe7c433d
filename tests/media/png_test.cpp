// PNG files in and out: every colour type, and files that are damaged.
#include "media/png.h"

#include <random>

#include <gtest/gtest.h>
#include <png.h>

#include "base/file.h"
#include "tests/support/temporary_folder.h"

namespace tessera::media {
namespace {

Image noise(int64_t width, int64_t height) {
  std::mt19937 random(7);
  Image image{std::vector<uint8_t>(static_cast<size_t>(width * height * 3)), width, height};
  for (uint8_t& v : image.rgb) v = static_cast<uint8_t>(random());
  return image;
}

/// A PNG of any type from raw rows, made by libpng directly.
std::string raw_png(int width, int height, int bits, int type, const std::string& rows, bool interlaced = false) {
  std::string out;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &out,
      [](png_structp p, png_bytep data, size_t n) {
        static_cast<std::string*>(png_get_io_ptr(p))->append(reinterpret_cast<const char*>(data), n);
      },
      nullptr);
  png_set_IHDR(png, info, width, height, bits, type, interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  const png_color palette[] = {{1, 2, 3}, {40, 50, 60}, {70, 80, 90}, {255, 0, 9}};
  if (type == PNG_COLOR_TYPE_PALETTE) png_set_PLTE(png, info, palette, 4);
  png_byte alpha[] = {0, 128, 255, 7};
  if (type == PNG_COLOR_TYPE_PALETTE) png_set_tRNS(png, info, alpha, 4, nullptr);
  std::vector<png_bytep> pointers;
  const size_t row_bytes = rows.size() / static_cast<size_t>(height);
  std::string copy = rows;
  for (int y = 0; y < height; ++y) pointers.push_back(reinterpret_cast<png_bytep>(copy.data()) + y * row_bytes);
  png_set_rows(png, info, pointers.data());
  png_write_png(png, info, PNG_TRANSFORM_IDENTITY, nullptr);
  png_destroy_write_struct(&png, &info);
  return out;
}

std::vector<uint8_t> pixels(const std::string& bytes) {
  return decode_png(bytes, "test").value().image.rgb;
}

TEST(Png, PicturesAndTextsComeBackAsTheyWere) {
  const test::TemporaryFolder folder;
  const Image image = noise(37, 19);
  const PngTexts texts = {{"tessera", "{\"prompt\": \"名前 é\"}"}, {"parameters", "line\nline"}, {"empty", ""}};
  ASSERT_TRUE(write_png(folder / "a.png", image.view(), texts));
  const Png read = read_png(folder / "a.png").value();
  EXPECT_EQ(read.image.width, 37);
  EXPECT_EQ(read.image.height, 19);
  EXPECT_EQ(read.image.rgb, image.rgb);
  EXPECT_EQ(read.texts, texts);
}

TEST(Png, EveryColourTypeBecomesRgb) {
  using V = std::vector<uint8_t>;
  EXPECT_EQ(pixels(raw_png(2, 1, 8, PNG_COLOR_TYPE_GRAY, {'\x05', '\x7f'})), (V{5, 5, 5, 127, 127, 127}));
  EXPECT_EQ(pixels(raw_png(8, 1, 1, PNG_COLOR_TYPE_GRAY, {'\x80'})),
            (V{255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(pixels(raw_png(1, 1, 16, PNG_COLOR_TYPE_GRAY, {'\x12', '\xff'})), (V{18, 18, 18}));
  EXPECT_EQ(pixels(raw_png(1, 1, 8, PNG_COLOR_TYPE_GRAY_ALPHA, {'\x12', '\x01'})), (V{18, 18, 18}));
  EXPECT_EQ(pixels(raw_png(1, 1, 8, PNG_COLOR_TYPE_RGBA, {'\x01', '\x02', '\x03', '\0'})), (V{1, 2, 3}));
  EXPECT_EQ(pixels(raw_png(1, 1, 16, PNG_COLOR_TYPE_RGB, {'\x01', '\xff', '\x02', '\0', '\x03', '\0'})), (V{1, 2, 3}));
  EXPECT_EQ(pixels(raw_png(2, 1, 8, PNG_COLOR_TYPE_PALETTE, {'\x01', '\x03'})), (V{40, 50, 60, 255, 0, 9}));
  EXPECT_EQ(pixels(raw_png(4, 1, 2, PNG_COLOR_TYPE_PALETTE, {'\x1b'})),
            (V{1, 2, 3, 40, 50, 60, 70, 80, 90, 255, 0, 9}));
}

TEST(Png, InterlacedPicturesAreRead) {
  const Image image = noise(13, 11);
  const std::string rows(image.rgb.begin(), image.rgb.end());
  EXPECT_EQ(pixels(raw_png(13, 11, 8, PNG_COLOR_TYPE_RGB, rows, true)), image.rgb);
}

TEST(Png, EveryCutIsABadFile) {
  const std::string whole = encode_png(noise(9, 5).view(), {{"tessera", "{}"}}).value();
  for (size_t n = 0; n < whole.size(); ++n) {
    const auto png = decode_png(std::string_view(whole).substr(0, n), "cut.png");
    ASSERT_FALSE(png) << n;
    EXPECT_EQ(png.error().code, ErrorCode::BadFile);
    EXPECT_NE(png.error().what.find("cut.png"), std::string::npos);
  }
}

TEST(Png, SurvivesDamage) {
  std::mt19937 random(11);
  const std::string whole = encode_png(noise(9, 5).view(), {{"tessera", "{\"a\": 1}"}}).value();
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = whole;
    for (int n = 0; n < 3; ++n) bytes[8 + random() % (bytes.size() - 8)] = static_cast<char>(random());
    if (!decode_png(bytes, "x")) ++refused;
  }
  EXPECT_GT(refused, 1000);
}

TEST(Png, AHeaderThatPromisesTooMuchTakesNoMemory) {
  std::string bytes = raw_png(1, 1, 8, PNG_COLOR_TYPE_GRAY, {'\0'});
  for (int i = 16; i < 24; ++i) bytes[static_cast<size_t>(i)] = i % 4 == 1 ? '\x0f' : '\0';  // 983040 x 983040
  uint32_t crc = 0xffffffff;  // of the changed header, so that the size is believed
  for (size_t i = 12; i < 29; ++i) {
    crc ^= static_cast<unsigned char>(bytes[i]);
    for (int k = 0; k < 8; ++k) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320u : 0);
  }
  for (size_t i = 0; i < 4; ++i) bytes[29 + i] = static_cast<char>(~crc >> (24 - 8 * i));
  const auto png = decode_png(bytes, "huge.png");
  ASSERT_FALSE(png);
  EXPECT_NE(png.error().what.find("983040x983040"), std::string::npos) << png.error().what;
}

TEST(Png, RefusesWhatCannotBeWritten) {
  const Image image = noise(2, 2);
  EXPECT_EQ(encode_png({nullptr, 2, 2}).error().code, ErrorCode::Misuse);
  EXPECT_EQ(encode_png({image.rgb.data(), 0, 2}).error().code, ErrorCode::Misuse);
  EXPECT_EQ(encode_png(image.view(), {{"", "x"}}).error().code, ErrorCode::Misuse);
  EXPECT_EQ(encode_png(image.view(), {{std::string(80, 'k'), "x"}}).error().code, ErrorCode::Misuse);
  EXPECT_EQ(encode_png(image.view(), {{"k", std::string("a\0b", 3)}}).error().code, ErrorCode::Misuse);
}

TEST(Png, MissingFilesAndFoldersAreNamed) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(read_png(folder / "none.png").error().code, ErrorCode::NotFound);
  EXPECT_FALSE(write_png(folder / "none/a.png", noise(1, 1).view()));
  ASSERT_TRUE(file::write_atomically(folder / "text.png", "hello, this is no picture at all, only text"));
  EXPECT_EQ(read_png(folder / "text.png").error().code, ErrorCode::BadFile);
}

}  // namespace
}  // namespace tessera::media
