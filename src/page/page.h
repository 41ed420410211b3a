// Page: a plan as one HTML file that opens from disk, without network or server. The file holds the program (html/),
// and the plan as a document of sections (sections.h), deflated.
#pragma once

#include <string>

#include "base/status.h"
#include "plan/plan.h"

namespace sbp {

struct Problem;  // problem/problem.h

struct PageOptions {
  // The problem that the plan answers, built again (pipeline.h, RebuildProblem), for what only it tells: candidates and
  // their prices. Null: the page says what the plan says. It outlives the call.
  const Problem* problem = nullptr;
};

// The same plan and options give the same bytes. Linear in ops, tensors and transitions.
Result<std::string> WritePage(const Plan& plan, const PageOptions& options = {});

// Two plans side by side; `problem` of both.
struct DiffPageOptions {
  PageOptions before, after;
};
Result<std::string> WriteDiffPage(const Plan& before, const Plan& after, const DiffPageOptions& options = {});

}  // namespace sbp
