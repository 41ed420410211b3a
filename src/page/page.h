// Page: a plan as one HTML file that opens from disk, without network or server. The file holds the program (html/),
// and the plan as a document of sections (sections.h), deflated.
#pragma once

#include <string>

#include "base/status.h"
#include "page/options.h"
#include "plan/plan.h"

namespace sbp {

// The same plan and options give the same bytes. Linear in ops, tensors and transitions.
Result<std::string> WritePage(const Plan& plan, const PageOptions& options = {});

// Two plans side by side; `problem` of both.
struct DiffPageOptions {
  PageOptions before, after;
};
Result<std::string> WriteDiffPage(const Plan& before, const Plan& after, const DiffPageOptions& options = {});

}  // namespace sbp
