// The stored answers of the reference implementation (float64), every case on every instruction set.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>

#include "base/json.h"
#include "base/strings.h"
#include "kernels/problem.h"
#include "tests/kernels/attention_case.h"

namespace tessera::test {
namespace {

const std::string kFolder = std::string(TESSERA_SOURCE_DIR) + "/tests/golden/attention/";

/// A whole safetensors file, trusted because it is ours.
struct StoredTensors {
  std::string bytes;
  Json header;
  size_t data_at = 0;

  explicit StoredTensors(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
    uint64_t length = 0;
    std::memcpy(&length, bytes.data(), 8);
    header = Json::parse(bytes.substr(8, length));
    data_at = 8 + length;
  }
  const std::byte* data(const std::string& name) const {
    return reinterpret_cast<const std::byte*>(bytes.data()) + data_at + header[name]["data_offsets"][0].get<size_t>();
  }
};

kernels::TensorView view(const StoredTensors& file, const Json& v, DType dtype) {
  const auto& s = v["strides"];
  const std::byte* data = file.data(v["storage"]) + v["offset"].get<int64_t>() * size_bytes(dtype);
  return {data, s[0], s[1], s[2], s[3]};
}

void set_mask(kernels::AttentionArgs& a, const StoredTensors& file, const Json& c) {
  if (c["mask"].is_null()) return;
  std::vector<int64_t> shape = c["mask"]["shape"];
  while (shape.size() < 4) shape.insert(shape.begin(), 1);
  a.mask.kind =
      c["mask"]["kind"].get<std::string>().starts_with("bool") ? kernels::MaskKind::Bool : kernels::MaskKind::Additive;
  a.mask.data = file.data("mask");
  int64_t stride = 1;
  int64_t* strides[] = {&a.mask.stride_b, &a.mask.stride_h, &a.mask.stride_q, &a.mask.stride_k};
  for (size_t i = 4; i-- > 0;) {
    *strides[i] = shape[i] == 1 ? 0 : stride;
    stride *= shape[i];
  }
}

struct Stored {
  kernels::AttentionArgs args;
  std::vector<std::byte> out;
  std::vector<float> lse;
};

Stored load(const StoredTensors& file, const Json& c) {
  Stored s;
  kernels::AttentionArgs& a = s.args;
  a.dtype = *parse_dtype(c["dtype"].get<std::string>());
  a.batch = c["batch"], a.seq_q = c["seq_q"], a.seq_kv = c["seq_kv"];
  a.heads_q = c["heads"], a.heads_kv = c["kv_heads"], a.head_dim = c["head_dim"], a.value_dim = c["value_dim"];
  a.scale = c["scale"];
  a.causal = c["causal"] ? kernels::Causal::TopLeft : kernels::Causal::None;
  a.q = view(file, c["views"]["q"], a.dtype);
  a.k = view(file, c["views"]["k"], a.dtype);
  a.v = view(file, c["views"]["v"], a.dtype);
  set_mask(a, file, c);
  s.out.resize(static_cast<size_t>(a.batch * a.seq_q * a.heads_q * a.value_dim * size_bytes(a.dtype)));
  s.lse.resize(static_cast<size_t>(a.batch * a.seq_q * a.heads_q));
  a.out = {s.out.data(), a.seq_q * a.heads_q * a.value_dim, a.heads_q * a.value_dim, a.value_dim};
  a.lse = s.lse.data(), a.lse_stride_b = a.heads_q * a.seq_q, a.lse_stride_h = a.seq_q;
  return s;
}

double worst(const float* want, size_t count, const std::function<double(size_t)>& got) {
  double worst = 0;
  for (size_t i = 0; i < count; ++i) {
    const double g = got(i);
    if (g == static_cast<double>(want[i])) continue;
    const double d = std::fabs(g - want[i]);
    worst = std::isnan(d) ? std::numeric_limits<double>::infinity() : std::fmax(worst, d);
  }
  return worst;
}

TEST(AttentionGolden, EveryCaseOnEveryInstructionSet) {
  const auto index = json::read_file(kFolder + "index.json");
  ASSERT_TRUE(index.has_value()) << index.error().line();
  for (const Json& c : (*index)["cases"]) {
    const StoredTensors file(kFolder + c["file"].get<std::string>());
    for (const kernels::Isa isa : isas()) {
      Stored s = load(file, c);
      s.args.isa = isa;
      ASSERT_EQ(attention_forward(s.args).status, kernels::Status::Ok);
      const auto where = strings::join(c["name"].get<std::string>(), ", ", isa_name(isa));
      const size_t count = s.out.size() / static_cast<size_t>(size_bytes(s.args.dtype));
      const auto* out = reinterpret_cast<const float*>(file.data("out"));
      const auto* lse = reinterpret_cast<const float*>(file.data("lse"));
      const auto got = [&](size_t i) { return kernels::load_element(s.out.data(), s.args.dtype, int64_t(i)); };
      EXPECT_LE(worst(out, count, got), c["tolerance"]["out_abs"].get<double>()) << where;
      EXPECT_LE(worst(lse, s.lse.size(), [&](size_t i) { return s.lse[i]; }), c["tolerance"]["lse_abs"].get<double>())
          << where;
    }
  }
}

}  // namespace
}  // namespace tessera::test
