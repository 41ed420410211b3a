// Plans from files, as pages (page/page.h): what render, diff and view write.
#pragma once

#include <string>
#include <string_view>

#include "api/page.h"
#include "base/status.h"
#include "plan/plan.h"

namespace sbp {

// `where`: the file, for messages; `trace`: of a run of the plan. Errors: a plan that its rules do not fit
// (RefuseWrongPlan), a trace of another plan.
Result<std::string> PageOf(const Plan& plan, const std::string& where, const TraceFile* trace = nullptr);
// Both side by side.
Result<std::string> PageOf(const Plan& before, const std::string& where_before, const Plan& after,
                           const std::string& where_after);

// Does a file's name end as a page's, in any case?
bool IsPagePath(std::string_view path);

}  // namespace sbp
