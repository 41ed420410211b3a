// Why ops are laid out as they are: their candidates and prices, of the ops that take most of the step.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <unordered_map>
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
#include "problem/demands.h"
#include "problem/problem.h"
#include "rule/candidates.h"
#include "rule/factor_map.h"
#include "sbp/sbp.h"
#include "strategy/strategy.h"

namespace sbp {
namespace {

// Bounds of a page, not of a plan: distinct ops, candidates told of each, and questions about tensors in all (an answer
// takes microseconds).
constexpr size_t kMostOps = 600, kMostCandidates = 24;
constexpr int64_t kMostWork = 3'000'000;
// What forcing a candidate costs the whole step is a search each: of so many distinct ops, the dearest of each type
// first, and so many candidates; fewer of large graphs: seconds in all.
constexpr size_t kMostForcedOps = 24;
constexpr ForcedAmong kForced = {.candidates = 2, .effort = 0.02, .work = 40'000};
constexpr size_t kMostTermsOfForced = 20'000;  // of an op that is held until they are found

using OpKey = std::vector<uint32_t>;

// Ops that get the same answer: one record, one class, the same pins around them, and around each tensor the same
// layouts, as often in a step, with the same ends of kernel groups.
class Alike {
 public:
  explicit Alike(const PageFacts& facts) : plan_(facts.plan), problem_(*facts.options.problem) {}

  OpKey KeyOf(OpId op) {
    const Pins& pins = problem_.pins;
    OpKey key = {plan_.op_records[op.index()], problem_.class_of[op.index()], PinOf(pins.signatures, op), RunsOf(op)};
    size_t operand = 0;
    for (const TensorId tensor : problem_.operands(op)) {
      key.push_back(PinOf(pins.uses, UseKey(op, operand++)));
      AddTensor(tensor, op, key);
    }
    for (const TensorId tensor : problem_.graph->op(op).outputs) AddTensor(tensor, op, key);
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

  uint32_t RunsOf(OpId op) const { return static_cast<uint32_t>(problem_.runs.of(op)); }

  // Who writes it, how it ends, and the distinct ways in which others read it; as many alike as there are where each
  // costs something when a kernel group is cut there.
  void AddTensor(TensorId tensor, OpId op, OpKey& key) {
    key.push_back(kNone);
    if (!tensor.valid()) return;
    AddPins(tensor, key);
    const Tensor& facts = problem_.graph->tensor(tensor);
    key.push_back(layouts_.Find(plan_.source_layouts[tensor.index()]));
    if (facts.producer.valid() && facts.producer != op) AddEnd(facts.producer, true, facts.producer_index, key);
    const EndRule end = problem_.demands.end(tensor);
    key.push_back(static_cast<uint32_t>(end.kind));
    key.push_back(end.tied.valid() ? layouts_.Find(plan_.source_layouts[end.tied.index()]) : kNone);
    std::map<OpKey, uint32_t> ways;
    const auto [first, last] = problem_.uses.of(tensor);
    for (const Use* use = first; use != last; ++use) {
      if (use->op == op) continue;
      OpKey way = {layouts_.Find(plan_.decision(use->op).signature.inputs[use->operand])};
      AddEnd(use->op, false, use->operand, way);
      ways[way] += way.size() > 2 ? 1 : 0;
    }

    for (const auto& [way, count] : ways) {
      key.insert(key.end(), way.begin(), way.end());
      key.push_back(count);
    }
  }

  // What a neighbour at the other end of a tensor adds where its kernel group is cut.
  void AddEnd(OpId op, bool is_result, size_t slot, OpKey& key) {
    key.push_back(RunsOf(op));
    if (!problem_.IsInside(op, is_result, slot)) return;
    const auto seconds = std::bit_cast<uint64_t>(problem_.OnceCutSeconds(op, ChosenOf(op), is_result, slot));
    key.push_back(static_cast<uint32_t>(seconds));
    key.push_back(static_cast<uint32_t>(seconds >> 32));
  }

  // Of ops of a class and record the candidate; 0 where it is none (a plan that somebody changed).
  size_t ChosenOf(OpId op) {
    const auto [entry, is_new] =
        chosen_.try_emplace({problem_.class_of[op.index()], plan_.op_records[op.index()]}, size_t{0});
    if (is_new) {
      const Result<uint32_t> found = FindCandidate(problem_, op, plan_.decision(op).signature, "the plan");
      if (found.ok()) entry->second = *found;
    }
    return entry->second;
  }

  template <class Key>
  uint32_t PinOf(const std::unordered_map<Key, TensorPin>& pins, Key key) {
    const auto pin = pins.find(key);
    return pin == pins.end() ? kNone : layouts_.Find(pin->second.layout);
  }
  uint32_t PinOf(const std::unordered_map<OpId, SignaturePin>& pins, OpId key) {
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
  Interned texts_;  // of pins of signatures
  std::map<std::pair<uint32_t, uint32_t>, size_t> chosen_;
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

Json TermsOf(const ExplainedPrice& price) {
  Json terms = Json::array();
  for (const PriceTerm& term : price.terms) terms.push_back({term.what, Finite(term.value)});
  return terms;
}

// Its price by the strategy's own criterion, term by term; null where the strategy has none.
Json OwnPrice(const ExplainedCandidate& candidate, const std::string& criterion) {
  for (const ExplainedPrice& price : candidate.prices) {
    if (price.criterion != criterion) continue;
    return {{"criterion", price.criterion},
            {"unit", price.unit},
            {"price", Finite(price.price)},
            {"terms", TermsOf(price)}};
  }
  return nullptr;
}

// Of the chosen candidate the terms of all prices; others have none, for the size of the page.
Json AllTermsOf(const ExplainedCandidate& candidate) {
  if (!candidate.chosen) return nullptr;
  Json terms = Json::array();
  for (const ExplainedPrice& price : candidate.prices) terms.push_back(TermsOf(price));
  return terms;
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
                          {"prices", PricesOf(candidate)},
                          {"terms", AllTermsOf(candidate)}});
  }
  return {{"first", group.first.index()},
          {"ops", group.num_ops},
          {"operands", instance.operand_names},
          {"results", instance.result_names},
          {"rule", op.rule},
          {"criterion", op.criterion},
          {"again", op.again},
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
