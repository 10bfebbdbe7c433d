#include "weights/mapped_file.h"

#include <cerrno>
#include <cstdint>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strings.h"

namespace tessera::weights {
namespace {

Error system_error(const std::filesystem::path& path, int code) {
  const ErrorCode kind = code == ENOENT || code == ENOTDIR ? ErrorCode::NotFound
                         : code == ENOMEM                  ? ErrorCode::OutOfMemory
                                                           : ErrorCode::Io;
  return {kind, strings::join("cannot read ", path.string(), " (", std::strerror(code), ")"), ""};
}

Result<std::string_view> map(int fd, const std::filesystem::path& path) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return fail(system_error(path, errno));
  if (!S_ISREG(info.st_mode)) {
    return fail(ErrorCode::Io, strings::join("cannot read ", path.string(), " (it is not a file)"));
  }
  const auto size = static_cast<size_t>(info.st_size);
  if (size == 0) return std::string_view();  // mmap refuses empty ranges
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (address == MAP_FAILED) {
    Error error = system_error(path, errno);
    error.what += strings::join(" while mapping ", size, " bytes");
    return fail(std::move(error));
  }
  return std::string_view(static_cast<const char*>(address), size);
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::filesystem::path& path) {
  // O_NONBLOCK: a pipe in place of the file would block here for ever; regular files ignore it.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return fail(system_error(path, errno));
  auto bytes = map(fd, path);
  ::close(fd);  // the mapping stays
  if (!bytes) return fail(std::move(bytes).error());
  return std::shared_ptr<const MappedFile>(new MappedFile(path, *bytes));
}

MappedFile::MappedFile(std::filesystem::path path, std::string_view bytes) : path_(std::move(path)), bytes_(bytes) {}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

void MappedFile::drop_pages(std::string_view part) const {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto file_begin = reinterpret_cast<uintptr_t>(bytes_.data());
  auto begin = reinterpret_cast<uintptr_t>(part.data());
  auto end = begin + part.size();
  if (begin < file_begin || end > file_begin + bytes_.size()) return;
  begin = (begin + page - 1) / page * page;
  end = end / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace tessera::weights
