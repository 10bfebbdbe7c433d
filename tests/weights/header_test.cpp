// The header parser against the golden files, against edge cases of the official library, and against damaged files.
#include "weights/header.h"

#include <random>

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "tests/support/safetensors_writer.h"
#include "weights/safetensors.h"

namespace tessera::weights {
namespace {

const std::filesystem::path kGolden = std::filesystem::path(TESSERA_SOURCE_DIR) / "tests/golden/safetensors";

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    text += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
    text += "0123456789abcdef"[c & 15];
  }
  return text;
}

void expect_same_content(const SafetensorsFile& file, const Json& want) {
  EXPECT_EQ(file.header.tensors.size(), want["tensors"].size());
  for (const auto& [name, tensor] : want["tensors"].items()) {
    ASSERT_TRUE(file.header.tensors.contains(name)) << name;
    const TensorInfo& info = file.header.tensors.at(name);
    EXPECT_EQ(info.stored_dtype, tensor["dtype"].get<std::string>());
    EXPECT_EQ(info.shape, tensor["shape"].get<std::vector<int64_t>>());
    EXPECT_EQ(hex(file.bytes(info)), tensor["hex"].get<std::string>()) << name;
  }
  EXPECT_EQ(file.header.metadata.has_value(), !want["metadata"].is_null());
  if (file.header.metadata) {
    EXPECT_EQ(Json(*file.header.metadata), want["metadata"]);
  }
}

TEST(Header, AgreesWithTheOfficialLibraryOnEveryGoldenFile) {
  const Json index = json::read_file(kGolden / "index.json").value();
  int checked = 0;
  for (const Json& want : index["cases"]) {
    if (!want.contains("file")) continue;
    SCOPED_TRACE(want["name"].get<std::string>());
    const auto file = open_safetensors(kGolden / want["file"].get<std::string>());
    EXPECT_EQ(file.has_value(), want["expect"] == "accept") << (file ? "" : file.error().line());
    if (file && want["expect"] == "accept") expect_same_content(*file, want);
    if (!file) {
      EXPECT_EQ(file.error().code, ErrorCode::BadFile);
    }
    ++checked;
  }
  EXPECT_GE(checked, 30);
}

std::string with_tensor(const std::string& fields) {
  return "{\"a\":{" + fields + "}}";
}

// What the official library (0.8.0) says to each of these was tried out once; where we differ on purpose it is said.
TEST(Header, DecidesEdgeCasesAsTheOfficialLibrary) {
  const std::string good = R"("dtype":"U8","shape":[4],"data_offsets":[0,4])";
  const std::string a = "{\"a\":{" + good + "}";
  const auto offsets = [](const std::string& o) {
    return with_tensor(R"("dtype":"U8","shape":[4],"data_offsets":)" + o);
  };
  const auto shape = [](const std::string& s) {
    return with_tensor(R"("dtype":"U8","data_offsets":[0,4],"shape":)" + s);
  };
  const auto nested = [&](int n) {
    return with_tensor(good + ",\"x\":" + std::string(static_cast<size_t>(n), '[') +
                       std::string(static_cast<size_t>(n), ']'));
  };
  const struct {
    std::string header;
    bool accepted;
  } cases[] = {
      {a + "}", true},
      {" \n" + a + "}\t  ", true},
      {a + "}" + std::string(2, '\0'), false},
      {"\xEF\xBB\xBF" + a + "}", false},
      {a + "}{}", false},
      {a + ",}", false},
      {a + "/**/}", false},
      {a + R"(,"__metadata__":null})", true},
      {a + R"(,"__metadata__":{"k":"v","k":"w"}})", true},
      {a + R"(,"__metadata__":[]})", false},
      {a + R"(,"__metadata__":{},"__metadata__":{}})", false},
      {a + ",\"a\":{" + good + "}}", false},  // the library keeps the last one; the format forbids repeated names
      {with_tensor(good + R"(,"x":[1,{"y":2}],"x":3)"), true},
      {with_tensor(R"("dtype":"U8",)" + good), false},
      {with_tensor(R"("dtype":"u8","shape":[4],"data_offsets":[0,4])"), false},
      {with_tensor(R"("dtype":"C128","shape":[4],"data_offsets":[0,4])"), false},
      {with_tensor(R"("dtype":"F4","shape":[8],"data_offsets":[0,4])"), true},
      {with_tensor(R"("dtype":"F4","shape":[7],"data_offsets":[0,4])"), false},
      {with_tensor(R"("dtype":"F8_E8M0","shape":[4],"data_offsets":[0,4])"), true},
      {"{\"a\":null}", false},
      {R"({"a":["U8",[4],[0,4]]})", true},
      {R"({"a":["U8",[4],[0,4],1]})", false},
      {R"({"a":["U8",[4]]})", false},
      {with_tensor(R"("dtype":{"U8":null},"shape":[4],"data_offsets":[0,4])"), true},
      {with_tensor(R"("dtype":{"U8":1},"shape":[4],"data_offsets":[0,4])"), false},
      {offsets("[0,4,4]"), false},
      {offsets("[0]"), false},
      {offsets("[0,5]"), false},
      {offsets("[-0,4]"), false},
      {offsets("[1,4]"), false},
      {offsets("[0,1e400]"), false},
      {shape("[4.0]"), false},
      {shape("[4e0]"), false},
      {shape("[-4]"), false},
      {shape("null"), false},
      {shape("[2,2,1]"), true},
      {shape("[\"4\"]"), false},
      {a + R"(,"b":{"dtype":"U8","shape":[0],"data_offsets":[4,4]}})", true},
      {a + R"(,"b":{"dtype":"U8","shape":[0],"data_offsets":[2,2]}})", false},
      {a + R"(,"b":{"dtype":"U8","shape":[0],"data_offsets":[5,5]}})", false},
      {a + R"(,"b":{"dtype":"U8","shape":[9223372036854775807,4,0],"data_offsets":[4,4]}})", false},
      {a + R"(,"b":{"dtype":"U8","shape":[0,9223372036854775807,4],"data_offsets":[4,4]}})", true},
      {nested(125), true},
      {nested(126), false},
      {"{\"\\ud800\":{" + good + "}}", false},
      {"{\"\\u0000\":{" + good + "}}", true},
      {"{\"a\n\":{" + good + "}}", false},
      {"\"a\"", false},
      {"", false},
  };
  for (const auto& c : cases) {
    const auto header = parse_header(test::safetensors_bytes(c.header, "1234"), "x");
    EXPECT_EQ(header.has_value(), c.accepted) << c.header << (header ? "" : "\n" + header.error().line());
  }
}

