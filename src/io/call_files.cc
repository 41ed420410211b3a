#include "io/call_files.h"

#include <utility>

namespace sbp {
namespace {

thread_local CallFiles* current_call_files = nullptr;

}  // namespace

CallFilesScope::CallFilesScope(CallFiles& files) : before_(std::exchange(current_call_files, &files)) {}
CallFilesScope::~CallFilesScope() { current_call_files = before_; }
CallFiles* CurrentCallFiles() { return current_call_files; }
bool IsOfCall(std::string_view path) {
  return current_call_files != nullptr &&
         (path == "-" || path.starts_with(kArraysPrefix) || path.starts_with(kMemoryPrefix));
}

std::optional<std::string_view> DocumentOf(const CallFiles& files, std::string_view path) {
  if (path == "-") return files.input;
  if (const auto written = files.written.find(path); written != files.written.end()) return written->second;
  if (const auto given = files.given.find(path); given != files.given.end()) return given->second;
  return std::nullopt;
}
std::string BesideDocument(std::string_view path, std::string_view name) {
  if (path == "-") return std::string(kMemoryPrefix).append(name);  // the call's input has no folder
  const size_t slash = path.rfind('/');
  const size_t folder = slash == std::string_view::npos ? kMemoryPrefix.size() : slash + 1;
  return std::string(path.substr(0, folder)).append(name);
}

}  // namespace sbp
