#include "search/timeline.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace sbp {
namespace {

// Cuts overlapping holds at each other's ends and adds them up.
void MakeDisjoint(std::vector<Core::Hold>& holds) {
  if (holds.size() < 2) return;
  std::set<int32_t> cuts;
  for (const Core::Hold& hold : holds) cuts.insert({hold.begin, hold.end});
  std::sort(holds.begin(), holds.end(), [](const Core::Hold& a, const Core::Hold& b) { return a.begin < b.begin; });
  bool overlap = false;
  for (size_t i = 1; i < holds.size(); ++i) overlap |= holds[i].begin < holds[i - 1].end;
  if (!overlap) return;
  std::vector<Core::Hold> pieces;
  std::vector<Core::Hold> open;
  size_t next = 0;
  for (auto cut = cuts.begin(); std::next(cut) != cuts.end(); ++cut) {
    const int32_t begin = *cut;
    std::erase_if(open, [&](const Core::Hold& hold) { return hold.end <= begin; });
    while (next < holds.size() && holds[next].begin == begin) open.push_back(holds[next++]);
    if (open.empty()) continue;
    Core::Hold piece{begin, *std::next(cut), open[0].usages};
    for (size_t i = 1; i < open.size(); ++i) {
      for (size_t a = 0; a < piece.usages.size(); ++a) piece.usages[a] += open[i].usages[a];
    }
    pieces.push_back(std::move(piece));
  }
  holds = std::move(pieces);
}

// Adds up what begins and ends: `change` of a step against the one before.
std::vector<double> Running(std::vector<double> change) {
  for (size_t i = 1; i < change.size(); ++i) change[i] += change[i - 1];
  return change;
}

// Which steps can be exceeded and do not follow from a neighbour's limit?
std::vector<char> NeededSteps(const std::vector<Core::Node>& nodes, const std::vector<double>& limits) {
  const size_t steps = limits.size();
  std::vector<double> change(steps + 1, 0);
  std::vector<char> begins(steps + 1, 0), ends(steps + 1, 0);
  for (const Core::Node& node : nodes) {
    for (const Core::Hold& hold : node.holds) {
      const double most = *std::max_element(hold.usages.begin(), hold.usages.end());
      change[hold.begin] += most;
      change[hold.end] -= most;
      begins[hold.begin] = 1;
      ends[hold.end] = 1;
    }
  }
  const std::vector<double> most = Running(std::move(change));
  std::vector<char> needed(steps, 0);
  // `last` is the needed step before; whether something began or ended since then decides on implication.
  int32_t last = -1;
  bool began = false;
  bool ended = false;
  for (size_t step = 0; step < steps; ++step) {
    began |= begins[step] != 0;
    ended |= ends[step] != 0;
    if (most[step] <= limits[step]) continue;
    if (last >= 0 && !began && limits[step] >= limits[last]) continue;  // holds no more than `last` does
    if (last >= 0 && !ended && limits[last] >= limits[step]) needed[last] = 0;
    needed[step] = 1;
    last = static_cast<int32_t>(step);
    began = ended = false;
  }
  return needed;
}

}  // namespace

std::optional<int32_t> CompressTimeline(std::vector<Core::Node>& nodes, std::vector<double>& limits,
                                        std::vector<int32_t>& old_step) {
  std::vector<double> change(limits.size() + 1, 0);
  for (Core::Node& node : nodes) {
    MakeDisjoint(node.holds);
    for (Core::Hold& hold : node.holds) {
      const double least = *std::min_element(hold.usages.begin(), hold.usages.end());
      for (double& usage : hold.usages) usage -= least;
      change[hold.begin] += least;
      change[hold.end] -= least;
    }
    std::erase_if(node.holds, [](const Core::Hold& hold) {
      return std::all_of(hold.usages.begin(), hold.usages.end(), [](double usage) { return usage == 0; });
    });
  }
  const std::vector<double> taken = Running(std::move(change));
  for (size_t step = 0; step < limits.size(); ++step) {
    limits[step] -= taken[step];
    if (limits[step] < 0) return static_cast<int32_t>(step);
  }
  const std::vector<char> needed = NeededSteps(nodes, limits);
  std::vector<int32_t> new_step(limits.size() + 1, 0);
  std::vector<double> kept_limits;
  old_step.clear();
  for (size_t step = 0; step < limits.size(); ++step) {
    new_step[step] = static_cast<int32_t>(kept_limits.size());
    if (!needed[step]) continue;
    kept_limits.push_back(limits[step]);
    old_step.push_back(static_cast<int32_t>(step));
  }
  new_step[limits.size()] = static_cast<int32_t>(kept_limits.size());
  limits = std::move(kept_limits);
  for (Core::Node& node : nodes) {
    for (Core::Hold& hold : node.holds) {
      hold.begin = new_step[hold.begin];
      hold.end = new_step[hold.end];
    }
    std::erase_if(node.holds, [](const Core::Hold& hold) { return hold.begin == hold.end; });
  }
  return std::nullopt;
}

}  // namespace sbp
