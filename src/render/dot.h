// View -> DOT text.
#pragma once

#include <string>
#include <string_view>

#include "render/view.h"

namespace sbp {

// Stable: equal views give equal bytes.
std::string WriteDot(const View& view);

// For text inside an HTML-like label: markup characters escaped, control characters and bytes that are no UTF-8
// replaced.
std::string EscapeHtml(std::string_view text);
// A DOT string with its quotes; newlines become \n.
std::string QuoteDot(std::string_view text);

}  // namespace sbp
