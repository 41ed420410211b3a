#include "io/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "io/call_files.h"
#include "io/files.h"
#include "io/signals.h"

namespace sbp {
namespace {

constexpr int64_t kMaxFileBytes = int64_t{16} << 30;
constexpr size_t kChunk = size_t{1} << 20;

// A file descriptor that is closed at the end, unless it is stdin or stdout.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() { (void)Close(); }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }
  bool Close() {
    const int fd = std::exchange(fd_, -1);
    return fd <= 2 || close(fd) == 0;
  }

 private:
  int fd_;
};

Status Failure(std::string_view what, const std::string& path) {
  return BadInput(StrCat("cannot ", what, " ", Quote(path), ": ", std::strerror(errno)));
}

Status ReadAll(int fd, const std::string& path, std::string& content) {
  while (true) {
    const size_t old_size = content.size();
    content.resize(old_size + kChunk);
    const ssize_t count = read(fd, content.data() + old_size, kChunk);
    const int error = errno;
    content.resize(old_size + (count > 0 ? static_cast<size_t>(count) : 0));
    if (count == 0) return OkStatus();
    errno = error;
    if (count < 0 && errno != EINTR) return Failure("read", path);
    if (static_cast<int64_t>(content.size()) > kMaxFileBytes) {
      return BadInput(StrCat("cannot read ", Quote(path), ": more than 16 GiB"));
    }
  }
}

bool WriteAll(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t count = write(fd, content.data(), content.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    content.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

using Produce = std::function<void(const ByteSink&)>;

// False, with errno: a piece could not be written.
bool WriteAll(int fd, const Produce& produce) {
  int error = 0;
  produce([&](std::string_view piece) {
    if (error == 0 && !WriteAll(fd, piece)) error = errno;
    return error == 0;
  });
  errno = error;
  return error == 0;
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, std::max<size_t>(slash, 1));
}

// The file that a link leads to, so that the link stays; the path itself where it is none.
std::string FollowLinks(const std::string& path) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0 || !S_ISLNK(info.st_mode)) return path;
  char* resolved = realpath(path.c_str(), nullptr);
  const std::string target = resolved != nullptr ? resolved : path;
  std::free(resolved);
  return target;
}

// Writes a file that has no name until it is whole, so that not even SIGKILL leaves a part of it. False: the file
// system does not know that, or the file could not be written (the other way says why).
bool WriteNameless(const std::string& folder, const std::string& name, const Produce& produce, mode_t rights) {
  FileDescriptor file(open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666));
  if (file.get() < 0 || !WriteAll(file.get(), produce)) return false;
  if (rights != 0) (void)fchmod(file.get(), rights);
  const std::string nameless = StrCat("/proc/self/fd/", file.get());
  (void)unlink(name.c_str());  // of a process of this number that was killed at this very place
  return linkat(AT_FDCWD, nameless.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0 && file.Close();
}

// A file that is whole, and the name that it shall have.
struct Replacement {
  std::string temporary, target;
};

// Of a path that is no device and not of a call; signals are held.
Result<Replacement> WriteReplacement(const std::string& path, const Produce& produce) {
  static std::atomic<uint64_t> written_before = 0;  // several threads may write a file at once
  struct stat info;
  const bool exists = stat(path.c_str(), &info) == 0;
  const std::string target = FollowLinks(path), temporary = StrCat(target, ".tmp.", getpid(), ".", written_before++);
  const mode_t rights = exists ? info.st_mode & 0777 : 0;  // of the file that is replaced: they stay
  bool written = WriteNameless(FolderOf(target), temporary, produce, rights);
  if (!written) {
    FileDescriptor file(open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (file.get() < 0) return Failure("write", path);
    if (exists) (void)fchmod(file.get(), rights);
    written = WriteAll(file.get(), produce) && file.Close();
  }
  if (written) return Replacement{temporary, target};
  const Status failure = Failure("write", path);
  unlink(temporary.c_str());
  return failure;
}

Status Replace(const std::string& path, const Replacement& replacement) {
  if (rename(replacement.temporary.c_str(), replacement.target.c_str()) == 0) return OkStatus();
  const Status failure = Failure("write", path);
  unlink(replacement.temporary.c_str());
  return failure;
}

Result<std::string> ReadOfCall(const std::string& path) {
  const CallFiles& files = *CurrentCallFiles();
  if (const std::optional<std::string_view> document = DocumentOf(files, path)) return std::string(*document);
  std::vector<std::string> names;
  for (const auto& [name, document] : files.given) names.push_back(name);
  return BadInput(StrCat("cannot read ", Quote(path), ": the call has no such document", DidYouMean(path, names)));
}

Status WriteOfCall(const std::string& path, const Produce& produce) {
  CallFiles& files = *CurrentCallFiles();
  if (path.starts_with(kArraysPrefix))
    return BadInput(StrCat("cannot write ", Quote(path), ": it takes tensors alone"));
  std::string& content = path == "-" ? files.output : files.written[path];
  if (path != "-") content.clear();
  produce([&content](std::string_view piece) {
    content += piece;
    return true;
  });
  return OkStatus();
}

}  // namespace

