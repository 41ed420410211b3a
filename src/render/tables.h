// Plans as tables: ops (repeated layers folded, like the drawing), collectives, memory. One content, two spellings.
#pragma once

#include <string>

#include "base/status.h"
#include "render/render.h"

namespace sbp {

Result<std::string> WriteMarkdown(const Plan& plan, const RenderOptions& options);
// Aligned columns.
Result<std::string> WriteText(const Plan& plan, const RenderOptions& options);

}  // namespace sbp
