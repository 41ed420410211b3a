#include "render/task_text.h"

#include "base/text.h"
#include "cluster/collective_kind.h"
#include "graph/graph.h"
#include "plan/physical_plan.h"
#include "render/facts.h"

namespace sbp {

Status NoTasks() { return UsageError("this plan has no tasks: plan it with --physical"); }

std::string ArenaHeadline(const PhysicalPlan& physical) {
  const auto arena = static_cast<double>(physical.arena_bytes), bound = static_cast<double>(physical.lower_bound_bytes);
  std::string text =
      StrCat(physical.tasks.size(), " tasks · ", physical.registers.size(), " registers · arena ", FormatBytes(arena),
             " a device, lower bound ", FormatBytes(bound), ", placement ", physical.placement);
  if (physical.micro_batches > 1) text += StrCat(" · ", physical.micro_batches, " micro-batches");
  return text;
}

RegisterKind KindOfRegister(const Plan& plan, const Register& reg) {
  if (reg.transition >= 0) {
    const CollectiveKind kind = plan.transitions[reg.transition].steps[reg.step].kind;
    return {std::string(CollectiveKindName(kind)), PaintOf(kind)};
  }
  const Tensor& tensor = plan.graph.tensor(reg.tensor);
  switch (tensor.role) {
    case TensorRole::kParameter:
      return {"parameter", PaintOf(Sharing::kUnknown)};
    case TensorRole::kInput:
      return {"input", {"#FFFFFF", "#31507F", "#1B2A44"}};
    case TensorRole::kActivation:
      break;
  }
  const Sharing sharing = tensor.producer.valid() ? SharingOf(plan, tensor.producer.value) : Sharing::kUnknown;
  const char* name = sharing == Sharing::kAllAxes    ? "activation, work split over all axes"
                     : sharing == Sharing::kSomeAxes ? "activation, work split over some axes"
                                                     : "activation, work replicated";
  return {name, PaintOf(sharing)};
}

}  // namespace sbp