TEST(Header, AnErrorIsOneShortLineWithTheFileAndTheTensor) {
  const std::string name(5000, 'n');
  const auto header = parse_header(test::safetensors_bytes("{\"\\n" + name + "\":3}"), "weights.safetensors");
  ASSERT_FALSE(header);
  const std::string line = header.error().line();
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_NE(line.find("weights.safetensors"), std::string::npos);
  EXPECT_NE(line.find("nnn"), std::string::npos);
  EXPECT_LT(line.size(), 400u);
}

/// Reads every byte that the header promises, so that a sanitizer sees a range outside of the file.
void touch(const Header& header, std::string_view bytes) {
  unsigned sum = 0;
  for (const auto& [name, info] : header.tensors) {
    ASSERT_GE(info.begin_bytes, 8);
    ASSERT_LE(info.begin_bytes, info.end_bytes);
    ASSERT_LE(static_cast<size_t>(info.end_bytes), bytes.size());
    for (int64_t i = info.begin_bytes; i < info.end_bytes; ++i)
      sum += static_cast<unsigned char>(bytes[static_cast<size_t>(i)]);
  }
  EXPECT_GE(sum, 0u);
}

class Mutator {
 public:
  std::string apply(std::string bytes) {
    for (int n = pick(4); n >= 0 && !bytes.empty(); --n) change(bytes);
    return bytes;
  }

 private:
  int pick(size_t below) { return static_cast<int>(random_() % below); }
  void change(std::string& bytes) {
    static const std::vector<std::string> kTokens = {"{",
                                                     "}",
                                                     "[",
                                                     "]",
                                                     "\"",
                                                     ",",
                                                     ":",
                                                     "-1",
                                                     "18446744073709551615",
                                                     "18446744073709551616",
                                                     "1e9",
                                                     "null",
                                                     "\xff",
                                                     std::string(1, '\0'),
                                                     "9223372036854775808",
                                                     "\"__metadata__\"",
                                                     "\"data_offsets\"",
                                                     "\"F64\"",
                                                     "[0,0]",
                                                     "\\ud800"};
    const auto at = static_cast<size_t>(pick(bytes.size()));
    switch (pick(6)) {
      case 0:
        bytes[at] = static_cast<char>(pick(256));
        break;
      case 1:
        bytes.erase(at, 1 + static_cast<size_t>(pick(8)));
        break;
      case 2:
        bytes.insert(at, kTokens[static_cast<size_t>(pick(kTokens.size()))]);
        break;
      case 3:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << pick(8)));
        break;
      case 4:
        bytes.resize(at);
        break;
      default:
        bytes.insert(at, bytes.substr(static_cast<size_t>(pick(bytes.size())), 24));
        break;
    }
  }
  std::mt19937 random_{20260};
};

/// The header's length is made right again, so that the damage reaches the JSON reader.
void repair_length(std::string& bytes, int64_t change) {
  if (bytes.size() < 8) return;
  const auto length = static_cast<unsigned char>(bytes[0]) + 256 * static_cast<unsigned char>(bytes[1]);
  const int64_t repaired = std::max<int64_t>(0, length + change);
  bytes[0] = static_cast<char>(repaired & 255);
  bytes[1] = static_cast<char>(repaired >> 8 & 255);
}

TEST(Header, SurvivesDamagedFiles) {
  Mutator mutator;
  int accepted = 0;
  int refused = 0;
  for (const char* name :
       {"valid_basic", "valid_dtypes", "valid_odd_names", "valid_scalar_and_empty", "misaligned_tensor"}) {
    const std::string original = file::read_text(kGolden / (std::string(name) + ".safetensors")).value();
    for (int i = 0; i < 4000; ++i) {
      std::string bytes = mutator.apply(original);
      if (i % 2 == 0) repair_length(bytes, static_cast<int64_t>(bytes.size()) - static_cast<int64_t>(original.size()));
      const auto header = parse_header(bytes, name);
      header ? ++accepted : ++refused;
      if (header) touch(*header, bytes);
    }
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace tessera::weights
