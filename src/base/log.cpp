#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "base/strings.h"

namespace tessera::log {
namespace {

spdlog::logger& logger() {
  static spdlog::logger instance = [] {
    spdlog::logger made("tessera", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made.set_pattern("%l: %v");
    made.set_level(spdlog::level::warn);
    return made;
  }();
  return instance;
}

}  // namespace

Status set_level(std::string_view level) {
  const struct {
    std::string_view name;
    spdlog::level::level_enum value;
  } rows[] = {{"debug", spdlog::level::debug},
              {"info", spdlog::level::info},
              {"warning", spdlog::level::warn},
              {"error", spdlog::level::err},
              {"off", spdlog::level::off}};
  for (const auto& row : rows) {
    if (strings::lower(level) == row.name) {
      logger().set_level(row.value);
      return {};
    }
  }
  return fail(ErrorCode::Usage, strings::join("unknown log level '", level, "'"),
              "use debug, info, warning, error or off");
}

void debug(std::string_view text) {
  logger().debug(text);
}
void info(std::string_view text) {
  logger().info(text);
}
void warning(std::string_view text) {
  logger().warn(text);
}

}  // namespace tessera::log
