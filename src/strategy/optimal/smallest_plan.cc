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
constexpr int kAxesOfUniform = 2;                       // of more, another network takes seconds
constexpr double kEffortOfAlike = 0.1;                  // likewise, among uniform plans
constexpr double kRoom[] = {1.0, 1.02, 1.1, 1.3, 2.0};  // limits, by the smallest peak of the network
constexpr int64_t kPatienceOfSmall = 24;                // steps of the dual, whose bound nobody asks for
constexpr size_t kOpsOfMessage = 1'000;                 // of larger graphs a message has less work
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

int64_t PeakOf(const LayoutNetwork& network, const std::vector<int32_t>& choice) {
  return Evaluate(network.network(), choice).peak;
}

// The fastest uniform plan that a short search without a limit finds, of a graph that repeats: often smaller than what
// a limit that nothing keeps led to.
std::optional<Assignment> UnlimitedUniform(const Problem& problem, const Assignment& start, const CandidateLists* lists,
                                           SolveOptions search) {
  const Result<LayoutNetwork> network =
      LayoutNetwork::Build(problem, {.lists = lists, .start = lists != nullptr ? &start : nullptr});
  if (!network.ok()) return std::nullopt;
  search.effort = kEffortOfAlike;
  std::vector<std::vector<int32_t>> starts;
  if (Result<std::vector<int32_t>> written = network->Write(start); written.ok()) starts.push_back(*std::move(written));
  const std::optional<SolveResult> solved = UniformSearch(*network).Solve(starts, search);
  if (!solved || solved->evaluation.forbidden) return std::nullopt;
  Assignment assignment;
  network->Read(solved->choice, assignment);
  return assignment;
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
  const auto offer_choice = [&](const std::vector<int32_t>& chosen) {
    Assignment assignment;
    network.Read(chosen, assignment);
    return offer(assignment);
  };
  if (!for_message && problem.mesh.num_axes() <= kAxesOfUniform) {
    if (const std::optional<Assignment> alike = UnlimitedUniform(problem, start, lists, search)) {
      SBP_RETURN_IF_ERROR(offer(*alike));
      const Result<std::vector<int32_t>> written = network.Write(*alike);
      if (written.ok() && PeakOf(network, *written) < PeakOf(network, choice)) choice = *written;
    }
  }
  search.start = SmallestPeak(network.network(), choice, search);
  if (!may_fit && !for_message) return offer_choice(search.start);
  const auto peak = static_cast<double>(PeakOf(network, search.start));
  const auto most = static_cast<double>(options.memory_limit.value_or(kInt64Max));
  for (const double room : kRoom) {
    if (!for_message && room > 1 && peak * room > most) break;  // tensors alone may take more than the limit
    network.SetMemoryLimit(static_cast<int64_t>(peak * room));
    const SolveResult solved = Solve(network.network(), search);
    if (solved.evaluation.forbidden) continue;
    SBP_RETURN_IF_ERROR(offer_choice(solved.choice));
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
