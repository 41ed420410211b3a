#include "search/part_memory.h"

#include <algorithm>

namespace sbp {
namespace {

constexpr int32_t kBlock = 64;  // steps

}  // namespace

PartMemory::PartMemory(const Core& core)
    : core_(core),
      over_(core.limits.size(), 0),
      most_over_(core.limits.size() / kBlock + 1, -kForbidden),
      price_sums_(core.limits.size() + 1, 0),
      place_(core.limits.size() + 1, 0) {}

void PartMemory::SetUsage(std::span<const double> usage) {
  std::fill(most_over_.begin(), most_over_.end(), -kForbidden);
  for (size_t step = 0; step < over_.size(); ++step) {
    over_[step] = usage[step] - core_.limits[step];
    most_over_[step / kBlock] = std::max(most_over_[step / kBlock], over_[step]);
  }
}

void PartMemory::SetPrices(std::span<const double> prices) {
  for (size_t step = 0; step < prices.size(); ++step) price_sums_[step + 1] = price_sums_[step] + prices[step];
}

double PartMemory::MostOver(int32_t begin, int32_t end) const {
  double most = -kForbidden;
  for (int32_t step = begin; step < end;) {
    if (step % kBlock == 0 && step + kBlock <= end) {
      most = std::max(most, most_over_[step / kBlock]);
      step += kBlock;
    } else {
      most = std::max(most, over_[step++]);
    }
  }
  return most;
}

void PartMemory::Open(std::span<const int32_t> nodes, std::span<const int32_t> chosen, bool by_step) {
  held_.clear();
  held_of_.clear();
  for (const int32_t node : nodes) {
    held_of_.push_back(static_cast<int32_t>(held_.size()));
    for (const Core::Hold& hold : core_.nodes[node].holds) held_.push_back({&hold, 0, 0});
  }
  held_of_.push_back(static_cast<int32_t>(held_.size()));
  Cut(by_step);
  Use(chosen, own_);
  Measure();
  Price();
}

// Segments begin and end where a hold does, or at each step.
void PartMemory::Cut(bool by_step) {
  bounds_.clear();
  for (const Held& held : held_) {
    bounds_.push_back(held.hold->begin);
    bounds_.push_back(held.hold->end);
  }
  std::sort(bounds_.begin(), bounds_.end());
  bounds_.erase(std::unique(bounds_.begin(), bounds_.end()), bounds_.end());
  if (by_step && !bounds_.empty()) {
    const int32_t begin = bounds_.front(), end = bounds_.back();
    bounds_.clear();
    for (int32_t step = begin; step <= end; ++step) bounds_.push_back(step);
  }
  for (size_t i = 0; i < bounds_.size(); ++i) place_[bounds_[i]] = static_cast<int32_t>(i);
  for (Held& held : held_) {
    held.first = place_[held.hold->begin];
    held.last = place_[held.hold->end];
  }
  work_ += 10 * static_cast<int64_t>(held_.size()) + 2 * static_cast<int64_t>(bounds_.size());
}

void PartMemory::Measure() {
  const size_t segments = bounds_.empty() ? 0 : bounds_.size() - 1;
  room_.resize(segments);
  for (size_t i = 0; i < segments; ++i) {
    room_[i] = own_[i] - MostOver(bounds_[i], bounds_[i + 1]);
    const int32_t steps = bounds_[i + 1] - bounds_[i];
    work_ += 1 + std::min(steps, 2 * kBlock + steps / kBlock);
  }
}

void PartMemory::Price() {
  prices_.resize(room_.size());
  for (size_t i = 0; i < room_.size(); ++i) prices_[i] = price_sums_[bounds_[i + 1]] - price_sums_[bounds_[i]];
  sums_.assign(prices_.size() + 1, 0);
  for (size_t i = 0; i < prices_.size(); ++i) sums_[i + 1] = sums_[i] + prices_[i];
}

void PartMemory::AddPrices(int32_t place, double* costs) const {
  for (int32_t i = held_of_[place]; i < held_of_[place + 1]; ++i) {
    const Held& held = held_[i];
    const double price = sums_[held.last] - sums_[held.first];
    if (price <= 0) continue;
    const std::vector<double>& usages = held.hold->usages;
    for (size_t a = 0; a < usages.size(); ++a) costs[a] += price * usages[a];
  }
}

double PartMemory::PriceOfRoom() const {
  double sum = 0;
  for (size_t i = 0; i < prices_.size(); ++i) {
    if (prices_[i] > 0) sum += prices_[i] * room_[i];
  }
  return sum;
}

void PartMemory::Use(std::span<const int32_t> chosen, std::vector<double>& used) {
  used.assign(bounds_.size(), 0);
  if (bounds_.empty()) return;
  for (size_t place = 0; place < chosen.size(); ++place) {
    for (int32_t i = held_of_[place]; i < held_of_[place + 1]; ++i) {
      const double usage = held_[i].hold->usages[chosen[place]];
      used[held_[i].first] += usage;
      used[held_[i].last] -= usage;
    }
  }
  for (size_t i = 1; i < used.size(); ++i) used[i] += used[i - 1];
  used.pop_back();
  work_ += static_cast<int64_t>(used.size() + held_.size());
}

double PartMemory::Try(std::span<const int32_t> chosen) {
  Use(chosen, used_);
  double excess = 0;
  for (size_t i = 0; i < room_.size(); ++i) excess += std::max(0.0, used_[i] - room_[i]);
  work_ += static_cast<int64_t>(room_.size());
  return excess;
}

bool PartMemory::Adjust(double gap) {
  double length = 0;
  for (size_t i = 0; i < prices_.size(); ++i) {
    const double over = used_[i] - room_[i];
    if (over > 0 || prices_[i] > 0) length += over * over;
  }
  if (length == 0) return false;
  const double pace = gap / length;
  for (size_t i = 0; i < prices_.size(); ++i) {
    const double over = used_[i] - room_[i];
    if (over > 0 || prices_[i] > 0) prices_[i] = std::max(0.0, prices_[i] + pace * over);
    sums_[i + 1] = sums_[i] + prices_[i];
  }
  work_ += 3 * static_cast<int64_t>(prices_.size());
  return true;
}

void PartMemory::Put() {
  for (size_t i = 0; i < room_.size(); ++i) {
    const double more = used_[i] - own_[i];
    if (more == 0) continue;
    for (int32_t step = bounds_[i]; step < bounds_[i + 1]; ++step) over_[step] += more;
    work_ += bounds_[i + 1] - bounds_[i];
  }
  if (bounds_.empty()) return;
  for (int64_t block = bounds_.front() / kBlock; block <= (bounds_.back() - 1) / kBlock; ++block) {
    const auto begin = over_.begin() + block * kBlock;
    const auto end = over_.begin() + std::min<int64_t>((block + 1) * kBlock, static_cast<int64_t>(over_.size()));
    most_over_[block] = *std::max_element(begin, end);
  }
  work_ += bounds_.back() - bounds_.front();
}

int64_t PartMemory::TakeWork() {
  const int64_t work = work_;
  work_ = 0;
  return work;
}

}  // namespace sbp