Result<std::string> ReadFile(const std::string& path) {
  if (IsOfCall(path)) return ReadOfCall(path);
  std::string content;
  if (path == "-") {
    SBP_RETURN_IF_ERROR(ReadAll(STDIN_FILENO, path, content));
    return content;
  }
  FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return Failure("open", path);
  struct stat info;
  if (fstat(file.get(), &info) != 0) return Failure("read", path);
  if (S_ISDIR(info.st_mode)) return BadInput(StrCat("cannot read ", Quote(path), ": it is a folder, expected a file"));
  if (info.st_size > kMaxFileBytes) return BadInput(StrCat("cannot read ", Quote(path), ": more than 16 GiB"));
  content.reserve(static_cast<size_t>(info.st_size) + kChunk);  // so that reading never copies what it has
  SBP_RETURN_IF_ERROR(ReadAll(file.get(), path, content));
  return content;
}

Status CheckWritable(const std::string& path) {
  struct stat info;
  if (path == "-" || IsOfCall(path)) return OkStatus();
  if (stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
    return BadInput(StrCat("cannot write ", Quote(path), ": it is a folder, expected a file"));
  }
  const std::string folder = FolderOf(path);
  if (access(folder.c_str(), W_OK | X_OK) == 0) return OkStatus();
  const int reason = errno;
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) return OkStatus();  // a device: written in place
  return BadInput(StrCat("cannot write ", Quote(path), ": folder ", Quote(folder), ": ", std::strerror(reason)));
}

Status WriteFileInPieces(const std::string& path, const Produce& produce) {
  if (IsOfCall(path)) return WriteOfCall(path, produce);
  if (path == "-") {
    return WriteAll(STDOUT_FILENO, produce) ? OkStatus() : Failure("write to", "stdout");
  }
  struct stat info;
  const bool exists = stat(path.c_str(), &info) == 0;
  // A pipe or a device (/dev/stdout, /dev/null) is written to; renaming would replace it.
  if (exists && !S_ISREG(info.st_mode)) {
    FileDescriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (file.get() < 0 || !WriteAll(file.get(), produce) || !file.Close()) return Failure("write", path);
    return OkStatus();
  }
  const SignalsHeld held;
  SBP_ASSIGN_OR_RETURN(const Replacement replacement, WriteReplacement(path, produce));
  return Replace(path, replacement);
}

Status WriteFiles(const std::vector<std::pair<std::string, std::string_view>>& files) {
  std::vector<size_t> in_place;  // devices, and documents of a call: there is nothing to rename
  std::vector<std::pair<size_t, Replacement>> replacements;
  const SignalsHeld held;
  Status status = OkStatus();
  for (size_t i = 0; i < files.size() && status.ok(); ++i) {
    struct stat info;
    const auto& [path, content] = files[i];
    const bool exists = !IsOfCall(path) && stat(path.c_str(), &info) == 0;
    if (path == "-" || IsOfCall(path) || (exists && !S_ISREG(info.st_mode))) {
      in_place.push_back(i);
      continue;
    }
    Result<Replacement> written = WriteReplacement(path, [&](const ByteSink& sink) { sink(files[i].second); });
    status = written.status();
    if (written.ok()) replacements.emplace_back(i, *std::move(written));
  }
  for (size_t k = 0; k < in_place.size() && status.ok(); ++k)
    status = WriteFile(files[in_place[k]].first, files[in_place[k]].second);
  for (const auto& [i, replacement] : replacements) {
    if (status.ok()) {
      status = Replace(files[i].first, replacement);
    } else {
      unlink(replacement.temporary.c_str());
    }
  }
  return status;
}

Status WriteFile(const std::string& path, std::string_view content) {
  return WriteFileInPieces(path, [content](const ByteSink& sink) { sink(content); });
}

}  // namespace sbp
