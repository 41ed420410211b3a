// time: seconds of boxing the inputs, and results to where pins want them, along their cheapest paths, and of the op
// itself on the busiest device; first registered on ties. Local: like every greedy criterion it looks at producers
// only.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "boxing/boxing.h"
#include "graph/tensor_type.h"
#include "problem/problem.h"
#include "rule/factor_map.h"
#include "sbp/layout_rows.h"
#include "sbp/sbp.h"
#include "strategy/all_criteria.h"
#include "strategy/prices.h"
#include "strategy/strategy.h"

namespace sbp {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();
constexpr size_t kSeeds = 4;  // candidates whose seconds tell how far to look

double OperandSeconds(const CriterionQuery& query, size_t operand, const NdSbp& wanted) {
  const Problem& problem = *query.problem;
  const TensorType& type = problem.type(problem.operands(query.op)[operand]);
  return problem.boxing->Price(type, query.produced[operand], wanted).seconds;
}

StandingPrice StandingSeconds(const CriterionQuery& query) {
  return [boxing = query.problem->boxing](const TensorType& type, const NdSbp& written, const NdSbp& standing) {
    return boxing->Price(type, written, standing).seconds;
  };
}

// The seconds of candidates, boxing searched no further than the least ones ask for: most candidates are dearer than
// the two that count by their compute and what lies near.
class NearPrices {
 public:
  explicit NearPrices(const CriterionQuery& query)
      : query_(query), standing_(StandingResults(query, StandingSeconds(query))) {
    const Problem& problem = *query.problem;
    const OpClass& op_class = problem.class_at(query.op);
    for (size_t i = 0; i < op_class.operands.size(); ++i) {
      if (op_class.list->instance->present[i]) slots_.push_back({.layouts = &op_class.operands[i], .operand = i});
    }
    const std::vector<TensorId>& outputs = problem.graph->op(query.op).outputs;
    for (size_t r = 0; standing_ && r < op_class.results.size(); ++r) {
      if (outputs[r].valid())
        slots_.push_back({.layouts = &op_class.results[r], .operand = 0, .result = r, .is_result = true});
    }
    for (Slot& slot : slots_) {
      slot.known.resize(slot.layouts->layouts.size());
      for (size_t l = 0; l < slot.known.size(); ++l) Ask(slot, l, 0);
    }
  }

  // Exact where they are at most `most`; else above it, and no more than they are.
  double Of(uint32_t candidate, double most) {
    const double compute = query_.problem->ComputeSeconds(query_.op, candidate);
    double sum = Sum(candidate, compute);
    for (Slot& slot : slots_) {
      if (sum > most * (1 + kRounding)) return sum;
      const size_t layout = slot.layouts->of_candidate[candidate];
      const Known& known = slot.known[layout];
      if (known.exact) continue;
      const double others = sum - known.seconds;
      Ask(slot, layout, most * (1 + kRounding) - others);
      sum = others + known.seconds;
    }
    return Sum(candidate, compute);
  }

 private:
  static constexpr double kRounding = 1e-9;  // what sums may be off
  struct Known {
    double seconds = 0;  // at least
    bool exact = false;
  };
  struct Slot {
    const SlotLayouts* layouts;
    size_t operand, result = 0;
    bool is_result = false;
    std::vector<Known> known = {};  // per layout
  };

  void Ask(Slot& slot, size_t layout, double most) {
    const NdSbp& wanted = slot.layouts->layouts[layout];
    Known& known = slot.known[layout];
    if (slot.is_result) {
      known = {.seconds = standing_(slot.result, wanted), .exact = true};
      return;
    }
    const Problem& problem = *query_.problem;
    const TensorType& type = problem.type(problem.operands(query_.op)[slot.operand]);
    const double seconds = problem.boxing->SecondsUpTo(type, query_.produced[slot.operand], wanted, most);
    known = {.seconds = seconds, .exact = seconds <= most || seconds == kNoLimit};
  }

  // In the order of slots, as prices are added up elsewhere.
  double Sum(uint32_t candidate, double compute) const {
    double sum = 0;
    for (const Slot& slot : slots_) sum += slot.known[slot.layouts->of_candidate[candidate]].seconds;
    return sum + compute;
  }

  const CriterionQuery& query_;
  SlotPrice standing_;
  std::vector<Slot> slots_;
};

// No more than so many seconds are of interest: two candidates take no more.
double SecondsOfTwo(const CriterionQuery& query, NearPrices& prices) {
  std::vector<std::pair<double, uint32_t>> least;  // ascending
  for (const uint32_t c : query.allowed) {
    const std::pair at_least(prices.Of(c, 0), c);
    if (least.size() == kSeeds && at_least >= least.back()) continue;
    if (least.size() == kSeeds) least.pop_back();
    least.insert(std::ranges::upper_bound(least, at_least), at_least);
  }
  double first = kNoLimit, second = kNoLimit;
  for (const auto& [at_least, candidate] : least) {
    const double seconds = prices.Of(candidate, second);
    second = std::min(second, std::max(first, seconds));
    first = std::min(first, seconds);
  }
  return second;
}

}  // namespace

CriterionAnswer ChooseByTime(const CriterionQuery& query) {
  if (query.produced.size() > kFewOperands) {  // SlotPrices prices those that are alike once
    const SlotPrices boxing(
        query, [&](size_t i, const NdSbp& wanted) { return OperandSeconds(query, i, wanted); },
        StandingResults(query, StandingSeconds(query)));
    return ChooseLeast(query.allowed, Ties::kFirst,
                       [&](uint32_t c) { return boxing.Of(c) + query.problem->ComputeSeconds(query.op, c); });
  }
  NearPrices prices(query);
  const double most = SecondsOfTwo(query, prices);
  return ChooseLeast(query.allowed, Ties::kFirst, [&](uint32_t c) { return prices.Of(c, most); });
}

std::vector<PriceTerm> TimeTerms(const CriterionQuery& query, uint32_t candidate) {
  const CandidateSignature& signature = query.list->candidates[candidate].signature;
  std::vector<PriceTerm> terms;
  const auto operands = query.problem->operands(query.op);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].valid()) continue;
    terms.push_back({TransitionLabel(query, i, signature.inputs[i]), OperandSeconds(query, i, signature.inputs[i])});
  }
  AddStandingTerms(query, candidate, StandingSeconds(query), terms);
  terms.push_back({"the op itself on the busiest device", query.problem->ComputeSeconds(query.op, candidate)});
  return terms;
}

}  // namespace sbp
