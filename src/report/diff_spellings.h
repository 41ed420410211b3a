// Two plans of one model that is spelled differently: names say nothing, prices do.
#pragma once

#include <string>

#include "plan/plan.h"

namespace sbp {

// Where less than half of the ops have their names in both plans, else "": ops are matched by what they compute in a
// step (seconds, within 0.5 %), whatever they are called, and those that are left are told by type, dearest first, with
// the name of one. Lines that end in line breaks.
std::string FormatUnmatched(const Plan& a, const Plan& b);

}  // namespace sbp
