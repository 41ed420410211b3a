#include "search/dual.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "search/excess_tree.h"
#include "search/kernels.h"
#include "search/matrices.h"

namespace sbp {

// Nodes are visited in their own order: that of the file, which is a topological one or near to it, so that chains are
// long and edges short.
DualAscent::DualAscent(const Core& core) : core_(core), multipliers_(core.limits.size(), 0) {
  size_t most = 1, costs = 0, shifts = 0;
  for (const Core::Node& node : core.nodes) costs += node.costs.size();
  for (const Core::Edge& edge : core.edges) shifts += core.candidates(edge.nodes[0]) + core.candidates(edge.nodes[1]);
  reduced_.reserve(costs);
  shifts_.reserve(shifts);
  for (const Core::Node& node : core.nodes) {
    begin_.push_back(static_cast<int32_t>(reduced_.size()));
    reduced_.insert(reduced_.end(), node.costs.begin(), node.costs.end());
    most = std::max(most, node.costs.size());
  }
  scratch_.resize(most);
  priced_.resize(reduced_.size(), 0);
  before_.resize(core.nodes.size());
  after_.resize(core.nodes.size());
  forced_.resize(reduced_.size(), -kForbidden);
  shift_begin_.assign(core.edges.size(), -1);
  for (int32_t node = 0; node < core.size(); ++node) {
    for (const Core::Link& link : core.links[node]) {
      const int32_t first = std::min(node, link.other);
      int32_t& shift = shift_begin_[link.edge];
      if (shift < 0) {
        shift = static_cast<int32_t>(shifts_.size());
        shifts_.resize(shifts_.size() + core.candidates(node) + core.candidates(link.other), 0);
        pass_work_ += Work(*link.by_own);
      }
      const int32_t second = shift + core.candidates(first);
      (node == first ? after_ : before_)[node].push_back(
          {&link, node == first ? shift : second, node == first ? second : shift});
    }
  }
  std::unordered_map<MatrixId, double> least_of;  // equal layers share matrices
  for (size_t i = 0; i < core.edges.size(); ++i) {
    const auto [known, is_new] = least_of.try_emplace(core.edges[i].matrix, 0);
    const std::vector<double>& table = core.matrices()[core.edges[i].matrix].table;
    if (is_new) known->second = *std::min_element(table.begin(), table.end());
    const int32_t first = std::min(core.edges[i].nodes[0], core.edges[i].nodes[1]);
    const double least = known->second;
    for (int32_t a = 0; a < core.candidates(first); ++a) {
      shifts_[shift_begin_[i] + a] = least;
      reduced_[begin_[first] + a] += least;
    }
  }
  for (int32_t node = 0; node < core.size(); ++node) TakeLeast(node);
  pass_work_ +=
      4 * static_cast<int64_t>(reduced_.size()) + int64_t{10} * core.steps() + int64_t{50} * core.size() + 1000;
}

// Whole parts of equal shares: an edge that gave no more than it had gives no more than it has.
void DualAscent::Begin(const DualAscent& folded, const FoldedCore& fold) {
  for (int32_t edge = 0; edge < static_cast<int32_t>(core_.edges.size()); ++edge) {
    const int32_t image = fold.edge_of[edge];
    if (image < 0) continue;
    for (int end = 0; end < 2; ++end) {
      const int32_t node = core_.edges[edge].nodes[end];
      const double* moved = folded.shift(image, fold.core.edges[image].nodes[end]);
      double* shift = shifts_.data() + ShiftOf(edge, node);
      double* reduced = reduced_.data() + begin_[node];
      for (int32_t a = 0; a < core_.candidates(node); ++a) {
        const double now = std::floor(moved[a] / fold.copies_of[image]);
        reduced[a] += now - shift[a];
        shift[a] = now;
      }
    }
  }
  for (int32_t node = 0; node < core_.size(); ++node) TakeLeast(node);
}

void DualAscent::TakeLeast(int32_t node) {
  base_ += sbp::TakeLeast(reduced_.data() + begin_[node], core_.candidates(node));
}

void DualAscent::Visit(int32_t node, std::span<const Half> behind, std::span<const Half> ahead) {
  const int32_t count = core_.candidates(node);
  double* reduced = reduced_.data() + begin_[node];
  for (const Half& half : behind) {
    MinOverRows(*half.link->by_other, shifts_.data() + half.shift_other, scratch_.data(), line_scratch_);
    TakeMessage(scratch_.data(), count, shifts_.data() + half.shift_own, reduced);
  }
  TakeLeast(node);
  // All other costs are >= 0 at any time.
  RaiseForced(reduced, bound(), count, forced_.data() + begin_[node]);
  if (ahead.empty()) return;
  const double part = 1.0 / static_cast<double>(std::max(ahead.size(), behind.size()));
  TakeShares(part, static_cast<double>(ahead.size()), count, reduced, scratch_.data());
  for (const Half& half : ahead) HandOn(scratch_.data(), count, shifts_.data() + half.shift_own);
}

// No entry of a node or an edge is ever below 0: what an edge gives or a node hands on is its least, or a share.
double DualAscent::bound() const { return base_ - price_of_limits_ + core_.constant; }

double DualAscent::Pass() {
  forwards_ = !forwards_;
  if (forwards_) {
    for (int32_t node = 0; node < core_.size(); ++node) Visit(node, before_[node], after_[node]);
  } else {
    for (int32_t node = core_.size(); node-- > 0;) Visit(node, after_[node], before_[node]);
  }
  return bound();
}

void DualAscent::SetMultipliers(std::span<const double> multipliers) {
  std::vector<double> sum(multipliers.size() + 1, 0);  // of the multipliers before a step
  double limits = 0;
  for (size_t step = 0; step < multipliers.size(); ++step) {
    sum[step + 1] = sum[step] + multipliers[step];
    limits += multipliers[step] * core_.limits[step];
  }
  multipliers_.assign(multipliers.begin(), multipliers.end());
  // Rounding errors of the sums stay far below one part in 10^11.
  constexpr double kSlack = 1e-11;
  price_of_limits_ = std::ceil(limits * (1 + kSlack));
  for (int32_t node = 0; node < core_.size(); ++node) {
    if (core_.nodes[node].holds.empty()) continue;
    const int32_t count = core_.candidates(node);
    std::fill_n(scratch_.begin(), count, 0.0);
    for (const Core::Hold& hold : core_.nodes[node].holds) {
      const double price = sum[hold.end] - sum[hold.begin];
      if (price <= 0) continue;
      for (int32_t a = 0; a < count; ++a) scratch_[a] += price * hold.usages[a];
    }
    for (int32_t a = 0; a < count; ++a) {
      const double price = std::floor(scratch_[a] * (1 - kSlack));
      reduced_[begin_[node] + a] += price - priced_[begin_[node] + a];
      priced_[begin_[node] + a] = price;
    }
    TakeLeast(node);
  }
}

// The cheapest candidate whose holds fit beside `usage`; if none fits, the one that exceeds least.
int32_t DualAscent::BestFitting(int32_t node, std::vector<double>& costs, const ExcessTree& usage) const {
  const std::vector<Core::Hold>& holds = core_.nodes[node].holds;
  std::vector<double> most;  // of each hold
  for (const Core::Hold& hold : holds) most.push_back(usage.Most(hold.begin, hold.end));
  std::vector<int32_t> tried;  // the cheapest first
  while (tried.size() < costs.size()) {
    const auto a = static_cast<int32_t>(std::min_element(costs.begin(), costs.end()) - costs.begin());
    if (std::isinf(costs[a])) break;
    bool fits = true;
    for (size_t h = 0; h < holds.size(); ++h)
      fits = fits && (holds[h].usages[a] == 0 || most[h] + holds[h].usages[a] <= 0);
    if (fits) return a;
    tried.push_back(a);
    costs[a] = kForbidden;
  }
  int32_t least_bad = 0;
  double least_excess = kForbidden;
  for (const int32_t a : tried) {
    double excess = 0;
    for (const Core::Hold& hold : holds) {
      if (hold.usages[a] != 0) excess += usage.Above(hold.begin, hold.end, hold.usages[a]);
    }
    if (excess >= least_excess) continue;
    least_excess = excess;
    least_bad = a;
  }
  return least_bad;
}

std::vector<int32_t> DualAscent::Round(bool fitting) const {
  // After a pass forwards the last node's cost is settled, so the way back decides; and the other way round.
  std::vector<int32_t> choice(core_.nodes.size(), 0);
  std::vector<double> costs, row_scratch;
  ExcessTree usage(fitting ? std::span<const double>(core_.limits) : std::span<const double>());
  for (int32_t place = 0; place < core_.size(); ++place) {
    const int32_t node = forwards_ ? core_.size() - 1 - place : place;
    costs.assign(reduced_.begin() + begin_[node], reduced_.begin() + begin_[node] + core_.candidates(node));
    for (const Half& half : forwards_ ? after_[node] : before_[node]) {
      const double* row = half.link->by_other->Row(choice[half.link->other], row_scratch);
      for (size_t a = 0; a < costs.size(); ++a) costs[a] += row[a] - shifts_[half.shift_own + a];
    }
    choice[node] = fitting ? BestFitting(node, costs, usage)
                           : static_cast<int32_t>(std::min_element(costs.begin(), costs.end()) - costs.begin());
    if (!fitting) continue;
    for (const Core::Hold& hold : core_.nodes[node].holds) {
      const double more = hold.usages[choice[node]];
      if (more != 0) usage.Add(hold.begin, hold.end, more);
    }
  }
  return choice;
}

}  // namespace sbp
