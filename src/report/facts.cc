#include "report/facts.h"

#include <algorithm>
#include <cctype>
#include <unordered_map>

#include "base/checked_math.h"
#include "base/hash.h"
#include "base/ids.h"
#include "base/text.h"
#include "boxing/boxing.h"
#include "cluster/collective_kind.h"
#include "cost/collective.h"
#include "graph/again.h"
#include "graph/graph.h"
#include "graph/phases.h"
#include "graph/sections.h"
#include "memory/memory.h"
#include "memory/training.h"
#include "physical/step_in_arena.h"
#include "plan/transition_runs.h"

namespace sbp {
namespace {

constexpr size_t kMostOpsOfArena = 10'000;  // some half second

bool AllLocal(const Transition& transition) {
  return std::all_of(transition.steps.begin(), transition.steps.end(),
                     [](const BoxingStep& s) { return RowOf(s.kind).local; });
}

// Characters, not bytes.
size_t Width(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

std::map<CollectiveKind, CollectiveSum> SumCollectives(const Plan& plan) {
  std::map<CollectiveKind, CollectiveSum> sums;
  const std::vector<int64_t> runs = RunsOfTransitions(plan, StepRuns(plan.graph));
  for (size_t i = 0; i < plan.transitions.size(); ++i) {
    const Transition& transition = plan.transitions[i];
    const int64_t times = runs[i];
    for (const BoxingStep& step : transition.steps) {
      if (RowOf(step.kind).local) continue;
      CollectiveSum& sum = sums[step.kind];
      sum.count += times;
      sum.bytes += static_cast<double>(times) * step.wire_bytes;
      sum.seconds += static_cast<double>(times) * step.seconds;
    }
  }
  return sums;
}

std::optional<double> SecondsInArena(const Plan& plan) {
  const bool is_large = plan.graph.ops.size() > kMostOpsOfArena;
  if (plan.physical || is_large || plan.graph.micro_batches > 1) return std::nullopt;
  return StepInArena(plan);
}

CollectiveSum SumLocalCopies(const Plan& plan) {
  CollectiveSum sum;
  const std::vector<int64_t> runs = RunsOfTransitions(plan, StepRuns(plan.graph));
  for (size_t i = 0; i < plan.transitions.size(); ++i) {
    const Transition& transition = plan.transitions[i];
    const int64_t times = runs[i];
    for (const BoxingStep& step : transition.steps) {
      if (!RowOf(step.kind).local) continue;
      sum.count += times;
      sum.seconds += static_cast<double>(times) * step.seconds;
    }
  }
  return sum;
}

std::vector<CollectiveGroup> GroupCollectives(const Plan& plan) {
  const std::vector<int64_t> runs = RunsOfTransitions(plan, StepRuns(plan.graph));
  std::vector<CollectiveGroup> groups;
  std::unordered_map<uint64_t, std::vector<size_t>> by_hash;
  const auto equal = [&](const Transition& a, const Transition& b) {
    return a.from == b.from && a.to == b.to && a.steps == b.steps && a.seconds == b.seconds &&
           plan.graph.tensor(a.tensor).type == plan.graph.tensor(b.tensor).type;
  };
  for (size_t t = 0; t < plan.transitions.size(); ++t) {
    const Transition& transition = plan.transitions[t];
    if (AllLocal(transition) || transition.tensor.index() >= plan.graph.tensors.size()) continue;
    const uint64_t hash = HashCombine(HashCombine(HashOf(transition.from), HashOf(transition.to)),
                                      HashOf(plan.graph.tensor(transition.tensor).type));
    std::vector<size_t>& alike = by_hash[hash];
    auto found =
        std::find_if(alike.begin(), alike.end(), [&](size_t g) { return equal(*groups[g].first, transition); });
    if (found == alike.end()) {
      alike.push_back(groups.size());
      groups.push_back({&transition});
      found = alike.end() - 1;
    }
    CollectiveGroup& group = groups[*found];
    const int64_t times = runs[t];
    group.count += times;
    group.seconds += static_cast<double>(times) * transition.seconds;
    group.bytes += static_cast<double>(times) * transition.wire_bytes;
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const CollectiveGroup& a, const CollectiveGroup& b) { return a.seconds > b.seconds; });
  return groups;
}

std::string DescribeSteps(const Plan& plan, const Transition& transition) {
  std::vector<std::string> parts;
  for (const BoxingStep& step : transition.steps) {
    const bool known = step.axis >= 0 && step.axis < plan.mesh.num_axes();
    parts.push_back(StrCat(CollectiveKindName(step.kind), " over ", known ? plan.mesh.axes[step.axis].name : "?"));
  }
  return Join(parts, ", then ");
}

std::string RepeatedScope(std::string_view scope) {
  const auto is_digit = [&](size_t i) {
    return i < scope.size() && std::isdigit(static_cast<unsigned char>(scope[i]));
  };
  const auto is_word = [&](size_t i) { return i < scope.size() && std::isalnum(static_cast<unsigned char>(scope[i])); };
  std::string text;
  for (size_t i = 0; i < scope.size();) {
    size_t end = i;
    while (is_digit(end)) ++end;
    const bool is_number = end > i && (i == 0 || !is_word(i - 1)) && !is_word(end);
    if (is_number)
      text += '*';
    else
      text += scope.substr(i, std::max<size_t>(1, end - i));
    i += std::max<size_t>(1, end - i);
  }
  return text;
}

namespace {

// The conversion of an output is its producer's.
OpId ForWhom(const Plan& plan, const Transition& transition) {
  return transition.consumers.empty() ? plan.graph.tensor(transition.tensor).producer : transition.consumers.front().op;
}

std::vector<TimeShare> Sorted(const std::map<std::string, TimeShare>& by_name) {
  std::vector<TimeShare> shares;
  for (const auto& [name, share] : by_name) shares.push_back(share);
  std::stable_sort(shares.begin(), shares.end(),
                   [](const TimeShare& a, const TimeShare& b) { return a.seconds() > b.seconds(); });
  return shares;
}

}  // namespace

std::vector<TimeShare> TimeByType(const Plan& plan) {
  std::map<std::string, TimeShare> shares;
  const StepRuns runs(plan.graph);
  for (size_t o = 0; o < plan.graph.ops.size(); ++o) {
    TimeShare& share = shares[plan.graph.type_of(plan.graph.ops[o])];
    share.name = plan.graph.type_of(plan.graph.ops[o]);
    ++share.ops;
    share.compute_seconds += static_cast<double>(runs.of(OpId(o))) * plan.decision(OpId(o)).compute_seconds;
  }
  const std::vector<int64_t> times = RunsOfTransitions(plan, runs);
  for (size_t i = 0; i < plan.transitions.size(); ++i) {
    const OpId op = ForWhom(plan, plan.transitions[i]);
    if (!op.valid()) continue;
    shares[plan.graph.type_of(plan.graph.op(op))].compute_seconds +=
        static_cast<double>(times[i]) * plan.transitions[i].cut_seconds;
  }
  return Sorted(shares);
}

std::vector<TimeShare> TimeByScope(const Plan& plan) {
  std::vector<TimeShare*> of_scope(plan.graph.scopes.size(), nullptr);
  std::map<std::string, TimeShare> shares;
  const StepRuns runs(plan.graph);
  const auto share_of = [&](OpId op) -> TimeShare& {
    TimeShare*& share = of_scope[plan.graph.op(op).scope];
    if (share == nullptr) {
      std::string name = RepeatedScope(plan.graph.scope_of(plan.graph.op(op)));
      share = &shares[name];
      share->name = std::move(name);
    }
    return *share;
  };
  for (size_t o = 0; o < plan.graph.ops.size(); ++o) {
    TimeShare& share = share_of(OpId(o));
    ++share.ops;
    share.compute_seconds += static_cast<double>(runs.of(OpId(o))) * plan.decision(OpId(o)).compute_seconds;
  }
  const std::vector<int64_t> times = RunsOfTransitions(plan, runs);
  for (size_t i = 0; i < plan.transitions.size(); ++i) {
    const Transition& transition = plan.transitions[i];
    const OpId op = ForWhom(plan, transition);
    if (op.valid()) {
      share_of(op).compute_seconds += static_cast<double>(times[i]) * transition.cut_seconds;
      share_of(op).collective_seconds += static_cast<double>(times[i]) * transition.seconds;
    }
  }
  return Sorted(shares);
}

std::vector<TimeShare> TimeByPhase(const Plan& plan) {
  constexpr size_t kAgainPlace = 1, kPlaces[] = {0, 2, 3};
  std::vector<TimeShare> shares(4);
  const StepRuns runs(plan.graph);
  const auto share_of = [&](OpId op) -> TimeShare& {
    const bool again = IsAgain(plan.graph, plan.graph.op(op));
    return shares[again ? kAgainPlace : kPlaces[static_cast<size_t>(PhaseOf(plan.graph, plan.graph.op(op)))]];
  };
  for (size_t p = 0; p < std::size(kPlaces); ++p) shares[kPlaces[p]].name = PhaseName(static_cast<Phase>(p));
  shares[kAgainPlace].name = kAgainPhase;
  for (size_t o = 0; o < plan.graph.ops.size(); ++o) {
    TimeShare& share = share_of(OpId(o));
    ++share.ops;
    share.compute_seconds += static_cast<double>(runs.of(OpId(o))) * plan.decision(OpId(o)).compute_seconds;
  }
  const std::vector<int64_t> times = RunsOfTransitions(plan, runs);
  for (size_t i = 0; i < plan.transitions.size(); ++i) {
    const Transition& transition = plan.transitions[i];
    const OpId op = ForWhom(plan, transition);
    if (!op.valid()) continue;
    TimeShare& share = share_of(op);
    share.compute_seconds += static_cast<double>(times[i]) * transition.cut_seconds;
    share.collective_seconds += static_cast<double>(times[i]) * transition.seconds;
    for (const BoxingStep& step : transition.steps) {
      if (RowOf(step.kind).local) share.local_seconds += static_cast<double>(times[i]) * step.seconds;
    }
  }
  std::erase_if(shares, [](const TimeShare& share) { return share.ops == 0; });
  return shares.size() < 2 ? std::vector<TimeShare>() : shares;
}

AgainSum SumAgain(const Plan& plan) {
  AgainSum sum;
  const StepRuns runs(plan.graph);
  for (size_t o = 0; o < plan.graph.ops.size(); ++o) {
    const Op& op = plan.graph.ops[o];
    if (!IsAgain(plan.graph, op)) continue;
    ++sum.ops;
    if (plan.kernels.runs_no_kernel(OpId(o))) continue;
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      const TensorId id = op.outputs[i];
      if (!id.valid() || plan.kernels.is_inside(id)) continue;
      const int64_t bytes =
          LocalBytes(plan.graph.tensor(id).type, plan.decision(OpId(o)).signature.outputs[i], plan.mesh);
      sum.bytes = SaturatingAdd(sum.bytes, SaturatingMul(runs.of(OpId(o)), bytes));
    }
  }
  for (const TimeShare& phase : TimeByPhase(plan)) {
    if (phase.name == kAgainPhase) sum.seconds = phase.seconds();
  }
  return sum;
}

std::vector<std::pair<std::string_view, int64_t>> PartsOfPeak(const Plan& plan) {
  if (const auto split = SplitPeak(plan)) {
    const auto parts = PartsOf(*split);
    return {parts.begin(), parts.end()};
  }
  return {{"parameters", plan.memory.parameter_bytes},
          {"activations", plan.memory.activation_bytes},
          {"boxing buffers", plan.memory.boxing_bytes}};
}

double SecondsOfMicroBatches(const Plan& plan) {
  const StepRuns runs(plan.graph);
  double seconds = 0;
  for (size_t o = 0; o < plan.graph.ops.size(); ++o) {
    if (runs.of(OpId(o)) > 1) {
      seconds += static_cast<double>(runs.of(OpId(o))) * plan.decision(OpId(o)).compute_seconds;
    }
  }
  const std::vector<int64_t> made = RunsOfTransitions(plan, runs);
  for (size_t i = 0; i < plan.transitions.size(); ++i) {
    const Transition& transition = plan.transitions[i];
    const int64_t times = made[i];
    if (times > 1) seconds += static_cast<double>(times) * (transition.seconds + transition.cut_seconds);
  }
  return seconds;
}

std::string TensorName(const Plan& plan, TensorId tensor) {
  return tensor.valid() && tensor.index() < plan.graph.tensors.size() ? plan.graph.tensor(tensor).name : "?";
}

std::string AlignColumns(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& right,
                         size_t indent) {
  std::vector<size_t> widths(right.size(), 0);
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line(indent, ' ');
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string blank(widths[i] - Width(row[i]), ' ');
      line += (i > 0 ? "  " : "") + (right[i] ? blank + row[i] : row[i] + blank);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace sbp
