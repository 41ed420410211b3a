// Memory over a step, derived without memory/: what each device must hold while each op runs.
#pragma once

#include "check/findings.h"

namespace sbp {

void CheckMemory(const Plan& plan, Findings& findings);

}  // namespace sbp
