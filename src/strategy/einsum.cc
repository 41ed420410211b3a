// einsum: layouts that users marked spread through the factors of the ops (sweeps.h); then each op takes the legal
// candidate that agrees with most of what was inferred, and among those the one that boxes least.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "problem/problem.h"
#include "rule/infer.h"
#include "sbp/sbp.h"
#include "strategy/all_strategies.h"
#include "strategy/prices.h"
#include "strategy/strategy.h"
#include "strategy/sweeps.h"
#include "strategy/walk.h"

namespace sbp {
namespace {

// In the reason of a conflict; each operand of an op carries it, so that more would make plans of wide ops enormous.
constexpr size_t kNamedMerges = 16;

// Users mark tensors by pins, which are fixed; without any, inputs start as in greedy and may gain further axes.
struct Marks {
  std::vector<NdSbp> layouts;
  std::vector<bool> fixed;
};

Marks MarksOf(const Problem& problem) {
  Marks marks;
  const size_t count = problem.graph->tensors.size();
  marks.fixed.assign(count, false);
  if (problem.pins.empty()) {
    marks.layouts = InitialSourceLayouts(problem);
    return marks;
  }
  marks.layouts.assign(count, NdSbp(problem.mesh.num_axes()));
  // Readers see a tensor as it lies; what is pinned as written only counts where that is the same.
  for (const auto* pins : {&problem.pins.tensors, &problem.pins.lies}) {
    for (const auto& [tensor, pin] : *pins) {
      marks.layouts[tensor.index()] = pin.layout;
      marks.fixed[tensor.index()] = true;
    }
  }
  return marks;
}

// What was inferred for one op: how it wants its operands, and how its results lie.
struct Inferred {
  std::vector<NdSbp> operands, results;
};

Inferred InferredFor(const Problem& problem, Sweeps& sweeps, OpId op) {
  Inferred inferred;
  const InferAnswer& forward = sweeps.Forward(op);
  inferred.operands = forward.inputs;
  const std::vector<TensorId>& outputs = problem.graph->op(op).outputs;
  for (size_t r = 0; r < outputs.size(); ++r) {
    // What is pinned only as it lies is written as the operands have it.
    const bool is_free = outputs[r].valid() && problem.demands.standing(outputs[r]) != nullptr &&
                         !problem.pins.tensors.contains(outputs[r]);
    inferred.results.push_back(!outputs[r].valid() ? NdSbp(problem.mesh.num_axes())
                               : is_free           ? forward.outputs[r]
                                                   : sweeps.layout(outputs[r]));
  }
  return inferred;
}

int AxesThatDiffer(const NdSbp& a, const NdSbp& b) {
  int count = 0;
  for (int axis = 0; axis < a.size(); ++axis) count += a[axis] == b[axis] ? 0 : 1;
  return count;
}

Walk::Decision Nearest(const CriterionQuery& query, const Inferred& inferred) {
  const SlotPrices difference(
      query, [&](size_t i, const NdSbp& layout) { return AxesThatDiffer(layout, inferred.operands[i]); },
      [&](size_t r, const NdSbp& layout) { return AxesThatDiffer(layout, inferred.results[r]); }, inferred.operands);
  const CriterionAnswer nearest =
      ChooseLeast(query.allowed, Ties::kFirst, [&](uint32_t c) { return difference.Of(c); });
  // Among the equally near ones, least boxing.
  std::vector<uint32_t> near;
  for (uint32_t c : query.allowed) {
    if (difference.Of(c) == nearest.price) near.push_back(c);
  }
  CriterionQuery among = query;
  among.allowed = near;
  const CriterionAnswer least = (*FindCriterion("bytes"))->choose(among);
  CriterionAnswer answer = nearest;
  answer.candidate = least.candidate;
  if (least.alternative >= 0) {
    answer.alternative = least.alternative;
    answer.alternative_price = nearest.price;
  }
  std::string reason = answer.price == 0 ? "every layout as inferred from the marked tensors"
                                         : StrCat("nearest to what was inferred; ", FormatDouble(answer.price),
                                                  " axes of its tensors lie otherwise");
  if (near.size() > 1) reason += StrCat("; least boxing of ", near.size(), " such");
  return {answer, reason};
}

bool LostAnAxis(const NdSbp& given, const NdSbp& used) {
  for (int axis = 0; axis < given.size(); ++axis) {
    if (!given[axis].is_broadcast() && given[axis] != used[axis]) return true;
  }
  return false;
}

// Every merge that overrode a layout: what the tensor has, what the op uses instead, and why.
void RecordConflicts(const Problem& problem, Sweeps& sweeps, Assignment& assignment) {
  for (size_t o = 0; o < problem.num_ops(); ++o) {
    const InferAnswer& answer = sweeps.Forward(OpId(o));
    if (answer.conflicts.empty()) continue;
    const std::string op = StrCat("op ", Quote(problem.graph->ops[o].name));
    std::vector<std::string> named(answer.conflicts.begin(),
                                   answer.conflicts.begin() + std::min(answer.conflicts.size(), kNamedMerges));
    if (answer.conflicts.size() > named.size()) {
      named.push_back(StrCat(answer.conflicts.size() - named.size(), " more"));
    }
    const std::string reason = Join(named, "; ");
    const auto operands = problem.operands(OpId(o));
    bool recorded = false;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!operands[i].valid() || !LostAnAxis(sweeps.layout(operands[i]), answer.inputs[i])) continue;
      assignment.conflicts.push_back({StrCat(op, ", tensor ", Quote(problem.graph->tensor(operands[i]).name)),
                                      ToString(sweeps.layout(operands[i])), ToString(answer.inputs[i]), reason});
      recorded = true;
    }
    if (!recorded) assignment.conflicts.push_back({op, "", "", reason});
  }
}

constexpr std::string_view kEinsumUnit = "axes not as inferred";

Result<Assignment> SolveEinsum(const Problem& problem, const StrategyOptions& options) {
  if (problem.mesh.num_devices() == 1)
    return Walk(problem, options).Run(InitialSourceLayouts(problem), DecideOnOneDevice);
  Marks marks = MarksOf(problem);
  Sweeps sweeps(problem, std::move(marks.layouts), std::move(marks.fixed));
  if (!sweeps.Run(options.cancelled)) return NoPlan("planning was interrupted");
  Walk walk(problem, options);
  const auto decide = [&](const CriterionQuery& query) {
    return Nearest(query, InferredFor(problem, sweeps, query.op));
  };
  const auto extra_key = [&](OpId op, std::vector<NdSbp>& key) {
    const Inferred inferred = InferredFor(problem, sweeps, op);
    key.insert(key.end(), inferred.operands.begin(), inferred.operands.end());
    key.insert(key.end(), inferred.results.begin(), inferred.results.end());
  };
  SBP_ASSIGN_OR_RETURN(Assignment assignment, walk.Run(sweeps.layouts(), decide, extra_key));
  assignment.price_unit = kEinsumUnit;
  RecordConflicts(problem, sweeps, assignment);
  return assignment;
}

}  // namespace

StrategyRow EinsumStrategy() {
  return {.name = "einsum",
          .doc = "pins spread forward and backward through the factors of each op",
          .options = {},
          .unit = kEinsumUnit,
          .has_bound = false,
          .solve = SolveEinsum};
}

}  // namespace sbp
