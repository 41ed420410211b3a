// Programs in Python that run plans on PyTorch's DTensors, embedded in the build.
#pragma once

#include <string_view>

namespace sbp {

std::string_view ApplyPlanText();         // apply_plan.py
std::string_view PlanCheckText();         // plan_check.py
std::string_view PlanMovesText();         // plan_moves.py
std::string_view PlanOpsText();           // plan_ops.py
std::string_view PlanOpsNetworkText();    // plan_ops_network.py
std::string_view PlanOpsOptimizerText();  // plan_ops_optimizer.py
std::string_view PlanOpsRecurrentText();  // plan_ops_recurrent.py
std::string_view PlanReferenceText();     // plan_reference.py
std::string_view PlanResampleText();      // plan_resample.py, also of the program for JAX

}  // namespace sbp
