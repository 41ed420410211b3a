// View -> DOT text.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "render/view.h"

namespace sbp {

// Stable: equal views give equal bytes.
std::string WriteDot(const View& view);

// Calls `put` for each character of text: one sequence of valid UTF-8, "?" for each byte that is part of none.
void ForEachCharacter(std::string_view text, const std::function<void(std::string_view)>& put);

// For text inside an HTML-like label: markup characters escaped, control characters and bytes that are no UTF-8
// replaced.
std::string EscapeHtml(std::string_view text);
// A DOT string with its quotes; newlines become \n.
std::string QuoteDot(std::string_view text);
// The same of what the pointer is told: its first lines; very long ones are cut in their middle, as some are in each
// drawing many times.
std::string QuoteTooltip(std::string_view text);

}  // namespace sbp
