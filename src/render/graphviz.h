// DOT text -> a picture, by Graphviz as a library. The only place that sees its headers.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"

namespace sbp {

// `format`: "svg", "png" or "pdf"; `engine`: "dot" or "nop2". SVG is measured by text_width.h, the same everywhere; the
// others with the fonts of this machine. Neither Graphviz nor what it stands on prints: while it draws, the process's
// stderr is held back, and its messages come back in the error (kDefect: the DOT text is ours) or not at all. Graphviz
// has global state: from several threads, one at a time. `cancelled`, which may be null, is asked while others draw, and
// before and after the layout (kRunFailed): Graphviz itself asks nobody.
Result<std::string> LayOut(const std::string& dot, const std::string& format, const char* engine = "dot",
                           const std::function<bool()>& cancelled = nullptr);

}  // namespace sbp
