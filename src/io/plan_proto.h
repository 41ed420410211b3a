// Plan <-> message.
#pragma once

#include <string_view>

#include "base/status.h"
#include "plan/plan.h"
#include "schemas/plan.pb.h"

namespace sbp {

void PlanToMessage(const Plan& plan, sbp_plan::v1::Plan& message);  // plan_to_proto.cc
// The plan with every name resolved and every index in range; whether it is legal is for check/ to say.
Result<Plan> PlanFromMessage(const sbp_plan::v1::Plan& message, std::string_view where);  // plan_from_proto.cc

}  // namespace sbp
