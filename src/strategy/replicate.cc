// replicate: everything whole on every device, except where a pin says otherwise. The plan that every other one is
// compared with.
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "problem/problem.h"
#include "sbp/layout_rows.h"
#include "sbp/sbp.h"
#include "strategy/all_strategies.h"
#include "strategy/prices.h"
#include "strategy/strategy.h"
#include "strategy/walk.h"

namespace sbp {
namespace {

size_t SplitOrPartialSlots(const CandidateSignature& signature) {
  size_t count = 0;
  for (const NdSbp& layout : signature.inputs) count += layout.is_broadcast() ? 0 : 1;
  for (const NdSbp& layout : signature.outputs) count += layout.is_broadcast() ? 0 : 1;
  return count;
}

Walk::Decision Decide(const CriterionQuery& query) {
  const CriterionAnswer answer = ChooseLeast(query.allowed, Ties::kFirst, [&](uint32_t c) {
    return static_cast<double>(SplitOrPartialSlots(query.list->candidates[c].signature));
  });
  return {answer, answer.price == 0 ? "replicated, as the strategy says"
                                    : "the pins allow no replicated signature; the one with most whole tensors"};
}

constexpr std::string_view kReplicateUnit = "tensors not whole";

Result<Assignment> SolveReplicate(const Problem& problem, const StrategyOptions& options) {
  std::vector<NdSbp> sources(problem.graph->tensors.size(), NdSbp(problem.mesh.num_axes()));
  for (const auto& [tensor, pin] : problem.pins.tensors) {
    if (!problem.graph->tensor(tensor).producer.valid()) sources[tensor.index()] = pin.layout;
  }
  SBP_ASSIGN_OR_RETURN(Assignment assignment, Walk(problem, options).Run(std::move(sources), Decide));
  assignment.price_unit = kReplicateUnit;
  return assignment;
}

}  // namespace

StrategyRow ReplicateStrategy() {
  return {.name = "replicate",
          .doc = "everything whole on every device",
          .options = {},
          .unit = kReplicateUnit,
          .has_bound = false,
          .solve = SolveReplicate};
}

}  // namespace sbp
