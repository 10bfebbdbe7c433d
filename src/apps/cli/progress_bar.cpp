#include "apps/cli/progress_bar.h"

#include <cstdio>

#include "base/strings.h"

namespace tessera::cli {
namespace {

constexpr int64_t kBarWidth = 24;

double seconds_since(std::chrono::steady_clock::time_point begun) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

}  // namespace

std::string bar_line(std::string_view stage, int64_t done, int64_t total, double seconds) {
  if (total <= 1) return std::string(stage);
  const auto filled = static_cast<size_t>(kBarWidth * done / total);
  const std::string bar = std::string(filled, '#') + std::string(kBarWidth - filled, '.');
  const std::string counted = strings::join(stage, " [", bar, "] ", done, "/", total);
  if (done == 0 || seconds <= 0) return counted;
  const double rate = static_cast<double>(done) / seconds;
  return strings::join(counted, "  ", strings::fixed(rate, 2), " it/s  ",
                       strings::fixed(static_cast<double>(total - done) / rate, 0), " s left");
}

ProgressBar::ProgressBar(bool visible, OnStep on_step) : visible_(visible), on_step_(std::move(on_step)) {}

ProgressBar::~ProgressBar() {
  end_line();
}

void ProgressBar::begin(std::string_view stage, int64_t total) {
  end_line();
  stage_ = stage;
  total_ = total;
  begun_ = std::chrono::steady_clock::now();
  print(0);
}

void ProgressBar::advance(std::string_view stage, int64_t done) {
  if (stage_ != stage) begin(stage, total_);
  print(done);
}

void ProgressBar::after_step(int64_t step, const std::function<at::Tensor()>& decode) {
  if (on_step_) on_step_(step, decode);
}

void ProgressBar::print(int64_t done) {
  if (!visible_) return;
  std::fprintf(stderr, "\r\033[K%s", bar_line(stage_, done, total_, seconds_since(begun_)).c_str());
  std::fflush(stderr);
  line_open_ = true;
}

void ProgressBar::end_line() {
  if (line_open_) std::fprintf(stderr, "\n");
  line_open_ = false;
}

}  // namespace tessera::cli
