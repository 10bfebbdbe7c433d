#include "base/file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/strings.h"

namespace tessera::file {
namespace {

// Vocabularies and configs are the only whole-file reads; the largest known one is 17 MB. Weights are mapped instead.
constexpr size_t kLimitBytes = size_t{1} << 30;

struct GzCloser {
  void operator()(gzFile f) const { gzclose(f); }
};

std::filesystem::path gz_name(const std::filesystem::path& path) {
  return path.string() + ".gz";
}

bool is_regular(const std::filesystem::path& path) {
  std::error_code ec;
  return std::filesystem::is_regular_file(path, ec);
}

Error io_error(std::string_view verb, const std::filesystem::path& path) {
  const int code = errno;
  return {code == ENOENT ? ErrorCode::NotFound : ErrorCode::Io,
          strings::join("cannot ", verb, " ", path.string(), " (", std::strerror(code), ")"), ""};
}

Status write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail(ErrorCode::Io, std::strerror(errno));
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  if (::fsync(fd) != 0 && errno != EINVAL && errno != EROFS) return fail(ErrorCode::Io, std::strerror(errno));
  return {};
}

}  // namespace

bool exists(const std::filesystem::path& path) {
  return is_regular(path) || is_regular(gz_name(path));
}

Result<std::string> read_text(const std::filesystem::path& path) {
  const auto source = !is_regular(path) && is_regular(gz_name(path)) ? gz_name(path) : path;
  std::error_code ec;
  if (std::filesystem::is_directory(source, ec)) {
    return fail(ErrorCode::Io, strings::join("cannot read ", path.string(), " (it is a folder)"));
  }
  // gzopen also reads files that are not compressed, as they are.
  const std::unique_ptr<gzFile_s, GzCloser> in(gzopen(source.c_str(), "rb"));
  if (!in) return fail(io_error("read", path));
  std::string text;
  char chunk[1 << 16];
  int n = 0;
  while ((n = gzread(in.get(), chunk, sizeof chunk)) > 0) {
    text.append(chunk, static_cast<size_t>(n));
    if (text.size() > kLimitBytes) return fail(ErrorCode::OutOfMemory, path.string() + " is larger than 1 GiB");
  }
  int code = Z_OK;
  const char* reason = gzerror(in.get(), &code);
  if (n < 0 || (code != Z_OK && code != Z_STREAM_END)) {
    return fail(ErrorCode::BadFile, strings::join(path.string(), " cannot be inflated (", reason, ")"));
  }
  return text;
}

Status write_atomically(const std::filesystem::path& path, std::string_view bytes) {
  const std::string temporary = strings::join(path.string(), ".tmp", ::getpid());
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return fail(io_error("write", path));
  Status written = write_all(fd, bytes);
  if (::close(fd) != 0 && written) written = fail(ErrorCode::Io, std::strerror(errno));
  if (written && std::rename(temporary.c_str(), path.c_str()) != 0) written = fail(io_error("write", path));
  if (written) return {};
  ::unlink(temporary.c_str());
  return fail(written.error().code, strings::join("cannot write ", path.string(), " (", written.error().what, ")"),
              "check the folder, its permissions and the free space");
}

}  // namespace tessera::file
