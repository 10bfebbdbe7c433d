#include "weights/header.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <new>
#include <set>
#include <stdexcept>

#include "base/json.h"
#include "base/strings.h"

namespace tessera::weights {
namespace {

constexpr uint64_t kPrefixBytes = 8;
constexpr uint64_t kLimitBytes = 100'000'000;  // the official library's own limit for the header
constexpr int kLimitDepth = 127;               // as the official library's JSON reader

constexpr std::array<std::string_view, 3> kFields = {"dtype", "shape", "data_offsets"};

struct StoredType {
  std::string_view name;
  int bits;
  std::optional<DType> dtype;
};

constexpr std::array<StoredType, 22> kTypes = {{
    {"BOOL", 8, DType::Bool},
    {"F4", 4, std::nullopt},
    {"F6_E2M3", 6, std::nullopt},
    {"F6_E3M2", 6, std::nullopt},
    {"U8", 8, DType::U8},
    {"I8", 8, DType::I8},
    {"F8_E5M2", 8, DType::F8E5M2},
    {"F8_E4M3", 8, DType::F8E4M3},
    {"F8_E8M0", 8, std::nullopt},
    {"F8_E4M3FNUZ", 8, std::nullopt},
    {"F8_E5M2FNUZ", 8, std::nullopt},
    {"I16", 16, DType::I16},
    {"U16", 16, DType::U16},
    {"F16", 16, DType::F16},
    {"BF16", 16, DType::BF16},
    {"I32", 32, DType::I32},
    {"U32", 32, DType::U32},
    {"F32", 32, DType::F32},
    {"C64", 64, std::nullopt},
    {"F64", 64, DType::F64},
    {"I64", 64, DType::I64},
    {"U64", 64, DType::U64},
}};

/// What is wrong with the header; becomes a BadFile in parse_header.
class Wrong : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <typename... Parts>
[[noreturn]] void wrong(const Parts&... parts) {
  throw Wrong(strings::join(parts...));
}

/// A name from the file as it may stand in a one-line message.
std::string quoted(const std::string& name) {
  const std::string text = Json(name).dump(-1, ' ', true, Json::error_handler_t::replace);
  return text.size() <= 120 ? text : text.substr(0, 117) + "...\"";
}

/// Refuses while parsing what a finished JSON value no longer shows: repeated names, and endless nesting.
class ParseGuard {
 public:
  bool operator()(int depth, Json::parse_event_t event, const Json& value) {
    const bool opens = event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start;
    if (opens && depth >= kLimitDepth) wrong("values are nested more than ", kLimitDepth, " deep");
    if (event != Json::parse_event_t::key || depth > 2) return true;
    const auto& key = value.get_ref<const std::string&>();
    if (depth == 1) return top(key);
    const bool ours = std::ranges::find(kFields, key) != kFields.end();
    if (ours && !in_metadata_ && !fields_.insert(key).second) wrong("field ", quoted(key), " stands twice");
    return true;
  }

