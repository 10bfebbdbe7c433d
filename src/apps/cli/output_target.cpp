#include "apps/cli/output_target.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "base/strings.h"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

/// A folder takes files when one can really be made there: permissions alone do not tell (read-only or virtual
/// systems).
Status try_to_write_in(const fs::path& folder) {
  const std::string probe = (folder / strings::join(".tessera_probe_", ::getpid())).string();
  const int fd = ::open(probe.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) {
    return fail(ErrorCode::Io, strings::join("cannot write in ", folder.string(), " (", std::strerror(errno), ")"),
                "choose another --out");
  }
  ::close(fd);
  ::unlink(probe.c_str());
  return {};
}

Result<OutputTarget> open_folder(const fs::path& path) {
  std::error_code ec;
  fs::create_directories(path, ec);
  if (ec) {
    return fail(ErrorCode::Io, strings::join("cannot create ", path.string(), " (", ec.message(), ")"),
                "choose another --out");
  }
  TESSERA_TRY_OK(try_to_write_in(path));
  return OutputTarget{.path = path, .folder = true};
}

}  // namespace

fs::path OutputTarget::numbered(const std::string& stem, int64_t index) const {
  return folder ? path / strings::join(stem, "_", strings::zero_padded(index, 5), ".png") : path;
}

Result<OutputTarget> open_output(const std::string& out) {
  if (out.empty()) return fail(ErrorCode::Usage, "--out is empty", "name a .png or .mp4 file, or a folder ending in /");
  const fs::path path(out);
  std::error_code ec;
  if (out.back() == '/' || fs::is_directory(path, ec)) return open_folder(path);
  const std::string suffix = strings::lower(path.extension().string());
  if (suffix != ".png" && suffix != ".mp4") {
    return fail(ErrorCode::Usage, strings::join("--out ", out, " has no known suffix"),
                "name a .png or .mp4 file, or a folder ending in /");
  }
  const fs::path parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (!fs::is_directory(parent, ec)) {
    return fail(ErrorCode::NotFound, strings::join("the folder of --out ", out, " does not exist"),
                strings::join("create ", parent.string(), " first"));
  }
  TESSERA_TRY_OK(try_to_write_in(parent));
  return OutputTarget{.path = path, .video = suffix == ".mp4"};
}

}  // namespace tessera::cli
