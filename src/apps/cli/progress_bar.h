// Progress for people: a bar with steps, steps per second and the time left, on stderr and only on a terminal.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "pipeline/context.h"

namespace tessera::cli {

/// "denoise  [#####.....]  5/10  2.31 it/s  2 s left". Pure: what is printed for these figures.
std::string bar_line(std::string_view stage, int64_t done, int64_t total, double seconds);

class ProgressBar : public pipeline::Progress {
 public:
  /// `visible`: false prints nothing. `on_step`: called after each denoise step with a decoder of the present picture.
  using OnStep = std::function<void(int64_t step, const std::function<at::Tensor()>& decode)>;
  ProgressBar(bool visible, OnStep on_step);
  ~ProgressBar() override;

  void begin(std::string_view stage, int64_t total) override;
  void advance(std::string_view stage, int64_t done) override;
  void after_step(int64_t step, const std::function<at::Tensor()>& decode) override;

 private:
  void print(int64_t done);
  void end_line();

  bool visible_;
  OnStep on_step_;
  std::string stage_;
  int64_t total_ = 0;
  bool line_open_ = false;
  std::chrono::steady_clock::time_point begun_;
};

}  // namespace tessera::cli
