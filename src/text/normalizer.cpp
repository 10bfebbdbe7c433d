#include "text/normalizer.h"

namespace tessera::text {
namespace {

std::string strip(std::string_view text, const Strip& sides) {
  size_t begin = 0;
  size_t end = 0;
  bool started = false;
  for (size_t i = 0; i < text.size();) {
    const size_t from = i;
    if (is_white_space(next_code_point(text, i))) continue;
    if (!started) begin = from;
    started = true;
    end = i;
  }
  if (!started) return {};
  if (!sides.left) begin = 0;
  if (!sides.right) end = text.size();
  return std::string(text.substr(begin, end - begin));
}

struct Apply {
  std::string& text;
  void operator()(NormalForm form) const { text = normal_form(text, form); }
  void operator()(const LowerCase&) const { text = lower_case(text); }
  void operator()(const CollapseWhiteSpace&) const { text = collapse_white_space(text); }
  void operator()(const ReplaceText& r) const { text = replace_all(text, r.from, r.to); }
  void operator()(const ReplacePattern& r) const { text = r.pattern.replace_all(text, r.to); }
  void operator()(const Prepend& p) const {
    if (!text.empty()) text.insert(0, p.text);
  }
  void operator()(const Strip& s) const { text = strip(text, s); }
  void operator()(const Charsmap& map) const { text = map.apply(text); }
};

}  // namespace

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  if (from.empty()) return std::string(text);
  std::string out;
  out.reserve(text.size());
  size_t begin = 0;
  for (size_t at = 0; (at = text.find(from, begin)) != std::string_view::npos; begin = at + from.size()) {
    out += text.substr(begin, at - begin);
    out += to;
  }
  out += text.substr(begin);
  return out;
}

std::string collapse_white_space(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool in_run = false;
  for (size_t i = 0; i < text.size();) {
    const size_t from = i;
    const bool space = is_white_space(next_code_point(text, i));
    if (!space) out += text.substr(from, i - from);
    if (space && !in_run) out += ' ';
    in_run = space;
  }
  return out;
}

std::string normalize(std::string text, const std::vector<NormalizerStep>& steps) {
  for (const auto& step : steps) std::visit(Apply{text}, step);
  return text;
}

}  // namespace tessera::text
