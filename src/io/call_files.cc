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

}  // namespace sbp
