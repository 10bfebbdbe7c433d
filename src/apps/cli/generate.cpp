// `tessera generate`: makes pictures or a video from a prompt.
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <memory>

#include "apps/cli/commands.h"
#include "apps/cli/generate_flags.h"
#include "apps/cli/generate_output.h"
#include "apps/cli/interrupt.h"
#include "apps/cli/progress_bar.h"
#include "apps/cli/version.h"
#include "base/strings.h"
#include "runtime/device.h"
#include "runtime/generator.h"

namespace tessera::cli {
namespace {

using runtime::Generated;
using runtime::Generator;
using runtime::Recipe;

/// What one invocation has made so far, for the JSON at its end.
struct Outcome {
  std::vector<std::string> files;
  std::vector<uint64_t> seeds;
  pipeline::Timings timings;
  double total_seconds = 0;
};

int64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

OrderedJson outcome_json(const Outcome& o, const Generator& generator) {
  OrderedJson timings = {{"load", o.timings.load},
                         {"encode", o.timings.encode},
                         {"denoise", o.timings.denoise},
                         {"decode", o.timings.decode},
                         {"total", o.total_seconds}};
  return {{"files", o.files},
          {"seeds", o.seeds},
          {"timings", std::move(timings)},
          {"peak_rss_bytes", peak_rss_bytes()},
          {"device", generator.device().str()},
          {"dtype", c10::toString(generator.dtype())},
          {"arithmetic", generator.arithmetic_report()},
          {"attention", generator.attention_report()}};
}

void add_timings(const pipeline::Timings& t, pipeline::Timings& sum) {
  sum.load += t.load;
  sum.encode += t.encode;
  sum.denoise.insert(sum.denoise.end(), t.denoise.begin(), t.denoise.end());
  sum.decode += t.decode;
}

/// Saves the intermediate picture after every n-th step.
ProgressBar::OnStep previews(const GenerateFlags& flags, uint64_t seed) {
  if (flags.preview <= 0) return nullptr;
  return [&flags, seed](int64_t step, const std::function<at::Tensor()>& decode) {
    if ((step + 1) % flags.preview != 0) return;
    OutputTarget target{.path = std::filesystem::path(flags.preview_dir) /
                                strings::join("preview_", seed, "_", strings::zero_padded(step + 1, 4), ".png")};
    const auto written = write_media({.frames = decode().slice(0, 0, 1)}, target, 0, nullptr);
    if (!written) throw RuntimeFault(written.error());
  };
}

Status check_flags(const GenerateFlags& flags, const Recipe& recipe) {
  if (flags.preview > 0 && flags.preview_dir.empty()) {
    return fail(ErrorCode::Usage, "--preview needs --preview-dir", "name the folder that the previews go to");
  }
  if (recipe.request.seed + static_cast<uint64_t>(flags.num_images - 1) < recipe.request.seed) {
    return fail(ErrorCode::Usage, strings::join("seed ", recipe.request.seed, " + ", flags.num_images,
                                                " pictures goes past 18446744073709551615"));
  }
  return {};
}

Status generate_one(Generator& generator, const Recipe& recipe, const GenerateFlags& flags, bool bar,
                    const OutputTarget& target, Outcome& outcome, const std::atomic<bool>& cancelled) {
  ProgressBar progress(bar, previews(flags, recipe.request.seed));
  TESSERA_TRY(const Generated made, generator.run(recipe.request, {.progress = &progress, .cancelled = &cancelled}));
  Json record;
  if (!flags.no_metadata) {
    record = runtime::to_json(recipe, version_text());
    record["attention"] = generator.attention_report();
  }
  const auto index = static_cast<int64_t>(outcome.seeds.size());
  TESSERA_TRY(const auto files, write_media(made.media, target, index, record));
  outcome.files.insert(outcome.files.end(), files.begin(), files.end());
  outcome.seeds.push_back(recipe.request.seed);
  outcome.total_seconds += made.total_seconds;
  add_timings(made.timings, outcome.timings);
  return {};
}

void tell_people(const Outcome& outcome, const SharedOptions& shared) {
  if (shared.quiet || shared.json) return;
  std::cerr << outcome.files.front() << (outcome.files.size() > 1 ? " … " + outcome.files.back() : "") << ", seed "
            << outcome.seeds.front() << ", " << strings::fixed(outcome.total_seconds, 2) << " s\n";
}

Status generate(const GenerateFlags& flags, const SharedOptions& shared, const CLI::App& command) {
  TESSERA_TRY(Recipe recipe, requested(flags, shared, command));
  TESSERA_TRY_OK(check_flags(flags, recipe));
  TESSERA_TRY(const OutputTarget target, open_output(flags.out));
  TESSERA_TRY_OK(check_target(target, flags.num_images));
  if (flags.preview > 0) {
    TESSERA_TRY(const OutputTarget previews_go_to, open_output(flags.preview_dir + "/"));
  }
  TESSERA_TRY_OK(read_image(flags.image, recipe.request));
  TESSERA_TRY(Generator generator, Generator::open(recipe.options));
  recipe.options.threads = at::get_num_threads();
  TESSERA_TRY(recipe.request, generator.complete(recipe.request));

  const InterruptScope interrupt;
  const bool bar = !shared.quiet && !shared.json && ::isatty(STDERR_FILENO) != 0;
  Outcome outcome;
  for (int64_t i = 0; i < flags.num_images; ++i) {
    TESSERA_TRY_OK(generate_one(generator, recipe, flags, bar, target, outcome, interrupt.flag()));
    ++recipe.request.seed;
  }
  tell_people(outcome, shared);
  if (shared.json) std::cout << outcome_json(outcome, generator).dump(1) << "\n";
  return {};
}

}  // namespace

Command add_generate(CLI::App& app, SharedOptions& shared) {
  CLI::App* command = app.add_subcommand("generate", "make pictures or a video from a prompt");
  const auto flags = std::make_shared<GenerateFlags>();
  add_generate_flags(*command, *flags);
  add_shared_flags(*command, shared);
  return {command, [flags, command, &shared] { return generate(*flags, shared, *command); }};
}

}  // namespace tessera::cli
