// Registers in words and colours.
#pragma once

#include <string>

#include "base/status.h"
#include "plan/physical_plan.h"
#include "plan/plan.h"
#include "render/palette.h"

namespace sbp {

// The error of views that need a physical part.
Status NoTasks();

std::string ArenaHeadline(const PhysicalPlan& physical);  // "arena 3.2 MB a device, bound 3.1 MB (...), ..."

// Why a register is there.
struct RegisterKind {
  std::string name;  // "parameter", "input", "activation", or the collective that writes it
  Paint paint;
};
RegisterKind KindOfRegister(const Plan& plan, const Register& reg);

}  // namespace sbp
