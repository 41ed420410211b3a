#include "pipeline/gathered_pins.h"

#include <algorithm>

#include "base/ids.h"
#include "base/text.h"
#include "graph/graph.h"
#include "naming/module_names.h"
#include "plan/pins.h"

namespace sbp {
namespace {

constexpr size_t kNamedWeights = 3;

}  // namespace

std::vector<std::string> WarnOfGatheredPins(const Problem& problem, const Plan& plan) {
  std::vector<TensorId> weights;  // in the order of a step
  double seconds = 0;
  for (const Transition& transition : plan.transitions) {
    const Tensor& tensor = plan.graph.tensor(transition.tensor);
    if (tensor.role != TensorRole::kParameter || transition.wire_bytes <= 0) continue;
    if (!problem.pins.tensors.contains(transition.tensor)) continue;
    seconds += transition.seconds;
    if (std::find(weights.begin(), weights.end(), transition.tensor) == weights.end())
      weights.push_back(transition.tensor);
  }
  if (weights.empty()) return {};
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(weights.size(), kNamedWeights); ++i) {
    names.push_back(problem.names.QuotedLabel(plan.graph, weights[i]));
  }
  const std::string rest =
      weights.size() > kNamedWeights ? StrCat(" and ", weights.size() - kNamedWeights, " more") : std::string();
  const TensorPin& first = problem.pins.tensors.at(weights.front());
  const ModuleName* module = problem.names.Find(weights.front());
  const std::string pinned =
      module != nullptr && module->anonymous ? module->Text() : plan.graph.tensor(weights.front()).name;
  return {StrCat(weights.size(), weights.size() == 1 ? " pinned weight is" : " pinned weights are",
                 " boxed away from the pinned layout in every step (", FormatSeconds(seconds),
                 " in all): ", Join(names, ", "), rest,
                 "; \"=\" pins how a weight is stored, \"==\" every use too: ", pinned, "==", ToString(first.layout))};
}

}  // namespace sbp
