// What would remove the dearest collectives: a pin of one who reads or writes the tensor, and what it costs.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "explain/explain.h"
#include "graph/graph.h"
#include "memory/memory.h"
#include "page/sections.h"
#include "plan/plan.h"
#include "plan/transition_runs.h"
#include "problem/problem.h"
#include "report/facts.h"
#include "rule/candidates.h"
#include "sbp/layout_rows.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

// Bounds of a page: groups of equal collectives, and candidates that are priced for all of them.
constexpr size_t kMostRemovals = 400;
constexpr int64_t kMostPriced = 60'000;
// Of a transition's seconds, what is spared where it is gone: what is left may be a smaller one in its place.
constexpr double kSpared = 0.75;

// A candidate in which the tensor lies as `layout`.
struct Change {
  NdSbp layout;
  double seconds = 0;  // that the step takes more, all other ops as they are
  bool moves = false;  // the op's other side then needs about as much boxing, as long as other ops stay as they are
};

struct Removal {
  std::string pin, where;
  std::optional<double> seconds;  // none: it costs memory
  int64_t bytes = 0;
  bool moves = false;
};

class Removals {
 public:
  explicit Removals(const PageFacts& facts)
      : plan_(facts.plan), problem_(*facts.options.problem), runs_(RunsOfTransitions(plan_, problem_.runs)) {}

  // Are more candidates to be priced?
  bool may_look() const { return left_ > 0; }

  // Of a transition of the plan the cheapest pin that spares the step it, else the cheapest one that moves it; none is
  // known: nothing.
  std::optional<Removal> Find(const Transition& transition) {
    std::optional<Removal> best;
    const auto consider = [&](std::optional<Removal> found) {
      if (found && (!best || std::pair(found->moves, *found->seconds) < std::pair(best->moves, *best->seconds)))
        best = std::move(found);
    };
    if (transition.consumers.size() == 1) consider(ByReader(transition));
    consider(ByWriter(transition));
    return best ? best : ByStart(transition);
  }

 private:
  // The reader takes the tensor in another layout.
  std::optional<Removal> ByReader(const Transition& transition) {
    const Use use = transition.consumers[0];
    const auto layout = [&](const CandidateSignature& signature) -> NdSbp { return signature.inputs[use.operand]; };
    const std::optional<Change> found = Cheapest(use.op, transition, transition.from, layout);
    if (!found) return std::nullopt;
    const std::vector<std::string>& names = problem_.candidates(use.op).instance->operand_names;
    const std::string operand = use.operand < names.size() ? names[use.operand] : StrCat(use.operand);
    return Removal{StrCat(plan_.graph.op(use.op).name, ".", operand, "=", ToString(found->layout)), "reader",
                   found->seconds, 0, found->moves};
  }

  // The producer writes it in another layout.
  std::optional<Removal> ByWriter(const Transition& transition) {
    const OpId producer = plan_.graph.tensor(transition.tensor).producer;
    if (!producer.valid()) return std::nullopt;
    const std::vector<TensorId>& outputs = plan_.graph.op(producer).outputs;
    const auto result = static_cast<size_t>(std::ranges::find(outputs, transition.tensor) - outputs.begin());
    const auto layout = [&](const CandidateSignature& signature) -> NdSbp { return signature.outputs[result]; };
    const std::optional<Change> found = Cheapest(producer, transition, transition.to, layout);
    if (!found) return std::nullopt;
    return Removal{StrCat(plan_.graph.tensor(transition.tensor).name, "<-", ToString(found->layout)), "writer",
                   found->seconds, 0, found->moves};
  }

  // An input or parameter starts as it is wanted: devices hold more of it all the time.
  std::optional<Removal> ByStart(const Transition& transition) const {
    const Tensor& tensor = plan_.graph.tensor(transition.tensor);
    if (tensor.producer.valid() || transition.from != plan_.source_layouts[transition.tensor.index()]) {
      return std::nullopt;
    }
    return Removal{
        StrCat(tensor.name, "=", ToString(transition.to)), "start", std::nullopt,
        LocalBytes(tensor.type, transition.to, plan_.mesh) - LocalBytes(tensor.type, transition.from, plan_.mesh)};
  }

  // Of the op's allowed candidates in which the tensor lies otherwise: the cheapest that needs less boxing by most of
  // what the transition takes, else the cheapest in which it lies as `fitting`, so that this transition is not needed.
  template <typename LayoutIn>
  std::optional<Change> Cheapest(OpId op, const Transition& transition, const NdSbp& fitting, LayoutIn layout) {
    left_ -= static_cast<int64_t>(problem_.candidates(op).candidates.size());
    if (left_ < 0) return std::nullopt;
    const Result<ExplainedOp> explained = ExplainOp(problem_, plan_, op, {.around = false, .forced = false});
    if (!explained.ok()) return std::nullopt;  // a plan that somebody changed
    const auto runs = static_cast<double>(runs_[static_cast<size_t>(&transition - plan_.transitions.data())]);
    const double spared = kSpared * transition.seconds * runs;  // of a step
    const auto chosen = std::ranges::find_if(explained->candidates, &ExplainedCandidate::chosen);
    std::optional<Change> best;
    for (const ExplainedCandidate& candidate : explained->candidates) {
      const double seconds = candidate.extra_seconds;
      if (!candidate.allowed || !std::isfinite(seconds)) continue;
      const NdSbp other = layout(candidate.signature);
      const bool moves = candidate.boxing_seconds > chosen->boxing_seconds - spared;
      if (other == layout(chosen->signature) || (moves && other != fitting)) continue;
      if (!best || std::pair(moves, seconds) < std::pair(best->moves, best->seconds)) best = {other, seconds, moves};
    }
    return best;
  }

  const Plan& plan_;
  const Problem& problem_;
  const std::vector<int64_t> runs_;  // per transition
  int64_t left_ = kMostPriced;
};

}  // namespace

Json RemovalsSection(const PageFacts& facts) {
  if (facts.options.problem == nullptr) return nullptr;
  Removals removals(facts);
  Json list = Json::array();
  const std::vector<CollectiveGroup> groups = GroupCollectives(facts.plan);
  for (size_t i = 0; i < std::min(groups.size(), kMostRemovals) && removals.may_look(); ++i) {
    const std::optional<Removal> found = removals.Find(*groups[i].first);
    const int64_t transition = groups[i].first - facts.plan.transitions.data();
    if (!found) {
      list.push_back({{"transition", transition}, {"pin", nullptr}});
      continue;
    }
    list.push_back({{"transition", transition},
                    {"pin", found->pin},
                    {"where", found->where},
                    {"extra_seconds", found->seconds ? Json(*found->seconds) : Json()},
                    {"extra_bytes", found->bytes},
                    {"moves", found->moves}});
  }
  return list;
}

}  // namespace sbp
