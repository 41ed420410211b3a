// Why ops are laid out as they are: their candidates and prices, of the ops that take most of the step.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "explain/explain.h"
#include "graph/graph.h"
#include "page/interned.h"
#include "page/layout_table.h"
#include "page/sections.h"
#include "plan/pins.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "rule/candidates.h"
#include "rule/factor_map.h"
#include "sbp/sbp.h"
#include "strategy/strategy.h"

namespace sbp {
namespace {

// Bounds of a page, not of a plan: distinct ops, candidates told of each, and questions about tensors in all (an answer
// takes microseconds).
constexpr size_t kMostOps = 400, kMostCandidates = 24;
constexpr int64_t kMostWork = 3'000'000;
// What forcing a candidate costs the whole step is a search each: of so many distinct ops, the dearest of each type
// first, and so many candidates; fewer of large graphs: seconds in all.
constexpr size_t kMostForcedOps = 24;
constexpr ForcedAmong kForced = {.candidates = 2, .effort = 0.02, .work = 40'000};
constexpr size_t kMostTermsOfForced = 20'000;  // of an op that is held until they are found

using OpKey = std::vector<uint32_t>;

// Ops that get the same answer: one record, one class, neighbours that write and read in the same layouts, and the same
// pins around them.
class Alike {
 public:
  explicit Alike(const PageFacts& facts) : plan_(facts.plan), problem_(*facts.options.problem) {}

  OpKey KeyOf(OpId op) {
    const Pins& pins = problem_.pins;
    OpKey key = {plan_.op_records[op.index()], problem_.class_of[op.index()], PinOf(pins.signatures, op)};
    size_t operand = 0;
    for (const TensorId tensor : problem_.operands(op)) {
      key.push_back(tensor.valid() ? layouts_.Find(plan_.source_layouts[tensor.index()]) : kNone);
      key.push_back(PinOf(pins.uses, UseKey(op, operand++)));
      AddPins(tensor, key);
    }
    for (const TensorId tensor : problem_.graph->op(op).outputs) {
      key.push_back(kNone);
      if (!tensor.valid()) continue;
      AddPins(tensor, key);
      std::vector<uint32_t> wanted;
      const auto [begin, end] = problem_.uses.of(tensor);
      for (const Use* use = begin; use != end; ++use) {
        wanted.push_back(layouts_.Find(plan_.decision(use->op).signature.inputs[use->operand]));
      }
      std::ranges::sort(wanted);
      key.insert(key.end(), wanted.begin(), std::unique(wanted.begin(), wanted.end()));
    }
    return key;
  }

  // How many questions about tensors its candidates are.
  int64_t WorkOf(OpId op) const {
    int64_t around = 1;
    const auto add = [&](TensorId tensor) {
      if (!tensor.valid()) return;
      const auto [begin, end] = problem_.uses.of(tensor);
      around += 1 + (end - begin);
    };
    for (const TensorId tensor : problem_.operands(op)) add(tensor);
    for (const TensorId tensor : problem_.graph->op(op).outputs) add(tensor);
    return around * static_cast<int64_t>(problem_.candidates(op).candidates.size());
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  template <class Table, class Key>
  uint32_t PinOf(const Table& pins, const Key& key) {
    const auto pin = pins.find(key);
    return pin == pins.end() ? kNone : texts_.Find(pin->second.text);
  }
  void AddPins(TensorId tensor, OpKey& key) {
    key.push_back(PinOf(problem_.pins.tensors, tensor));
    key.push_back(PinOf(problem_.pins.lies, tensor));
  }

  const Plan& plan_;
  const Problem& problem_;
  LayoutTable layouts_;
  Interned texts_;  // of pins
};

struct OpGroup {
  OpId first;
  size_t num_ops = 0;
  double seconds = 0;  // of all its ops, with the boxing of their operands
};

struct OpGroups {
  std::vector<OpGroup> all;     // in order of first appearance
  std::vector<uint32_t> of_op;  // index into `all`
};

OpGroups FindGroups(const PageFacts& facts, Alike& alike) {
  const Plan& plan = facts.plan;
  OpGroups groups;
  std::map<OpKey, uint32_t> known;
  for (size_t i = 0; i < plan.graph.ops.size(); ++i) {
    const OpId op(i);
    const auto [entry, is_new] = known.try_emplace(alike.KeyOf(op), static_cast<uint32_t>(groups.all.size()));
    if (is_new) groups.all.push_back({.first = op});
    ++groups.all[entry->second].num_ops;
    groups.all[entry->second].seconds += plan.decision(op).compute_seconds;
    groups.of_op.push_back(entry->second);
  }
  for (const Transition& transition : plan.transitions) {
    for (const Use& use : transition.consumers) {
      groups.all[groups.of_op[use.op.index()]].seconds +=
          transition.seconds / static_cast<double>(transition.consumers.size());
    }
  }
  return groups;
}

Json Finite(double value) { return std::isfinite(value) ? Json(value) : Json(); }

// Its price by the strategy's own criterion, term by term; null where the strategy has none.
Json OwnPrice(const ExplainedCandidate& candidate, const std::string& criterion) {
  for (const ExplainedPrice& price : candidate.prices) {
    if (price.criterion != criterion) continue;
    Json terms = Json::array();
    for (const PriceTerm& term : price.terms) terms.push_back({term.what, Finite(term.value)});
    return {{"criterion", price.criterion}, {"unit", price.unit}, {"price", Finite(price.price)}, {"terms", terms}};
  }
  return nullptr;
}

Json PricesOf(const ExplainedCandidate& candidate) {
  Json prices = Json::array();
  for (const ExplainedPrice& price : candidate.prices) prices.push_back(Finite(price.price));
  return prices;
}

Json ForcedOf(const ExplainedCandidate& candidate) {
  if (!candidate.forced) return nullptr;
  return {Finite(candidate.forced->at_least), Finite(candidate.forced->at_most)};
}

Json EntryOf(const ExplainedOp& op, const OpGroup& group, const RuleInstance& instance) {
  Json candidates = Json::array();
  const std::vector<size_t> order = CandidatesByPrice(op);
  for (size_t i = 0; i < std::min(order.size(), kMostCandidates); ++i) {
    const ExplainedCandidate& candidate = op.candidates[order[i]];
    candidates.push_back({{"signature", SignatureText(candidate.signature, op, {})},
                          {"choice", candidate.choice},
                          {"chosen", candidate.chosen},
                          {"allowed", candidate.allowed},
                          {"compute", Finite(candidate.compute_seconds)},
                          {"boxing", Finite(candidate.boxing_seconds)},
                          {"extra", Finite(candidate.extra_seconds)},
                          {"forced", ForcedOf(candidate)},
                          {"own", OwnPrice(candidate, op.criterion)},
                          {"prices", PricesOf(candidate)}});
  }
  return {{"first", group.first.index()},
          {"ops", group.num_ops},
          {"operands", instance.operand_names},
          {"results", instance.result_names},
          {"rule", op.rule},
          {"criterion", op.criterion},
          {"again", op.again},
          {"pins", op.pins},
          {"count", op.candidates.size()},
          {"candidates", std::move(candidates)}};
}

// Groups by what they take of the step, the dearest first.
std::vector<uint32_t> ByTime(const OpGroups& groups) {
  std::vector<uint32_t> order(groups.all.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::ranges::greater(), [&](uint32_t group) { return groups.all[group].seconds; });
  return order;
}

struct Told {
  uint32_t group;
  ExplainedOp op;
};

// Sets what forcing costs the step for some of those that are told: the dearest of each type of op, then the others.
void AddForcedToSome(const PageFacts& facts, const OpGroups& groups, std::vector<Told>& told) {
  std::set<std::string> types;
  std::vector<size_t> first, others;
  for (size_t i = 0; i < told.size(); ++i) {
    const ExplainedOp& op = told[i].op;
    if (op.candidates.size() < 2 || op.candidates.size() * op.operand_ranks.size() > kMostTermsOfForced) continue;
    (types.insert(op.type).second ? first : others).push_back(i);
  }
  first.insert(first.end(), others.begin(), others.end());
  first.resize(std::min(first.size(), kMostForcedOps));
  std::vector<OpId> ops;
  std::vector<ExplainedOp*> explained;
  for (const size_t i : first) {
    ops.push_back(groups.all[told[i].group].first);
    explained.push_back(&told[i].op);
  }
  // A plan that somebody changed has no answer, and `check` says so: what is not known is left out.
  if (!AddForced(*facts.options.problem, facts.plan, ops, explained, kForced).ok()) return;
}

}  // namespace

Json ExplainSection(const PageFacts& facts) {
  if (facts.options.problem == nullptr) return nullptr;
  Alike alike(facts);
  const OpGroups groups = FindGroups(facts, alike);
  std::vector<Told> told;
  int64_t left = kMostWork;
  for (const uint32_t group : ByTime(groups)) {
    if (told.size() == kMostOps) break;
    const OpId op = groups.all[group].first;
    const int64_t work = alike.WorkOf(op);
    if (work > left) continue;
    left -= work;
    // An op whose decision is none of its candidates (a plan that somebody changed) has no answer; `check` says so.
    Result<ExplainedOp> explained =
        ExplainOp(*facts.options.problem, facts.plan, op, {.around = false, .forced = false});
    if (explained.ok()) told.push_back({group, *std::move(explained)});
  }
  AddForcedToSome(facts, groups, told);
  std::vector<int64_t> entry_of(groups.all.size(), -1);
  Json entries = Json::array(), criteria = Json::array();
  for (const Told& one : told) {
    entry_of[one.group] = static_cast<int64_t>(entries.size());
    const OpGroup& group = groups.all[one.group];
    entries.push_back(EntryOf(one.op, group, *facts.options.problem->candidates(group.first).instance));
  }
  for (const CriterionRow& row : AllCriteria()) criteria.push_back({row.name, row.unit});
  Json of_op = Json::array();
  for (const uint32_t group : groups.of_op) of_op.push_back(entry_of[group]);
  return {{"of_op", std::move(of_op)}, {"criteria", std::move(criteria)}, {"entries", std::move(entries)}};
}

}  // namespace sbp
