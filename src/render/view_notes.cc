#include "render/view_notes.h"

#include <algorithm>
#include <cstdint>

#include "base/text.h"

namespace sbp {

std::vector<std::string> WarningNotes(const Plan& plan) {
  constexpr size_t kMost = 3, kLongest = 150;
  std::vector<std::string> notes;
  const auto device = static_cast<int64_t>(plan.cluster.device.memory_bytes.value);
  if (std::string misfit = DoesNotFit(plan.memory.peak_bytes, device); !misfit.empty()) notes.push_back(misfit);
  const std::vector<std::string> warnings = WarningsOf(plan);
  for (size_t i = 0; i < std::min(warnings.size(), kMost); ++i) {
    notes.push_back(StrCat("warning: ", Shorten(warnings[i], kLongest)));
  }
  if (warnings.size() > kMost) notes.push_back(StrCat(warnings.size() - kMost, " more warnings"));
  return notes;
}

std::string FoldedNote(const Opening& opening, size_t max_nodes, size_t most) {
  const auto count = [](size_t number) { return FormatCount(static_cast<int64_t>(number)); };
  const std::string stay = StrCat(count(opening.closed_for_size),
                                  opening.closed_for_size == 1 ? " scope stays folded" : " scopes stay folded");
  if (opening.closed_though_wanted == 0 && max_nodes < most)
    return StrCat(stay, " to keep the drawing readable; --expand SCOPE opens one");
  return StrCat(stay, ": a drawing of more than ", count(most),
                " ops and scopes takes minutes to lay out; a page (-o FILE.html) opens all");
}

void DescribeGroups(const Plan& plan, const StepCosts& costs, const std::function<int32_t(OpId)>& node_of, View& view) {
  if (IsBareGraph(plan)) return;
  // Of the step, all copies: those that are folded count where their first one is drawn.
  std::vector<double> seconds(view.groups.size(), 0);
  const auto add = [&](OpId op, double more) {
    const int32_t node = op.valid() ? node_of(op) : -1;
    if (node >= 0) seconds[view.nodes[node].group] += more;
  };
  for (uint32_t o = 0; o < plan.graph.ops.size(); ++o) add(OpId(o), costs.OpSeconds(o));
  for (uint32_t t = 0; t < plan.transitions.size(); ++t) {
    add(costs.ForWhom(t), costs.TransitionSeconds(t) + costs.CutSeconds(t));
  }
  for (size_t g = view.groups.size(); g-- > 1;) seconds[view.groups[g].parent] += seconds[g];  // stand before it
  std::vector<int64_t> copies(view.groups.size(), 1);
  for (size_t g = 1; g < view.groups.size(); ++g) {
    ViewGroup& group = view.groups[g];
    copies[g] = copies[group.parent] * std::max<int64_t>(group.copies, 1);
    group.note = StrCat(copies[g] > 1 ? "each " : "", FormatSeconds(seconds[g] / static_cast<double>(copies[g])));
  }
}

std::map<TensorId, std::set<TensorId>> FoldedInputs(const Graph& graph, std::span<const uint32_t> stand_in) {
  std::map<TensorId, std::set<TensorId>> folded;
  const auto is_input = [&](TensorId t) {
    return t.valid() && graph.tensor(t).role == TensorRole::kInput && !graph.tensor(t).producer.valid();
  };
  for (uint32_t o = 0; o < graph.ops.size(); ++o) {
    if (stand_in[o] == o) continue;
    const std::vector<TensorId> own = graph.OperandsOf(graph.ops[o]);
    const std::vector<TensorId> drawn = graph.OperandsOf(graph.ops[stand_in[o]]);
    for (size_t i = 0; i < std::min(own.size(), drawn.size()); ++i) {
      if (own[i] != drawn[i] && is_input(own[i]) && is_input(drawn[i])) folded[drawn[i]].insert(own[i]);
    }
  }
  return folded;
}

}  // namespace sbp
