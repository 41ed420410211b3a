// Memory over a step, derived without memory/: what each device must hold while each op runs.
#pragma once

#include <cstdint>

#include "check/findings.h"
#include "plan/plan.h"

namespace sbp {

// workspace: of kernels, which adds to what the buffers take.
void CheckMemory(const Plan& plan, int64_t workspace, Findings& findings);

}  // namespace sbp
