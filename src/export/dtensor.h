// The program that `export --to dtensor` writes: Python that runs a torch.export graph on DTensors by a table of
// layouts.
#pragma once

#include <string_view>

namespace sbp {

std::string_view ApplyPlanText();  // apply_plan.py

}  // namespace sbp
