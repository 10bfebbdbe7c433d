// `tessera compare`: how much two pictures, videos, folders of frames, or two sets of weights differ.
#include "tensor/aten.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <limits>
#include <memory>

#include "apps/cli/commands.h"
#include "base/json.h"
#include "base/strings.h"
#include "media/png.h"
#include "media/quality.h"
#include "media/video.h"
#include "weights/tensors.h"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string a;
  std::string b;
};

/// Infinity and NaN have no JSON form: null.
OrderedJson number(double value) {
  return std::isfinite(value) ? OrderedJson(value) : OrderedJson();
}

OrderedJson to_json(const media::Quality& q) {
  return {{"max_abs_difference", q.max_abs_difference},
          {"different_pixels", q.different_pixels},
          {"psnr", number(q.psnr)},
          {"ssim", q.ssim}};
}

Result<media::Quality> compare_images(const media::Image& a, const media::Image& b, const std::string& what) {
  if (a.width != b.width || a.height != b.height) {
    return fail(ErrorCode::BadFile,
                strings::join(what, ": ", a.width, "x", a.height, " pixels against ", b.width, "x", b.height),
                "only pictures of one size can be compared");
  }
  return media::compare(a.view(), b.view());
}

Result<media::Quality> compare_files(const fs::path& a, const fs::path& b) {
  TESSERA_TRY(const media::Png first, media::read_png(a));
  TESSERA_TRY(const media::Png second, media::read_png(b));
  return compare_images(first.image, second.image, strings::join(a.string(), " and ", b.string()));
}

Result<OrderedJson> compare_pictures(const fs::path& a, const fs::path& b) {
  TESSERA_TRY(const media::Quality quality, compare_files(a, b));
  OrderedJson out = {{"kind", "image"}, {"equal", quality.max_abs_difference == 0}};
  out.update(to_json(quality));
  return out;
}

/// Collects frames: the worst difference and PSNR over all of them, and the mean SSIM.
class FrameTotals {
 public:
  void add(const std::string& name, const media::Quality& q) {
    OrderedJson row = {{"frame", name}};
    row.update(to_json(q));
    frames_.push_back(std::move(row));
    all_.max_abs_difference = std::max(all_.max_abs_difference, q.max_abs_difference);
    all_.different_pixels = std::max(all_.different_pixels, q.different_pixels);
    all_.psnr = std::min(all_.psnr, q.psnr);
    ssim_sum_ += q.ssim;
  }

  OrderedJson result(const std::string& kind) {
    all_.ssim = ssim_sum_ / static_cast<double>(frames_.size());
    OrderedJson out = {{"kind", kind}, {"equal", all_.max_abs_difference == 0}};
    out.update(to_json(all_));
    out["frames"] = std::move(frames_);
    return out;
  }

 private:
  OrderedJson frames_ = OrderedJson::array();
  media::Quality all_;
  double ssim_sum_ = 0;
};

Result<OrderedJson> compare_videos(const fs::path& a, const fs::path& b) {
  TESSERA_TRY(const media::Video first, media::read_video(a));
  TESSERA_TRY(const media::Video second, media::read_video(b));
  if (first.frames.size() != second.frames.size()) {
    return fail(
        ErrorCode::BadFile,
        strings::join(a.string(), " has ", first.frames.size(), " frames, ", b.string(), " has ", second.frames.size()),
        "only videos of one length can be compared");
  }
  FrameTotals totals;
  for (size_t i = 0; i < first.frames.size(); ++i) {
    TESSERA_TRY(const media::Quality q, compare_images(first.frames[i], second.frames[i], strings::join("frame ", i)));
    totals.add(std::to_string(i), q);
  }
  return totals.result("video");
}

