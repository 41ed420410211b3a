// Documents as text.
#pragma once

#include <string>

#include "render/document.h"

namespace sbp {

std::string WriteMarkdown(const Document& document);
// Aligned columns.
std::string WriteText(const Document& document);

}  // namespace sbp