 private:
  bool top(const std::string& key) {
    if (!names_.insert(key).second) wrong("tensor ", quoted(key), " stands twice");
    in_metadata_ = key == "__metadata__";
    fields_.clear();
    return true;
  }
  std::set<std::string> names_;
  std::set<std::string> fields_;
  bool in_metadata_ = false;
};

std::string_view header_text(std::string_view bytes) {
  if (bytes.size() < kPrefixBytes) wrong("it has ", bytes.size(), " bytes, less than the 8 of the header's length");
  uint64_t length = 0;
  for (size_t i = kPrefixBytes; i-- > 0;) length = length << 8 | static_cast<unsigned char>(bytes[i]);
  if (length > kLimitBytes) wrong("a header of ", length, " bytes is over the limit of ", kLimitBytes);
  if (length > bytes.size() - kPrefixBytes) {
    wrong("the header should have ", length, " bytes, but the file ends after ", bytes.size() - kPrefixBytes);
  }
  return bytes.substr(kPrefixBytes, static_cast<size_t>(length));
}

Json parse_json(std::string_view text) {
  // The JSON reader takes a NUL for the end of the text and skips a byte order mark; the format allows neither.
  if (text.find('\0') != std::string_view::npos) wrong("the header contains a NUL byte");
  if (text.starts_with("\xEF\xBB\xBF")) wrong("the header begins with a byte order mark");
  ParseGuard guard;
  Json json = Json::parse(text.begin(), text.end(), std::ref(guard));
  if (!json.is_object()) wrong("the header is not a JSON object");
  return json;
}

std::map<std::string, std::string> metadata_of(const Json& json) {
  if (!json.is_object()) wrong("__metadata__ is not an object");
  std::map<std::string, std::string> metadata;
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string()) wrong("__metadata__ value ", quoted(key), " is not a string");
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

/// The official reader also takes a tensor as the list of its three values.
const Json& field(const Json& tensor, std::string_view name) {
  if (tensor.is_array()) return tensor[static_cast<size_t>(std::ranges::find(kFields, name) - kFields.begin())];
  const auto it = tensor.find(name);
  if (it == tensor.end()) wrong("it has no ", name);
  return *it;
}

uint64_t unsigned_of(const Json& value, const char* what) {
  if (!value.is_number_unsigned()) wrong(what, " is not a whole number of 64 bits without sign");
  return value.get<uint64_t>();
}

const StoredType& type_of(const Json& value) {
  // The official reader also takes {"F32": null}: its way to spell one of several kinds.
  if (value.is_object() && value.size() == 1 && value.begin()->is_null()) return type_of(Json(value.begin().key()));
  if (!value.is_string()) wrong("dtype is not a string");
  const auto& name = value.get_ref<const std::string&>();
  const auto it = std::ranges::find(kTypes, name, &StoredType::name);
  if (it == kTypes.end()) wrong("dtype ", quoted(name), " is unknown");
  return *it;
}

std::vector<int64_t> shape_of(const Json& value) {
  if (!value.is_array()) wrong("shape is not an array");
  std::vector<int64_t> shape;
  for (const Json& size : value) {
    const uint64_t n = unsigned_of(size, "a size in the shape");
    if (n > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) wrong("size ", n, " in the shape is too large");
    shape.push_back(static_cast<int64_t>(n));
  }
  return shape;
}

/// The bytes that type and shape need; the product is checked at every step, also where a later zero would hide it.
uint64_t needed_bytes(const StoredType& type, const std::vector<int64_t>& shape) {
  uint64_t bits = 1;
  for (const int64_t size : shape) {
    if (__builtin_mul_overflow(bits, static_cast<uint64_t>(size), &bits)) wrong("the element count overflows 64 bits");
  }
  if (__builtin_mul_overflow(bits, static_cast<uint64_t>(type.bits), &bits)) wrong("the size overflows 64 bits");
  if (bits % 8 != 0) wrong("its elements end inside a byte");
  return bits / 8;
}

/// Offsets are still those of the header (from the start of the data) and only checked against type and shape.
TensorInfo tensor_of(const Json& json, uint64_t data_bytes) {
  if (!json.is_object() && !(json.is_array() && json.size() == kFields.size())) wrong("it is not an object");
  const StoredType& type = type_of(field(json, "dtype"));
  TensorInfo info{std::string(type.name), type.dtype, shape_of(field(json, "shape")), 0, 0};
  const Json& offsets = field(json, "data_offsets");
  if (!offsets.is_array() || offsets.size() != 2) wrong("data_offsets is not a pair");
  const uint64_t begin = unsigned_of(offsets[0], "a data offset");
  const uint64_t end = unsigned_of(offsets[1], "a data offset");
  if (begin > end) wrong("data_offsets [", begin, ", ", end, "] run backwards");
  if (end > data_bytes) {
    wrong("data_offsets [", begin, ", ", end, "] reach beyond the file, which has ", data_bytes, " bytes of data");
  }
  const uint64_t needed = needed_bytes(type, info.shape);
  if (needed != end - begin) wrong(describe(info), " needs ", needed, " bytes, data_offsets give ", end - begin);
  info.begin_bytes = static_cast<int64_t>(begin);
  info.end_bytes = static_cast<int64_t>(end);
  return info;
}

/// Every byte of the data belongs to exactly one tensor.
void check_cover(const std::map<std::string, TensorInfo>& tensors, int64_t data_bytes) {
  std::vector<const std::pair<const std::string, TensorInfo>*> order;
  order.reserve(tensors.size());
  for (const auto& entry : tensors) order.push_back(&entry);
  std::ranges::sort(order, {}, [](const auto* e) { return std::pair(e->second.begin_bytes, e->second.end_bytes); });
  int64_t covered = 0;
  for (const auto* entry : order) {
    const int64_t begin = entry->second.begin_bytes;
    if (begin < covered) wrong("tensor ", quoted(entry->first), " begins at ", begin, " inside of another tensor");
    if (begin > covered) wrong(begin - covered, " bytes before tensor ", quoted(entry->first), " belong to no tensor");
    covered = entry->second.end_bytes;
  }
  if (covered < data_bytes) wrong(data_bytes - covered, " bytes at the end belong to no tensor");
}

Header header_of(std::string_view bytes) {
  const std::string_view text = header_text(bytes);
  const Json json = parse_json(text);
  const auto data_begin = static_cast<int64_t>(kPrefixBytes + text.size());
  const auto data_bytes = static_cast<int64_t>(bytes.size()) - data_begin;
  Header header;
  for (const auto& [name, value] : json.items()) {
    if (name == "__metadata__") {
      if (!value.is_null()) header.metadata = metadata_of(value);
      continue;
    }
    try {
      header.tensors[name] = tensor_of(value, static_cast<uint64_t>(data_bytes));
    } catch (const Wrong& e) {
      wrong("tensor ", quoted(name), ": ", e.what());
    }
  }
  check_cover(header.tensors, data_bytes);
  for (auto& [name, info] : header.tensors) {
    info.begin_bytes += data_begin;
    info.end_bytes += data_begin;
  }
  return header;
}

}  // namespace

int64_t TensorInfo::elements() const {
  uint64_t count = 1;  // parse_header has checked this product in 64 bits without sign
  for (const int64_t size : shape) count *= static_cast<uint64_t>(size);
  return static_cast<int64_t>(count);
}

std::string describe(const TensorInfo& info) {
  std::vector<std::string> sizes;
  for (const int64_t size : info.shape) sizes.push_back(std::to_string(size));
  return strings::join(info.stored_dtype, " [", strings::list(sizes), "]");
}

Result<Header> parse_header(std::string_view bytes, const std::string& origin) {
  try {
    return header_of(bytes);
  } catch (const Wrong& e) {
    return fail(ErrorCode::BadFile, strings::join(origin, " is not a valid safetensors file (", e.what(), ")"),
                "the file is damaged or incomplete; fetch it again");
  } catch (const nlohmann::json::exception& e) {
    return fail(ErrorCode::BadFile, strings::join(origin, " is not a valid safetensors file (header: ", e.what(), ")"),
                "the file is damaged or incomplete; fetch it again");
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::OutOfMemory, strings::join("no memory for the header of ", origin));
  }
}

}  // namespace tessera::weights
