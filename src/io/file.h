// Files: reading with limits, and writing so that nothing is lost (temporary file, then rename). Within a call of a
// library "-" and names in memory are the call's own (io/call_files.h).
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace sbp {

// "-" is stdin. Errors name the path and the reason; a directory, or more than 16 GiB, is an error.
Result<std::string> ReadFile(const std::string& path);
// "-" is stdout. Writes a nameless file (PATH.tmp.PID where the file system has none) in the same folder, and renames
// it once it is whole; on failure leaves PATH untouched. Ctrl-C waits until then; a link stays and its file is
// replaced.
Status WriteFile(const std::string& path, std::string_view content);
// Takes bytes in their order. False: they cannot be written, and no more are wanted.
using ByteSink = std::function<bool(std::string_view)>;
// As WriteFile of all that `produce` hands to its sink, which need not be in memory at a time. It may be asked twice.
Status WriteFileInPieces(const std::string& path, const std::function<void(const ByteSink&)>& produce);
// Would WriteFile fail, as far as can be told without writing (a folder that is not there)? To ask before long work.
Status CheckWritable(const std::string& path);

}  // namespace sbp
