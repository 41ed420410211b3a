#include "check/transition_order.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "plan/plan.h"

namespace sbp {

TransitionOrder OrderOfTransitions(const Plan& plan) {
  constexpr uint32_t kNone = TransitionOrder::kNone;
  const size_t count = plan.transitions.size();
  TransitionOrder order{std::vector<uint32_t>(count, kNone), std::vector<uint32_t>(count, kNone)};
  std::unordered_map<TensorId, std::vector<uint32_t>> of_tensor;
  for (uint32_t i = 0; i < count; ++i) {
    const Transition& transition = plan.transitions[i];
    for (const uint32_t e : of_tensor[transition.tensor]) {
      if (order.source[i] == kNone && plan.transitions[e].to == transition.from) order.source[i] = e;
    }
    of_tensor[transition.tensor].push_back(i);
    for (const Use& use : transition.consumers) order.runs_before[i] = std::min(order.runs_before[i], use.op.value);
    if (transition.ahead_of.valid()) order.runs_before[i] = std::min(order.runs_before[i], transition.ahead_of.value);
  }
  for (uint32_t i = static_cast<uint32_t>(count); i-- > 0;) {
    const uint32_t source = order.source[i];
    if (source != kNone) order.runs_before[source] = std::min(order.runs_before[source], order.runs_before[i]);
  }
  return order;
}

}  // namespace sbp
