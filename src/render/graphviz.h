// DOT text -> a picture, by Graphviz as a library. The only place that sees its headers.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"

namespace sbp {

// `format`: "svg", "png" or "pdf"; `engine`: "dot" or "nop2". SVG is measured by text_width.h, the same everywhere; the
// others with the fonts of this machine. Graphviz prints nothing: its messages come back in the error (kDefect: the DOT
// text is ours) or not at all. What it stands on (Pango, fontconfig, Cairo) may write to stderr; `hold_stderr`, for
// programs that own their process: while it draws, stderr is redirected, so that this comes back likewise, and what
// other threads print meanwhile is lost. Graphviz has global state: from several threads, one at a time. `cancelled`,
// which may be null, is asked while others draw, and before and after the layout (kRunFailed): Graphviz itself asks
// nobody.
Result<std::string> LayOut(const std::string& dot, const std::string& format, const char* engine = "dot",
                           const std::function<bool()>& cancelled = nullptr, bool hold_stderr = false);

}  // namespace sbp
