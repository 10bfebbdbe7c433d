// gpu_check PART…: proves the CUDA attention of this build on the GPU at hand, or rehearses on a CPU; writes JSON.
#include <charconv>
#include <fstream>
#include <iostream>

#include "apps/cli/machine.h"
#include "apps/gpu_check/session.h"
#include "attention/cudnn/library.h"
#include "attention/guard.h"
#include "base/log.h"
#include "base/strings.h"
#include "bench_support/machine.h"
#include "platform/profile_json.h"

namespace tessera::gpu_check {
namespace {

constexpr const char* kUsage =
    "usage: gpu_check [--device cuda|cpu] [--seconds N] [--rounds N] [--out FILE] PART...\n"
    "parts: problems shapes guards streams fused bench, or all\n";

struct Options {
  std::string device = "cuda";
  std::string out = "gpu_check.json";
  int seconds = 300;
  int rounds = 20;
  std::vector<std::string> parts;
};

using Part = void (*)(Session& session, OrderedJson& out);

template <void (*check)(Session&)>
void plain(Session& session, OrderedJson&) {
  check(session);
}

constexpr std::pair<std::string_view, Part> kParts[] = {
    {"problems", plain<check_problems>}, {"shapes", plain<check_shapes>}, {"guards", plain<check_guards>},
    {"streams", plain<check_streams>},   {"fused", plain<check_fused>},   {"bench", run_bench}};

Status usage(const std::string& what) {
  return fail(ErrorCode::Usage, what, kUsage);
}

Status read_number(const std::string& text, int& number) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code == std::errc() && end == text.data() + text.size() && number > 0) return {};
  return usage(strings::join("'", text, "' is no positive number"));
}

Result<Options> parse(const std::vector<std::string>& arguments) {
  Options o;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& a = arguments[i];
    if (a.starts_with("--") && i + 1 == arguments.size()) return fail(usage(a + " needs a value").error());
    if (a == "--device") {
      o.device = arguments[++i];
    } else if (a == "--out") {
      o.out = arguments[++i];
    } else if (a == "--seconds") {
      TESSERA_TRY_OK(read_number(arguments[++i], o.seconds));
    } else if (a == "--rounds") {
      TESSERA_TRY_OK(read_number(arguments[++i], o.rounds));
    } else if (a == "all") {
      for (const auto& [name, part] : kParts) o.parts.emplace_back(name);
    } else {
      o.parts.push_back(a);
    }
  }
  if (o.parts.empty()) return fail(usage("no part was named").error());
  return o;
}

OrderedJson versions() {
  OrderedJson json = bench_support::versions_json(TESSERA_VERSION);
  const auto cudnn = attention::cudnn::load_library();
  json["cudnn"] = cudnn ? attention::cudnn::version_text(cudnn->version) : cudnn.error().what;
  if (cudnn) json["cudnn_file"] = std::filesystem::path(cudnn->path).filename().string();
  return json;
}

Status run(const Options& options) {
  Session session;
  if (options.device == "cpu") {
    session.tools = make_cpu_tools();
  } else {
    TESSERA_TRY(session.tools, make_cuda_tools());
  }
  TESSERA_TRY(session.profile, cli::machine_profile(options.device));
  session.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(options.seconds);
  session.rounds = options.rounds;
  OrderedJson out = {{"dry_run", session.dry()}, {"device", to_json(session.profile)}, {"versions", versions()}};
  for (const std::string& name : options.parts) {
    const auto* part =
        std::find_if(std::begin(kParts), std::end(kParts), [&](const auto& p) { return p.first == name; });
    if (part == std::end(kParts)) return usage(strings::join("unknown part '", name, "'"));
    const auto begin = std::chrono::steady_clock::now();
    const Status done = attention::guarded(name, [&]() -> Status {
      part->second(session, out);
      return {};
    });
    if (!done) session.add(name, "", "the whole part", Outcome::Failed, done.error().line());
    out["seconds"][name] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  for (size_t i = 0; i < session.counts.size(); ++i) {
    out["summary"][std::string(outcome_name(static_cast<Outcome>(i)))] = session.counts[i];
  }
  out["rows"] = session.rows;
  std::ofstream(options.out) << out.dump(1) << "\n";
  std::cout << out["summary"].dump() << " in " << options.out << "\n";
  if (session.counts[static_cast<size_t>(Outcome::Failed)] > 0) return fail(ErrorCode::NumericalFault, "checks failed");
  return {};
}

int main_of(const std::vector<std::string>& arguments) {
  if (const Status quiet = log::set_level("error"); !quiet) return exit_status(quiet.error().code);
  const auto options = parse(arguments);
  const Status done = options ? run(*options) : Status(fail(options.error()));
  if (done) return 0;
  std::cerr << "error: " << done.error().line() << "\n";
  return exit_status(done.error().code);
}

}  // namespace
}  // namespace tessera::gpu_check

int main(int argc, char** argv) {
  return tessera::gpu_check::main_of({argv + 1, argv + argc});
}
