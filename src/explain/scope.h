// What a name by scope and role stands for in a plan: a module's ops and parameters with their layouts.
#pragma once

#include <string>
#include <string_view>

#include "base/ids.h"
#include "explain/explain.h"
#include "naming/module_index.h"
#include "plan/plan.h"

namespace sbp {

struct ScopeAnswer {
  TensorId tensor;   // the only tensor of that name ("layers.0/mlp/fc1:weight"); explained as any other
  std::string text;  // else: a list, as text or JSON; "" where nothing has such a name
};
// `name` is a scope ("layers.0/mlp"), or a scope and a role; both may hold '*' (naming/module_index.h).
ScopeAnswer ExplainScope(const Plan& plan, const ModuleIndex& index, std::string_view name, bool json,
                         const ExplainFormat& format);

}  // namespace sbp
