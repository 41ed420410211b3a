#include "strategy/optimal/side_weights.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "cost/collective.h"
#include "graph/graph.h"
#include "schedule/play.h"
#include "strategy/optimal/turn.h"

namespace sbp {
namespace {

constexpr double kLeastOfSide = 1.0 / 64;  // of l
constexpr double kSlower = 0.8;            // the next move of l
constexpr size_t kReadersOfChain = 2;      // more: a tensor is no chain's that ends with the step

}  // namespace

SideWeights::SideWeights(const Problem& problem, const Landmarks& landmarks)
    : problem_(problem), landmarks_(landmarks), overlap_(problem.boxing->cluster().device.overlap.value) {
  FindActivations();
}

// What depends on inputs, and leads to the turn or to more than the end of the step: behind the turn not gradients of
// weights, which chains of light ops lead to the update.
void SideWeights::FindActivations() {
  const Graph& graph = *problem_.graph;
  const std::vector<StepSide>& sides = landmarks_.turn;
  std::vector<bool> of_input(graph.ops.size(), false), leads_on(graph.ops.size(), false);
  const auto depends = [&](TensorId operand) {
    if (!operand.valid()) return false;
    const Tensor& tensor = graph.tensor(operand);
    return tensor.producer.valid() ? of_input[tensor.producer.index()] : tensor.role == TensorRole::kInput;
  };
  for (size_t o = 0; o < graph.ops.size(); ++o) of_input[o] = std::ranges::any_of(problem_.operands(OpId(o)), depends);
  for (size_t o = graph.ops.size(); o-- > 0;) {
    size_t readers = 0;
    leads_on[o] = !sides.empty() && sides[o] == StepSide::kBefore;
    for (const TensorId written : graph.ops[o].outputs) {
      if (!written.valid()) continue;
      const auto [begin, end] = problem_.uses.of(written);
      readers += static_cast<size_t>(end - begin);
      leads_on[o] = leads_on[o] || std::any_of(begin, end, [&](const Use& use) { return leads_on[use.op.index()]; });
    }
    leads_on[o] = leads_on[o] || readers > kReadersOfChain;
  }
  for (const Tensor& tensor : graph.tensors)
    is_activation_.push_back(tensor.producer.valid() && of_input[tensor.producer.index()] &&
                             leads_on[tensor.producer.index()]);
  for (const Tie& tie : graph.ties) is_activation_[tie.output.index()] = false;  // both ends weigh alike
}

void SideWeights::Move(const Plan& plan, const Schedule& schedule) {
  const std::vector<StepSide>& sides = landmarks_.turn;
  const std::vector<double> ops = PlanSums(plan).seconds().ops;
  const double step = schedule.summary.step;
  double turned = 0;  // when the first side ends
  for (size_t o = 0; o < sides.size(); ++o) {
    if (sides[o] == StepSide::kBefore) turned = std::max(turned, schedule.ops[o].end);
  }
  std::array<double, 2> compute = {0, 0}, sent = {0, 0};
  for (size_t o = 0; o < ops.size(); ++o) compute[schedule.ops[o].end <= turned ? 0 : 1] += ops[o];
  for (size_t i = 0; i < plan.transitions.size(); ++i) {
    for (size_t s = 0; s < plan.transitions[i].steps.size(); ++s) {
      const TaskTime& time = schedule.transitions[i][s];
      if (!RowOf(plan.transitions[i].steps[s].kind).local) sent[time.end <= turned ? 0 : 1] += time.end - time.start;
    }
  }
  const auto move = [&](double& l, size_t side, double seconds) {
    if (seconds <= 0) return;
    l = std::clamp(l + pace_ * (compute[side] - overlap_ * sent[side]) / seconds, kLeastOfSide, 1.0);
  };
  move(behind_, 1, step - turned);
  move(before_, 0, turned);
  if (sides.empty()) before_ = behind_;
  pace_ *= kSlower;
}

PriceWeights SideWeights::Weights(const std::function<double(TensorId)>& exposed) const {
  PriceWeights weights =
      WeightsOf(landmarks_, overlap_, {{before_, before_, before_}, {behind_, behind_, behind_}, true});
  for (size_t t = 0; t < is_activation_.size(); ++t) {
    if (!is_activation_[t]) continue;
    const double share = exposed(TensorId(t));
    weights.sent_of[t] = share + (1 - share) * weights.sent_of[t];
    weights.sent_early[t] = std::max(weights.sent_early[t], weights.sent_of[t]);
  }
  return weights;
}

}  // namespace sbp
