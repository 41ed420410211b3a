#include "search/neighbourhood.h"

#include <algorithm>
#include <cmath>

#include "search/kernels.h"
#include "search/matrices.h"

namespace sbp {
namespace {

constexpr int32_t kMostMembers = 1500;
constexpr int kRounds = 12;  // of multipliers per part

}  // namespace

NeighbourhoodSearch::NeighbourhoodSearch(const Core& core, uint64_t seed)
    : core_(core), random_(seed), multipliers_(core.limits.size(), 0), place_of_(core.nodes.size(), -1) {}

void NeighbourhoodSearch::SetChoice(std::span<const int32_t> choice) {
  choice_.assign(choice.begin(), choice.end());
  usage_ = UsageOf(core_, choice_);
  cost_ = CostOf(core_, choice_);
  excess_ = ExcessOf(core_, usage_);
}

void NeighbourhoodSearch::SetMultipliers(std::span<const double> multipliers) {
  multipliers_.assign(multipliers.begin(), multipliers.end());
  priced_steps_.clear();
  for (size_t step = 0; step < multipliers_.size(); ++step) {
    if (multipliers_[step] > 0) priced_steps_.push_back(static_cast<int32_t>(step));
  }
}

int32_t NeighbourhoodSearch::Root(int32_t place) {
  while (root_of_[place] != place) place = root_of_[place] = root_of_[root_of_[place]];
  return place;
}

// May `node` become a member without closing a cycle? Then it does.
bool NeighbourhoodSearch::Joins(int32_t node) {
  std::vector<int32_t> roots;
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

// Takes the members' memory away: others_ and prices_ at their steps.
void NeighbourhoodSearch::FreeMemory() {
  first_step_ = core_.steps();
  last_step_ = 0;
  for (const Member& member : members_) {
    for (const Core::Hold& hold : core_.nodes[member.node].holds) {
      first_step_ = std::min(first_step_, hold.begin);
      last_step_ = std::max(last_step_, hold.end);
    }
  }
  last_step_ = std::max(last_step_, first_step_);
  std::vector<double> change(last_step_ - first_step_ + 1, 0);
  for (const Member& member : members_) {
    for (const Core::Hold& hold : core_.nodes[member.node].holds) {
      change[hold.begin - first_step_] += hold.usages[choice_[member.node]];
      change[hold.end - first_step_] -= hold.usages[choice_[member.node]];
    }
  }
  others_.assign(usage_.begin() + first_step_, usage_.begin() + last_step_);
  double held = 0;
  for (size_t step = 0; step < others_.size(); ++step) {
    held += change[step];
    others_[step] -= held;
  }
  prices_.assign(multipliers_.begin() + first_step_, multipliers_.begin() + last_step_);
  work_ += 4 * static_cast<int64_t>(others_.size());
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
  price_sum_.assign(prices_.size() + 1, 0);
  double value = 0;
  for (size_t step = 0; step < prices_.size(); ++step) {
    price_sum_[step + 1] = price_sum_[step] + prices_[step];
    if (prices_[step] > 0) value -= prices_[step] * (core_.limits[first_step_ + step] - others_[step]);
  }
  totals_ = local_;
  messages_.resize(local_.size());
  for (size_t i = members_.size(); i-- > 0;) {
    const Member& member = members_[i];
    const int32_t count = begin_[i + 1] - begin_[i];
    double* totals = totals_.data() + begin_[i];
    for (const Core::Hold& hold : core_.nodes[member.node].holds) {
      const double price = price_sum_[hold.end - first_step_] - price_sum_[hold.begin - first_step_];
      if (price <= 0) continue;
      for (int32_t a = 0; a < count; ++a) totals[a] += price * hold.usages[a];
    }
    if (member.parent < 0) continue;
    for (int32_t a = 0; a < count; ++a) totals[a] = -totals[a];
    const int32_t parent_count = begin_[member.parent + 1] - begin_[member.parent];
    const Matrix& matrix = *core_.links[member.node][member.parent_link].by_own;
    MinOverRows(matrix, totals, messages_.data(), line_scratch_);
    double* parent = totals_.data() + begin_[member.parent];
    for (int32_t a = 0; a < parent_count; ++a) parent[a] += messages_[a];
    work_ += Work(matrix);
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

// Cost of the members' part and the excess at their steps; leaves their usage in part_usage_.
NeighbourhoodSearch::Outcome NeighbourhoodSearch::Score(std::span<const int32_t> choice) {
  Outcome outcome;
  part_usage_.assign(others_.size() + 1, 0);
  for (size_t i = 0; i < members_.size(); ++i) {
    const Member& member = members_[i];
    outcome.cost += local_[begin_[i] + choice[i]];
    if (member.parent >= 0) {
      const Core::Link& link = core_.links[member.node][member.parent_link];
      outcome.cost += link.by_other->at(choice[member.parent], choice[i]);
    }
    for (const Core::Hold& hold : core_.nodes[member.node].holds) {
      part_usage_[hold.begin - first_step_] += hold.usages[choice[i]];
      part_usage_[hold.end - first_step_] -= hold.usages[choice[i]];
    }
  }
  for (size_t step = 0; step < others_.size(); ++step) {
    part_usage_[step + 1] += part_usage_[step];
    outcome.excess += std::max(0.0, others_[step] + part_usage_[step] - core_.limits[first_step_ + step]);
  }
  part_usage_.pop_back();
  work_ += 3 * static_cast<int64_t>(others_.size());
  return outcome;
}

// A step of Polyak's for the part. False: the tried choice is the best one for the prices and breaks none.
bool NeighbourhoodSearch::AdjustMultipliers(double gap) {
  double length = 0;
  for (size_t step = 0; step < prices_.size(); ++step) {
    const double over = others_[step] + part_usage_[step] - core_.limits[first_step_ + step];
    if (over > 0 || prices_[step] > 0) length += over * over;
  }
  if (length == 0) return false;
  const double pace = gap / length;
  for (size_t step = 0; step < prices_.size(); ++step) {
    const double over = others_[step] + part_usage_[step] - core_.limits[first_step_ + step];
    if (over > 0 || prices_[step] > 0) prices_[step] = std::max(0.0, prices_[step] + pace * over);
  }
  work_ += 2 * static_cast<int64_t>(prices_.size());
  return true;
}

void NeighbourhoodSearch::Put(std::span<const int32_t> choice) {
  Score(choice);  // for its usage
  for (size_t step = 0; step < others_.size(); ++step) usage_[first_step_ + step] = others_[step] + part_usage_[step];
  for (size_t i = 0; i < members_.size(); ++i) choice_[members_[i].node] = choice[i];
}

int64_t NeighbourhoodSearch::Step() {
  work_ = 0;
  if (core_.size() == 0) return 1'000'000;
  const int32_t most = std::min(kMostMembers, core_.size());
  Grow(1 + random_.Below(1 + random_.Below(most)));
  Orient();
  FreeMemory();
  LocalCosts();
  std::vector<int32_t> before;
  for (const Member& member : members_) before.push_back(choice_[member.node]);
  const Outcome start = Score(before);
  Outcome best = start;
  best_ = before;
  double most_dual = -kForbidden;
  for (int round = 0; round < kRounds; ++round) {
    const double value = SolveForest();
    most_dual = std::max(most_dual, value);
    const Outcome outcome = Score(tried_);
    if (outcome.Better(best) ||
        (outcome.excess == best.excess && outcome.cost == best.cost && tried_ != best_ && best.cost == start.cost)) {
      best = outcome;
      best_ = tried_;
    }
    // With nothing exceeded, no choice of the part costs less than the dual value.
    if (best.excess == 0 && best.cost <= most_dual + 0.5) break;
    const double upper = best.excess == 0 ? best.cost : std::max(best.cost, value + 0.1 * std::fabs(value) + 1);
    if (!AdjustMultipliers(std::max(upper - value, 1.0))) break;
  }
  if (best_ != before) {
    Put(best_);
    cost_ += best.cost - start.cost;
    excess_ += best.excess - start.excess;
  }
  return work_ + 2000 + 200 * static_cast<int64_t>(members_.size());
}

}  // namespace sbp
