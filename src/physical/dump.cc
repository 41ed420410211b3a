// The canonical text of a physical plan.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "boxing/boxing.h"
#include "cluster/collective_kind.h"
#include "physical/physical.h"
#include "plan/physical_plan.h"
#include "plan/plan.h"

namespace sbp {
std::string RegisterList(const std::vector<uint32_t>& registers) {
  std::vector<std::string> parts;
  for (const uint32_t r : registers) parts.push_back(r == kNoRegister ? "-" : StrCat("r", r));
  return Join(parts, " ");
}

std::string TaskName(const Plan& plan, const Task& task) {
  if (task.op.valid())
    return StrCat(plan.graph.type_of(plan.graph.op(task.op)), " ", Quote(plan.graph.op(task.op).name));
  const Transition& transition = plan.transitions[task.transition];
  const BoxingStep& step = transition.steps[task.step];
  const bool known = step.axis >= 0 && step.axis < plan.mesh.num_axes();  // in a plan file that nobody checked
  const std::string_view axis = known ? std::string_view(plan.mesh.axes[step.axis].name) : "?";
  return StrCat(CollectiveKindName(step.kind), " over ", axis, " of ",
                Quote(plan.graph.tensor(transition.tensor).name));
}

std::string Dump(const Plan& plan, const PhysicalPlan& physical) {
  std::string text = StrCat("arena ", physical.arena_bytes, " bytes, bound ", physical.lower_bound_bytes, ", placed ",
                            physical.placement, ", micro-batches ", physical.micro_batches, "\n");
  for (size_t t = 0; t < physical.tasks.size(); ++t) {
    const Task& task = physical.tasks[t];
    text += StrCat("t", t, IsCommunication(plan, task) ? " [communication] " : " ", TaskName(plan, task), ": ",
                   RegisterList(task.reads), " -> ", RegisterList(task.writes));
    for (const uint32_t before : task.after) text += StrCat(" after t", before);
    text += "\n";
  }
  for (size_t r = 0; r < physical.registers.size(); ++r) {
    const Register& reg = physical.registers[r];
    text += StrCat("r", r, " ", Quote(plan.graph.tensor(reg.tensor).name), " ", ToString(reg.layout), ": ", reg.bytes,
                   " bytes x", reg.copies, " at ", reg.offset, ", t", reg.first, "-t", reg.last,
                   reg.resident ? ", resident" : "", reg.over != kNoRegister ? StrCat(", over r", reg.over) : "", "\n");
  }
  return text;
}

}  // namespace sbp
