// Files of one call in a process that makes several, each from a thread of its own: "-" is then the call's own input
// and output, a name that begins with "memory:" a document in memory, and one that begins with "arrays:" tensors that
// no file holds: "arrays:PREFIX" those whose names begin with PREFIX, which is not of the tensor's own name.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/tensor_data.h"

namespace sbp {

inline constexpr std::string_view kMemoryPrefix = "memory:";
inline constexpr std::string_view kArraysPrefix = "arrays:";

struct CallFiles {
  std::string_view input;                                      // what "-" reads
  std::map<std::string, std::string_view, std::less<>> given;  // by whole name, "memory:plan.json"
  std::vector<TensorData> arrays;                              // what "arrays:" reads, sequences as NAME/0, NAME/1, ...
  std::string output;                                          // what was written to "-", in order
  std::map<std::string, std::string, std::less<>> written;     // of names in memory, the last content
  std::vector<TensorData> arrays_written;                      // to "arrays:", in order
};

// Of this thread, from here to the end of its lifetime. What it names must outlive it.
class CallFilesScope {
 public:
  explicit CallFilesScope(CallFiles& files);
  ~CallFilesScope();
  CallFilesScope(const CallFilesScope&) = delete;
  CallFilesScope& operator=(const CallFilesScope&) = delete;

 private:
  CallFiles* before_;
};
// Null: this thread reads and writes as its process does.
CallFiles* CurrentCallFiles();
// Is a path no file, but the call's: "-", or a name in memory?
bool IsOfCall(std::string_view path);
// What "-" or a name in memory holds; nothing where the call has no such document. Valid as long as the document.
std::optional<std::string_view> DocumentOf(const CallFiles& files, std::string_view path);
// The name in memory of a document that stands beside another one, as files stand in a folder: of "memory:m/a.json" and
// "b" "memory:m/b".
std::string BesideDocument(std::string_view path, std::string_view name);

}  // namespace sbp
