// The trial load in a child process, then the real one, and what each can find wrong.
#include "attention/plugin/loader.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <exception>
#include <optional>
#include <system_error>

#include "base/env.h"
#include "base/strings.h"

namespace tessera::attention::plugin {

namespace {

constexpr const char* kSymbol = "tessera_attention_plugin_v1";
// A library that needs longer to load is taken for hanging; the largest CUDA ones take a few seconds.
constexpr int kLoadLimitMs = 30000;

using Entry = const tessera_attention_plugin* (*)();

std::unexpected<Error> unusable(const std::filesystem::path& path, const std::string& why) {
  return fail(ErrorCode::Unavailable, strings::join("attention plugin ", path.string(), ": ", why),
              "build it against this version's attention/plugin/plugin_abi.h");
}

Status check_table(const std::filesystem::path& path, const tessera_attention_plugin* table) {
  if (table == nullptr) return unusable(path, strings::join(kSymbol, "() returned nothing"));
  if (table->abi_version != TESSERA_ATTENTION_PLUGIN_ABI) {
    return unusable(path, strings::join("ABI version ", table->abi_version, ", this program speaks ",
                                        TESSERA_ATTENTION_PLUGIN_ABI));
  }
  if (table->struct_bytes < sizeof(tessera_attention_plugin)) {
    return unusable(
        path, strings::join("its table has ", table->struct_bytes, " bytes, not ", sizeof(tessera_attention_plugin)));
  }
  if (table->name == nullptr || *table->name == '\0') return unusable(path, "it has no name");
  if (table->accepts == nullptr || table->run == nullptr) return unusable(path, "its table lacks a function");
  return {};
}

/// Loads into this process. Throwing entry functions are caught: a C++ exception may cross a C symbol.
Result<const tessera_attention_plugin*> open_here(const std::filesystem::path& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return unusable(path, dlerror());
  void* symbol = dlsym(handle, kSymbol);
  if (symbol == nullptr) return unusable(path, strings::join("no symbol ", kSymbol));
  try {
    const tessera_attention_plugin* table = reinterpret_cast<Entry>(symbol)();
    TESSERA_TRY_OK(check_table(path, table));
    return table;
  } catch (const std::exception& e) {
    return unusable(path, strings::join(kSymbol, "() threw: ", e.what()));
  } catch (...) {
    return unusable(path, strings::join(kSymbol, "() threw"));
  }
}

/// In the child: the verdict goes through the pipe ("ok" = good), and nothing of the parent's is unwound.
[[noreturn]] void try_in_child(const std::filesystem::path& path, int pipe_end) {
  // What a dying library prints, or the copy of our unwritten output that its exit() flushes, is nobody's business.
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  dup2(nowhere, STDOUT_FILENO), dup2(nowhere, STDERR_FILENO);
  std::string verdict = "ok";
  if (const auto table = open_here(path); !table) verdict = table.error().what;
  const ssize_t written = write(pipe_end, verdict.data(), verdict.size());
  _exit(written == static_cast<ssize_t>(verdict.size()) ? 0 : 1);
}

/// Everything that the child says until it closes the pipe, or nothing when it takes too long.
std::optional<std::string> read_verdict(int pipe_end) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kLoadLimitMs);
  std::string text;
  std::array<char, 512> buffer{};
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd ready{pipe_end, POLLIN, 0};
    if (left.count() <= 0 || poll(&ready, 1, static_cast<int>(left.count())) <= 0) return std::nullopt;
    const ssize_t got = read(pipe_end, buffer.data(), buffer.size());
    if (got <= 0) return text;
    text.append(buffer.data(), static_cast<size_t>(got));
  }
}

Status judge(const std::filesystem::path& path, const std::optional<std::string>& verdict, int wait_status) {
  if (!verdict) return unusable(path, "it hangs while loading");
  if (WIFSIGNALED(wait_status)) {
    return unusable(path, strings::join("it crashes while loading (", strsignal(WTERMSIG(wait_status)), ")"));
  }
  if (verdict->empty()) return unusable(path, "it ends the process while loading");
  if (*verdict != "ok") return fail(ErrorCode::Unavailable, *verdict, unusable(path, "").error().hint);
  return {};
}

Status trial_load(const std::filesystem::path& path) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return fail(ErrorCode::Io, "cannot make a pipe for the trial load of a plugin");
  const pid_t child = fork();
  if (child < 0) {
    close(ends[0]), close(ends[1]);
    return fail(ErrorCode::Io, "cannot start a process for the trial load of a plugin");
  }
  if (child == 0) try_in_child(path, ends[1]);
  close(ends[1]);
  const auto verdict = read_verdict(ends[0]);
  close(ends[0]);
  if (!verdict) kill(child, SIGKILL);
  int wait_status = 0;
  waitpid(child, &wait_status, 0);
  return judge(path, verdict, wait_status);
}

}  // namespace

Result<Plugin> load(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) {
    return fail(ErrorCode::NotFound, strings::join("attention plugin ", path.string(), " is not a file"));
  }
  const auto absolute = std::filesystem::absolute(path);
  TESSERA_TRY_OK(trial_load(absolute));
  TESSERA_TRY(const tessera_attention_plugin* table, open_here(absolute));
  return Plugin{absolute, table->name, table->version == nullptr ? "" : table->version, table};
}

std::vector<Result<Plugin>> load_from_environment() {
  std::vector<Result<Plugin>> plugins;
  for (const std::string& path : strings::split(env::get("TESSERA_ATTENTION_PLUGINS").value_or(""), ':')) {
    if (!path.empty()) plugins.push_back(load(path));
  }
  return plugins;
}

}  // namespace tessera::attention::plugin
