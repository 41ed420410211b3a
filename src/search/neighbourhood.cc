#include "search/neighbourhood.h"

#include <algorithm>
#include <cmath>

#include "search/kernels.h"
#include "search/matrices.h"

namespace sbp {
namespace {

constexpr int32_t kMostMembers = 6000;
constexpr int kRounds = 6;        // of prices per part
constexpr double kLeeway = 1e-3;  // of the best cost: the search goes on from choices that are dearer by less

}  // namespace

NeighbourhoodSearch::NeighbourhoodSearch(const Core& core, uint64_t seed)
    : core_(core), random_(seed), memory_(core), place_of_(core.nodes.size(), -1) {}

void NeighbourhoodSearch::SetChoice(std::span<const int32_t> choice) {
  choice_.assign(choice.begin(), choice.end());
  const std::vector<double> usage = UsageOf(core_, choice_);
  memory_.SetUsage(usage);
  cost_ = CostOf(core_, choice_);
  excess_ = ExcessOf(core_, usage);
  record_ = choice_;
  record_cost_ = cost_;
  record_excess_ = excess_;
}

void NeighbourhoodSearch::SetMultipliers(std::span<const double> multipliers) {
  memory_.SetPrices(multipliers);
  priced_steps_.clear();
  for (size_t step = 0; step < multipliers.size(); ++step) {
    if (multipliers[step] > 0) priced_steps_.push_back(static_cast<int32_t>(step));
  }
}

int32_t NeighbourhoodSearch::Root(int32_t place) {
  while (root_of_[place] != place) place = root_of_[place] = root_of_[root_of_[place]];
  return place;
}

// May `node` become a member without closing a cycle? Then it does.
bool NeighbourhoodSearch::Joins(int32_t node) {
  std::vector<int32_t>& roots = roots_;
  roots.clear();
  for (const Core::Link& link : core_.links[node]) {
    if (place_of_[link.other] >= 0) roots.push_back(Root(place_of_[link.other]));
  }
  std::sort(roots.begin(), roots.end());
  if (std::adjacent_find(roots.begin(), roots.end()) != roots.end()) return false;
  const auto place = static_cast<int32_t>(members_.size());
  place_of_[node] = place;
  members_.push_back({node});
  root_of_.push_back(place);
  for (const int32_t root : roots) root_of_[root] = place;
  return true;
}

// A random node; where memory binds, often one that holds some at a step that has a price.
int32_t NeighbourhoodSearch::Seed() {
  const int32_t any = random_.Below(core_.size());
  if (priced_steps_.empty() || random_.Below(2) == 0) return any;
  const int32_t step = priced_steps_[random_.Below(static_cast<int64_t>(priced_steps_.size()))];
  for (int32_t tries = 0; tries < 50; ++tries) {
    const int32_t node = random_.Below(core_.size());
    for (const Core::Hold& hold : core_.nodes[node].holds) {
      if (hold.begin <= step && step < hold.end) return node;
    }
  }
  return any;
}

void NeighbourhoodSearch::Grow(int32_t size) {
  for (const Member& member : members_) place_of_[member.node] = -1;
  members_.clear();
  root_of_.clear();
  const int32_t seeds = 1 + random_.Below(4);
  std::vector<int32_t> frontier;
  for (int32_t tries = 0; static_cast<int32_t>(members_.size()) < size && tries < 20 * size; ++tries) {
    int32_t node = -1;
    if (frontier.empty() || (tries < seeds)) {
      node = Seed();
    } else {
      const int32_t pick = random_.Below(static_cast<int64_t>(frontier.size()));
      node = frontier[pick];
      frontier[pick] = frontier.back();
      frontier.pop_back();
    }
    if (place_of_[node] >= 0 || !Joins(node)) continue;
    for (const Core::Link& link : core_.links[node]) {
      if (place_of_[link.other] < 0) frontier.push_back(link.other);
    }
  }
}

// Orders the members so that parents come before children.
void NeighbourhoodSearch::Orient() {
  std::vector<Member> ordered;
  std::vector<char> seen(members_.size(), 0);
  for (size_t start = 0; start < members_.size(); ++start) {
    if (seen[start]) continue;
    seen[start] = 1;
    size_t next = ordered.size();
    ordered.push_back({members_[start].node});
    for (; next < ordered.size(); ++next) {
      for (const Core::Link& link : core_.links[ordered[next].node]) {
        const int32_t place = place_of_[link.other];
        if (place < 0 || seen[place]) continue;
        seen[place] = 1;
        Member child{link.other, static_cast<int32_t>(next)};
        for (size_t i = 0; i < core_.links[link.other].size(); ++i) {
          if (core_.links[link.other][i].edge == link.edge) child.parent_link = static_cast<int32_t>(i);
        }
        ordered.push_back(child);
      }
    }
  }
  members_ = std::move(ordered);
  for (size_t i = 0; i < members_.size(); ++i) place_of_[members_[i].node] = static_cast<int32_t>(i);
}

// Costs of the members' candidates beside the fixed nodes.
void NeighbourhoodSearch::LocalCosts() {
  begin_.clear();
  local_.clear();
  for (const Member& member : members_) {
    begin_.push_back(static_cast<int32_t>(local_.size()));
    const std::vector<double>& costs = core_.nodes[member.node].costs;
    local_.insert(local_.end(), costs.begin(), costs.end());
    double* local = local_.data() + begin_.back();
    for (const Core::Link& link : core_.links[member.node]) {
      if (place_of_[link.other] >= 0) continue;
      const double* row = link.by_other->Row(choice_[link.other], row_scratch_);
      for (size_t a = 0; a < costs.size(); ++a) local[a] += row[a];
    }
    work_ += static_cast<int64_t>(costs.size() * core_.links[member.node].size());
  }
  begin_.push_back(static_cast<int32_t>(local_.size()));
}

// The choice of least cost and price, into tried_; returns what it comes to, less the price of what is left.
double NeighbourhoodSearch::SolveForest() {
  double value = -memory_.PriceOfRoom();
  totals_ = local_;
  messages_.resize(local_.size());
  for (size_t i = members_.size(); i-- > 0;) {
    const Member& member = members_[i];
    const int32_t count = begin_[i + 1] - begin_[i];
    double* totals = totals_.data() + begin_[i];
    memory_.AddPrices(static_cast<int32_t>(i), totals);
    if (member.parent < 0) continue;
    for (int32_t a = 0; a < count; ++a) totals[a] = -totals[a];
    const int32_t parent_count = begin_[member.parent + 1] - begin_[member.parent];
    const Matrix& matrix = *core_.links[member.node][member.parent_link].by_own;
    MinOverRows(matrix, totals, messages_.data(), line_scratch_);
    double* parent = totals_.data() + begin_[member.parent];
    for (int32_t a = 0; a < parent_count; ++a) parent[a] += messages_[a];
    work_ += 2 * Work(matrix) + 100;
  }
  tried_.resize(members_.size());
  for (size_t i = 0; i < members_.size(); ++i) {
    const Member& member = members_[i];
    const int32_t count = begin_[i + 1] - begin_[i];
    const double* totals = totals_.data() + begin_[i];
    const double* row = nullptr;
    if (member.parent >= 0) {
      row = core_.links[member.node][member.parent_link].by_other->Row(tried_[member.parent], row_scratch_);
    }
    double least = kForbidden;
    tried_[i] = 0;
    for (int32_t a = 0; a < count; ++a) {
      const double total = row ? row[a] - totals[a] : totals[a];
      if (total < least) {
        least = total;
        tried_[i] = a;
      }
    }
    if (!row) value += least;
  }
  return value;
}

// Cost of the members' part and what exceeds its room.
NeighbourhoodSearch::Outcome NeighbourhoodSearch::Score(std::span<const int32_t> choice) {
  Outcome outcome;
  for (size_t i = 0; i < members_.size(); ++i) {
    const Member& member = members_[i];
    outcome.cost += local_[begin_[i] + choice[i]];
    if (member.parent < 0) continue;
    const Core::Link& link = core_.links[member.node][member.parent_link];
    outcome.cost += link.by_other->at(choice[member.parent], choice[i]);
  }
  outcome.excess = memory_.Try(choice);
  return outcome;
}

// Pieces of `tried` that pay and fit, the rest from `base`, which fits: into `tried`.
NeighbourhoodSearch::Outcome NeighbourhoodSearch::BlendInto(std::span<const int32_t> base,
                                                            std::vector<int32_t>& tried) {
  blend_.Clear();
  piece_of_.assign(members_.size(), -1);
  for (size_t i = 0; i < members_.size(); ++i) {
    const Member& member = members_[i];
    const int32_t above = member.parent < 0 ? -1 : piece_of_[member.parent];
    if (tried[i] != base[i]) {
      piece_of_[i] = above >= 0 ? above : blend_.AddPiece();
      blend_.AddChange(piece_of_[i], static_cast<int32_t>(i), base[i], tried[i]);
      blend_.AddCost(piece_of_[i], local_[begin_[i] + tried[i]] - local_[begin_[i] + base[i]]);
    }
    const int32_t piece = piece_of_[i] >= 0 ? piece_of_[i] : above;
    if (piece < 0 || member.parent < 0) continue;
    const Matrix& matrix = *core_.links[member.node][member.parent_link].by_other;
    blend_.AddCost(piece, matrix.at(tried[member.parent], tried[i]) - matrix.at(base[member.parent], base[i]));
  }
  Score(base);  // for its usage
  blend_.Solve(memory_, memory_.used());
  for (size_t i = 0; i < members_.size(); ++i) {
    if (piece_of_[i] >= 0 && !blend_.takes(piece_of_[i])) tried[i] = base[i];
  }
  work_ += blend_.TakeWork() + 4 * static_cast<int64_t>(members_.size());
  return Score(tried);
}

// A choice of the part that is better than the one it begins with, or, where nothing is exceeded, nearly as good as the
// best one of the whole is taken; returns whether there is one, in best_.
NeighbourhoodSearch::Outcome NeighbourhoodSearch::Solve(const Outcome& start) {
  Outcome best = start;
  best_ = before_;
  const auto offer = [&](const Outcome& outcome, const std::vector<int32_t>& choice) {
    const bool turns = best_ == before_ && choice != before_;
    if (!outcome.Better(best) && !(turns && outcome.excess == best.excess && outcome.cost <= start.cost + leeway_)) {
      return;
    }
    best = outcome;
    best_ = choice;
  };
  double most_dual = -kForbidden;
  for (int round = 0; round < kRounds; ++round) {
    const double value = SolveForest();
    most_dual = std::max(most_dual, value);
    const Outcome outcome = Score(tried_);
    offer(outcome, tried_);
    if (start.excess == 0 && outcome.excess > 0 && outcome.cost < best.cost) {
      mixed_ = tried_;
      const Outcome mixed = BlendInto(best_, mixed_);
      offer(mixed, mixed_);
      Score(tried_);  // for its usage
    }
    // With nothing exceeded, no choice of the part costs less than the dual value.
    if (best.excess == 0 && best.cost <= most_dual + 0.5) break;
    const double upper = best.excess == 0 ? best.cost : std::max(best.cost, value + 0.1 * std::fabs(value) + 1);
    if (!memory_.Adjust(std::max(upper - value, 1.0))) break;
  }
  return best;
}

int64_t NeighbourhoodSearch::Step() {
  work_ = 0;
  if (core_.size() == 0) return 1'000'000;
  const int32_t most = std::min(kMostMembers, core_.size());
  // In turn sizes of any order, and large ones, which are what a search gains from first.
  const bool any_order = random_.Below(2) == 0;
  Grow(any_order ? static_cast<int32_t>(std::exp(random_.Unit() * std::log(most)))
                 : 1 + random_.Below(1 + random_.Below(most)));
  Orient();
  nodes_.clear();
  before_.clear();
  for (const Member& member : members_) {
    nodes_.push_back(member.node);
    before_.push_back(choice_[member.node]);
  }
  memory_.Open(nodes_, before_, excess_ > 0);
  LocalCosts();
  const Outcome start = Score(before_);
  leeway_ = excess_ > 0 ? 0 : std::max(0.0, record_cost_ + kLeeway * random_.Unit() * std::fabs(record_cost_) - cost_);
  const Outcome best = Solve(start);
  if (best_ != before_) {
    Score(best_);  // for its usage
    memory_.Put();
    for (size_t i = 0; i < members_.size(); ++i) choice_[members_[i].node] = best_[i];
    cost_ += best.cost - start.cost;
    excess_ += best.excess - start.excess;
    Record();
  }
  work_ += memory_.TakeWork();
  return work_ + 2000 + 200 * static_cast<int64_t>(members_.size());
}

void NeighbourhoodSearch::Record() {
  if (excess_ > record_excess_ || (excess_ == record_excess_ && cost_ > record_cost_)) return;
  record_ = choice_;
  record_cost_ = cost_;
  record_excess_ = excess_;
}

}  // namespace sbp
