#include "search/branch.h"

#include <algorithm>
#include <span>

namespace sbp {
namespace {

constexpr int64_t kStepWork = 100;  // of a step of the search, besides the entries that it looks at

class Brancher {
 public:
  Brancher(const Core& core, const DualAscent& dual, double upper, int64_t most_work)
      : core_(core),
        dual_(dual),
        most_work_(most_work),
        step_(std::max(1.0, core.scale)),
        upper_(upper),
        choice_(core.nodes.size(), 0),
        levels_(core.nodes.size()),
        usage_(core.limits.size(), 0) {}

  BranchResult Run() {
    if (core_.size() == 0) return {true, false, {}};
    Open(0, dual_.bound());
    int32_t depth = 0;
    while (depth >= 0) {
      if ((work_ += kStepWork) > most_work_) return std::move(result_);
      Level& level = levels_[depth];
      if (level.chosen) Hold(depth, -1);
      level.chosen = false;
      if (level.next == level.order.size() || !Promising(level.costs[level.order[level.next]])) {
        --depth;
        continue;
      }
      choice_[depth] = level.order[level.next++];
      if (!Fits(depth)) continue;
      Hold(depth, 1);
      level.chosen = true;
      if (depth + 1 == core_.size()) {
        Record();
      } else {
        const double cost = level.costs[choice_[depth]];
        Open(++depth, cost);
      }
    }
    result_.complete = true;
    return std::move(result_);
  }

 private:
  struct Level {
    std::vector<double> costs;   // of all chosen so far and each candidate, as a bound
    std::vector<int32_t> order;  // candidates, cheapest first
    size_t next = 0;
    bool chosen = false;  // its memory is held
  };

  // Costs are whole multiples of step_: what is not below by one is no better.
  bool Promising(double cost) const { return cost < kForbidden && cost <= upper_ - step_; }

  void Open(int32_t node, double before) {
    Level& level = levels_[node];
    const std::span<const double> reduced = dual_.reduced(node);
    level.costs.assign(reduced.begin(), reduced.end());
    for (double& cost : level.costs) cost += before;
    for (const Core::Link& link : core_.links[node]) {
      if (link.other > node) continue;
      const double* row = link.by_other->Row(choice_[link.other], row_scratch_);
      const double* shift = dual_.shift(link.edge, node);
      const double shift_other = dual_.shift(link.edge, link.other)[choice_[link.other]];
      for (size_t a = 0; a < level.costs.size(); ++a) level.costs[a] += row[a] - shift[a] - shift_other;
    }
    level.order.clear();
    for (int32_t a = 0; a < core_.candidates(node); ++a) {
      if (Promising(level.costs[a])) level.order.push_back(a);
    }
    std::stable_sort(level.order.begin(), level.order.end(),
                     [&](int32_t a, int32_t b) { return level.costs[a] < level.costs[b]; });
    level.next = 0;
    level.chosen = false;
    work_ += core_.candidates(node) * static_cast<int64_t>(8 + 2 * core_.links[node].size());
  }

  bool Fits(int32_t node) {
    for (const Core::Hold& hold : core_.nodes[node].holds) {
      const double more = hold.usages[choice_[node]];
      work_ += hold.end - hold.begin;
      for (int32_t step = hold.begin; step < hold.end; ++step) {
        if (usage_[step] + more > core_.limits[step]) return false;
      }
    }
    return true;
  }

  void Hold(int32_t node, int sign) {
    for (const Core::Hold& hold : core_.nodes[node].holds) {
      const double more = sign * hold.usages[choice_[node]];
      work_ += hold.end - hold.begin;
      for (int32_t step = hold.begin; step < hold.end; ++step) usage_[step] += more;
    }
  }

  void Record() {
    const double cost = CostOf(core_, choice_);
    work_ += 10 * static_cast<int64_t>(core_.edges.size());
    if (cost >= upper_) return;
    upper_ = cost;
    result_.found = true;
    result_.choice = choice_;
  }

  const Core& core_;
  const DualAscent& dual_;
  const int64_t most_work_;
  const double step_;
  double upper_;
  std::vector<int32_t> choice_;
  std::vector<Level> levels_;
  std::vector<double> usage_;
  std::vector<double> row_scratch_;
  int64_t work_ = 0;
  BranchResult result_;
};

}  // namespace

BranchResult Branch(const Core& core, const DualAscent& dual, double upper, int64_t most_work) {
  return Brancher(core, dual, upper, most_work).Run();
}

}  // namespace sbp
