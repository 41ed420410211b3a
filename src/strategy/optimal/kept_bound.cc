#include "strategy/optimal/kept_bound.h"

#include <algorithm>
#include <cstdint>

#include "base/ids.h"
#include "boxing/boxing.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "plan/pins.h"
#include "plan/plan.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

constexpr double kRoundingOfKept = 1e-9;  // of seconds that were added up in another order

// No plan boxes where there is no path.
double SecondsIfAny(const Problem& problem, const TensorType& type, const NdSbp& from, const NdSbp& to) {
  const BoxingPrice price = problem.boxing->Price(type, from, to);
  return price.reachable ? price.seconds : 0;
}

// The most that it takes to keep to a pin of a source that starts as `pinned`. Nothing: a kernel group may be cut by
// that, whose price is not looked at.
std::optional<double> MostToKeep(const Problem& problem, TensorId source, const NdSbp& pinned) {
  if (problem.is_output[source.index()]) return std::nullopt;  // how it ends is not looked at either
  const TensorType& type = problem.type(source);
  double seconds = 0;
  const auto [begin, end] = problem.uses.of(source);
  for (const Use* use = begin; use != end; ++use) {
    if (problem.IsInside(use->op, false, use->operand)) return std::nullopt;
    double most = 0;
    for (const NdSbp& wanted : problem.class_at(use->op).operands[use->operand].layouts)
      most = std::max(most, SecondsIfAny(problem, type, pinned, wanted));
    seconds += most;
  }
  for (const Tie& tie : problem.graph->ties) {
    if (tie.input != source) continue;
    const Tensor& output = problem.graph->tensor(tie.output);
    if (!output.producer.valid()) return std::nullopt;
    if (problem.IsInside(output.producer, true, output.producer_index)) return std::nullopt;
    double most = 0;
    for (const NdSbp& written : problem.class_at(output.producer).results[output.producer_index].layouts)
      most = std::max(most, SecondsIfAny(problem, output.type, written, pinned));
    if (const TensorPin* standing = problem.demands.standing(tie.output))
      most = std::max(most, SecondsIfAny(problem, output.type, standing->layout, pinned));
    seconds += most;
  }
  return seconds;
}

// A limit allows no plans that it did not allow before?
bool IsNoLooser(std::optional<int64_t> limit, std::optional<int64_t> before) {
  return !before || (limit && *limit <= *before);
}

}  // namespace

std::optional<KeptBound> BoundThatHolds(const Problem& problem, const EarlierAnswer& before, const ChangedPins& changed,
                                        std::optional<int64_t> limit) {
  const Plan& plan = *before.plan;
  if (!plan.has_bound || changed.freed_others || !IsNoLooser(limit, plan.options.memory_limit)) return std::nullopt;
  // Where a list was cut, pins change what is in it.
  const auto is_cut = [](const OpClass& op_class) { return op_class.list->truncated; };
  if (std::ranges::any_of(problem.classes, is_cut)) return std::nullopt;
  KeptBound kept{.sum = plan.lower_bound_seconds, .schedule = plan.schedule_bound_seconds.value_or(0)};
  if (changed.freed_sources.empty()) return kept;
  // What keeps to a pin may not fit, and what runs in each micro-batch is paid more than once.
  if (limit || plan.options.memory_limit || problem.graph->micro_batches > 1) return std::nullopt;
  double lost = 0;
  for (const TensorId source : changed.freed_sources) {
    const std::optional<double> most = MostToKeep(problem, source, before.pins.tensors.at(source).layout);
    if (!most) return std::nullopt;
    lost += *most;
  }
  kept.sum = std::max(0.0, kept.sum - lost * (1 + kRoundingOfKept));
  kept.schedule = std::max(0.0, kept.schedule - lost * (1 + kRoundingOfKept));
  return kept;
}

}  // namespace sbp
