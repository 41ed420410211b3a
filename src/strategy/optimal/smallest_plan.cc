#include "strategy/optimal/smallest_plan.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <vector>

#include "base/checked_math.h"
#include "base/ids.h"
#include "base/status.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "memory/memory.h"
#include "problem/problem.h"
#include "sbp/sbp.h"
#include "search/smallest_peak.h"
#include "search/solve.h"
#include "strategy/optimal/candidate_lists.h"
#include "strategy/optimal/held_times.h"
#include "strategy/optimal/search_options.h"
#include "strategy/optimal/uniform.h"

namespace sbp {
namespace {

constexpr double kEffort = 0.3;                         // of one search
constexpr double kEffortOfUniform = 0.1;                // likewise, among uniform plans
constexpr double kRoom[] = {1.0, 1.02, 1.1, 1.3, 2.0};  // limits, by the smallest peak of the network
constexpr int64_t kPatienceOfSmall = 24;                // steps of the dual, whose bound nobody asks for
constexpr size_t kOpsOfMessage = 1'000;                 // of larger graphs a message has uniform plans alone
constexpr double kCopyPrice = 1;                        // seconds a byte: more than any boxing takes

SolveOptions SmallSearch(const StrategyOptions& options) {
  SolveOptions search;
  search.effort = kEffort;
  search.patience = kPatienceOfSmall;
  const SearchOptions own = SearchOptionsOf(options);
  search.threads = own.threads;
  search.seed = own.seed;
  search.stop = options.cancelled;
  return search;
}

// One part of as many as there are devices, at least: dimensions are cut into whole elements. Inputs and parameters
// that are pinned lie so from the beginning; what is pinned once it is written may be held otherwise before and behind
// that.
int64_t LeastPartBytes(const Problem& problem, TensorId tensor) {
  const auto pin = problem.pins.tensors.find(tensor);
  const bool is_source = !problem.graph->tensor(tensor).producer.valid();
  if (is_source && pin != problem.pins.tensors.end())
    return LocalBytes(problem.type(tensor), pin->second.layout, problem.mesh);
  const int64_t whole = LocalBytes(problem.type(tensor), NdSbp(problem.mesh.num_axes()), problem.mesh);
  return whole / std::max<int64_t>(1, problem.mesh.num_devices());
}

// The plan of search.start, and of the fewest copies within a little more than its peak.
Status OfferUniform(LayoutNetwork& network, UniformSearch& uniform, const SolveOptions& search,
                    const std::function<Status(const Assignment&)>& offer) {
  const auto offer_choice = [&](const std::vector<int32_t>& choice) {
    Assignment assignment;
    network.Read(choice, assignment);
    return offer(assignment);
  };
  SBP_RETURN_IF_ERROR(offer_choice(search.start));
  const auto peak = static_cast<double>(Evaluate(network.network(), search.start).peak);
  const std::vector<std::vector<int32_t>> starts = {search.start};
  for (const double room : kRoom) {
    network.SetMemoryLimit(static_cast<int64_t>(peak * room));
    const std::optional<SolveResult> solved = uniform.Solve(starts, search);
    if (!solved) break;
    if (!solved->evaluation.forbidden) SBP_RETURN_IF_ERROR(offer_choice(solved->choice));
  }
  return OkStatus();
}

}  // namespace

Status OfferSmallPlans(const Problem& problem, const Assignment& start, const StrategyOptions& options,
                       const CandidateLists* lists, bool may_fit,
                       const std::function<Status(const Assignment&)>& offer) {
  SBP_ASSIGN_OR_RETURN(LayoutNetwork network,
                       LayoutNetwork::Build(problem, {.memory_limit = options.memory_limit,
                                                      .copy_price = kCopyPrice,
                                                      .lists = lists,
                                                      .start = lists != nullptr ? &start : nullptr}));
  SolveOptions search = SmallSearch(options);
  std::vector<int32_t> choice(network.network().nodes.size(), 0);
  if (Result<std::vector<int32_t>> written = network.Write(start); written.ok()) choice = *std::move(written);
  const bool for_message = problem.num_ops() <= kOpsOfMessage;
  // Of a large graph that repeats, uniform plans are searched in a moment, and come about as low as any.
  UniformSearch uniform(network);
  std::optional<std::vector<int32_t>> alike;
  SolveOptions of_uniform = search;
  of_uniform.effort = kEffortOfUniform;
  if (!for_message) alike = uniform.SmallestPeak(choice, of_uniform);
  search.start = of_uniform.start =
      alike && !may_fit ? *alike : SmallestPeak(network.network(), alike ? *alike : choice, search);
  if (!for_message) {
    SBP_RETURN_IF_ERROR(OfferUniform(network, uniform, of_uniform, offer));
    if (!may_fit) return OkStatus();
  }
  const auto peak = static_cast<double>(Evaluate(network.network(), search.start).peak);
  const auto most = static_cast<double>(options.memory_limit.value_or(kInt64Max));
  for (const double room : kRoom) {
    if (!for_message && room > 1 && peak * room > most) break;  // tensors alone may take more than the limit
    network.SetMemoryLimit(static_cast<int64_t>(peak * room));
    const SolveResult solved = Solve(network.network(), search);
    if (solved.evaluation.forbidden) continue;
    Assignment assignment;
    network.Read(solved.choice, assignment);
    SBP_RETURN_IF_ERROR(offer(assignment));
  }
  return OkStatus();
}

int64_t LeastPeakOfPlans(const LayoutNetwork& relaxed, int64_t reached, const StrategyOptions& options) {
  return LeastPeak(relaxed.network(), 0, reached, SmallSearch(options));
}

// A tensor is held, in whatever layout somebody writes or wants is smallest, while it is held at all (HeldTimesOf).
int64_t LeastPeakOfTensors(const Problem& problem, int64_t reached) {
  const Graph& graph = *problem.graph;
  const HeldTimes held = HeldTimesOf(problem, true);
  std::map<std::array<uint32_t, 3>, int64_t> known;  // by class, slot and side
  const auto least_of = [&](OpId op, const SlotLayouts& slot, uint32_t number, uint32_t side, const TensorType& type) {
    const auto [entry, is_new] = known.try_emplace({problem.class_of[op.index()], number, side}, kInt64Max);
    for (const NdSbp& layout : slot.layouts) {
      if (is_new) entry->second = std::min(entry->second, LocalBytes(type, layout, problem.mesh));
    }
    return entry->second;
  };
  const size_t steps = problem.num_ops() + 1;
  std::vector<int64_t> change(steps + 1, 0);
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    if (held.takes_none(t)) continue;
    const Tensor& facts = graph.tensors[t];
    const auto [begin, end] = problem.uses.of(TensorId(t));
    const bool is_made = facts.producer.valid() && problem.demands.standing(TensorId(t)) == nullptr;
    int64_t least = is_made ? least_of(facts.producer, problem.class_at(facts.producer).results[facts.producer_index],
                                       facts.producer_index, 1, facts.type)
                            : LeastPartBytes(problem, TensorId(t));
    for (const Use* use = begin; is_made && !held.kept[t] && use != end; ++use) {
      least = std::min(
          least, least_of(use->op, problem.class_at(use->op).operands[use->operand], use->operand, 0, facts.type));
    }
    const auto first = static_cast<size_t>(std::min(held.firsts[t], held.lasts[t]));
    change[first] = SaturatingAdd(change[first], least);
    change[static_cast<size_t>(held.lasts[t])] -= least;
  }
  int64_t now = 0, peak = 0;
  for (const int64_t bytes : change) peak = std::max(peak, now += bytes);
  return std::min(peak, reached);
}

}  // namespace sbp
