// What all commands share: --format, --notation, and how text reaches stdout and stderr.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "sbp/shard_math.h"

namespace CLI {
class App;
}

namespace sbp {

struct OutputFlags {
  std::string format = "text";   // text | json
  std::string notation = "sbp";  // sbp | dims-mapping
  bool json() const { return format == "json"; }
  Notation layout_notation() const { return notation == "sbp" ? Notation::kSbp : Notation::kDimsMapping; }
};
void AddFormatFlag(CLI::App& app, OutputFlags& flags);
void AddNotationFlag(CLI::App& app, OutputFlags& flags);

// A check of flags whose number counts something or is a seed: CLI11 would take -1 for a very large one.
std::string RefuseNegative(const std::string& text);

// Prints a result, ending it with a newline. Error: stdout is closed or full, with the reason.
Status Print(std::string_view text);
// Text on stderr, as it is.
void Say(std::string_view text);
// A line on stderr, control characters shown as '?'. What does not begin with "error:" or "warning:" is a note, which
// --quiet leaves out.
void Note(std::string_view text);

}  // namespace sbp