/// Names of the PNG files in a folder, in order.
std::vector<std::string> frames_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(folder, ec)) {
    if (entry.path().extension() == ".png") names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

Result<OrderedJson> compare_frames(const fs::path& a, const fs::path& b) {
  const std::vector<std::string> names = frames_in(a);
  if (names.empty() || names != frames_in(b)) {
    return fail(ErrorCode::BadFile, strings::join(a.string(), " and ", b.string(), " do not hold the same frames"),
                "both folders need PNG files of the same names");
  }
  FrameTotals totals;
  for (const std::string& name : names) {
    TESSERA_TRY(const media::Quality q, compare_files(a / name, b / name));
    totals.add(name, q);
  }
  return totals.result("frames");
}

/// Sums over the common tensors of two checkpoints.
struct TensorTotals {
  double max_difference = 0;
  double peak = 0;
  double squares = 0;
  int64_t elements = 0;
  bool equal = true;
  std::string worst;
};

OrderedJson compare_tensors(const std::string& name, const at::Tensor& a, const at::Tensor& b, TensorTotals& totals) {
  const bool same_type = a.scalar_type() == b.scalar_type();
  const at::Tensor x = a.to(at::kDouble);
  const at::Tensor difference = (x - b.to(at::kDouble)).abs();
  const bool empty = x.numel() == 0;
  const double largest = empty ? 0 : difference.max().item<double>();
  const double squares = empty ? 0 : difference.square().sum().item<double>();
  const double rms = empty ? 0 : std::sqrt(x.square().mean().item<double>());
  totals.equal = totals.equal && same_type && largest == 0;
  // NaN counts as the worst: a comparison that asks "larger" would pass over it.
  if (!(largest <= totals.max_difference)) totals.worst = name;
  if (!(largest <= totals.max_difference)) totals.max_difference = largest;
  totals.peak = std::max(totals.peak, empty ? 0 : x.abs().max().item<double>());
  totals.squares += squares;
  totals.elements += x.numel();
  return {{"name", name},
          {"max_abs_difference", number(largest)},
          {"rms_of_difference", number(empty ? 0 : std::sqrt(squares / static_cast<double>(x.numel())))},
          {"rms", number(rms)},
          {"relative", number(rms > 0 ? largest / rms : (largest > 0 ? std::nan("") : 0))}};
}

OrderedJson summary(const TensorTotals& totals, const OrderedJson& lists) {
  const bool same_names = lists["only_in_a"].empty() && lists["only_in_b"].empty() && lists["other_shape"].empty();
  const double mean = totals.squares / static_cast<double>(std::max<int64_t>(1, totals.elements));
  OrderedJson out = {{"kind", "tensors"}, {"equal", totals.equal && same_names}};
  out["max_abs_difference"] = number(totals.max_difference);
  out["worst"] = totals.worst.empty() ? OrderedJson() : OrderedJson(totals.worst);
  out["psnr"] = number(mean > 0 ? 10 * std::log10(totals.peak * totals.peak / mean) : std::nan(""));
  out["ssim"] = nullptr;
  return out;
}

Result<OrderedJson> compare_weights(const fs::path& a, const fs::path& b) {
  TESSERA_TRY(const weights::Checkpoint first, weights::open_checkpoint(a));
  TESSERA_TRY(const weights::Checkpoint second, weights::open_checkpoint(b));
  const OrderedJson none = OrderedJson::array();
  OrderedJson lists = {{"only_in_a", none}, {"only_in_b", none}, {"other_shape", none}, {"tensors", none}};
  TensorTotals totals;
  for (const auto& [name, stored] : first.tensors) {
    const auto other = second.tensors.find(name);
    if (other == second.tensors.end()) {
      lists["only_in_a"].push_back(name);
    } else if (other->second.info.shape != stored.info.shape) {
      lists["other_shape"].push_back(name);
    } else {
      TESSERA_TRY(const at::Tensor x, weights::map_tensor(stored, name));
      TESSERA_TRY(const at::Tensor y, weights::map_tensor(other->second, name));
      lists["tensors"].push_back(compare_tensors(name, x, y, totals));
    }
  }
  for (const auto& [name, stored] : second.tensors) {
    if (!first.tensors.contains(name)) lists["only_in_b"].push_back(name);
  }
  OrderedJson out = summary(totals, lists);
  out.update(lists);
  return out;
}

enum class Kind { Picture, Video, Frames, Weights };

Kind kind_of(const fs::path& path) {
  std::error_code ec;
  if (fs::is_directory(path, ec)) return frames_in(path).empty() ? Kind::Weights : Kind::Frames;
  const std::string ending = strings::lower(path.extension().string());
  if (ending == ".png") return Kind::Picture;
  const bool video = ending == ".mp4" || ending == ".mov" || ending == ".mkv" || ending == ".webm";
  return video ? Kind::Video : Kind::Weights;
}

Result<OrderedJson> compare(const fs::path& a, const fs::path& b) {
  for (const fs::path& path : {a, b}) {
    std::error_code ec;
    if (fs::exists(path, ec)) continue;
    return fail(ErrorCode::NotFound, path.string() + " is not there", "name two files or folders");
  }
  const Kind kind = kind_of(a);
  if (kind != kind_of(b)) {
    return fail(ErrorCode::Usage, strings::join(a.string(), " and ", b.string(), " are not of one kind"),
                "compare two PNG files, two videos, two folders of frames, or two sets of weights");
  }
  switch (kind) {
    case Kind::Picture:
      return compare_pictures(a, b);
    case Kind::Video:
      return compare_videos(a, b);
    case Kind::Frames:
      return compare_frames(a, b);
    case Kind::Weights:
      return compare_weights(a, b);
  }
  return fail(ErrorCode::Bug, "unknown kind of file");
}

void print_for_people(const OrderedJson& out) {
  if (out["equal"] == true) std::cout << "equal\n";
  for (const char* key : {"max_abs_difference", "different_pixels", "worst", "psnr", "ssim"}) {
    if (!out.contains(key) || (out[key].is_null() && (out["equal"] == true || key == std::string("ssim")))) continue;
    std::cout << key << ": " << out[key].dump(-1, ' ', false, OrderedJson::error_handler_t::replace) << "\n";
  }
  for (const char* key : {"only_in_a", "only_in_b", "other_shape"}) {
    if (out.contains(key) && !out[key].empty()) std::cout << key << ": " << out[key].dump() << "\n";
  }
}

Status run(const Options& options, const SharedOptions& shared) {
  const c10::InferenceMode no_gradients;
  TESSERA_TRY(const OrderedJson result, compare(options.a, options.b));
  OrderedJson out = {{"a", options.a}, {"b", options.b}};
  out.update(result);
  if (shared.json) {
    std::cout << out.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) << "\n";
  } else {
    print_for_people(out);
  }
  return {};
}

}  // namespace

Command add_compare(CLI::App& app, SharedOptions& shared) {
  auto options = std::make_shared<Options>();  // shared: the parser fills what the action reads
  CLI::App* command = app.add_subcommand(
      "compare", "how much two PNG pictures, videos, folders of frames, or safetensors files differ");
  add_shared_flags(*command, shared);
  command->add_option("A", options->a, "a .png, .mp4 or .safetensors file, or a folder")->required();
  command->add_option("B", options->b, "another of the same kind")->required();
  return {command, [options, &shared] { return run(*options, shared); }};
}

}  // namespace tessera::cli
