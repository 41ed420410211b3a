#include "physical/taken.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace sbp {
namespace {

// The largest nodes within the interval, which are its parts.
template <typename Visit>
void ForEachPart(size_t first, size_t last, Visit visit) {
  for (; first <= last; first /= 2, last /= 2) {
    if (first % 2 == 1) visit(first++);
    if (last % 2 == 0) visit(last--);
  }
}

// Nodes above the ends of the interval, among them all that hold a part of it and more.
template <typename Visit>
void ForEachAbove(size_t first, size_t last, Visit visit) {
  for (first /= 2, last /= 2; first > 0; first /= 2, last /= 2) {
    visit(first);
    if (last != first) visit(last);
  }
}

}  // namespace

TakenAddresses::TakenAddresses(size_t positions) : leaves_(std::bit_ceil(positions)), nodes_(2 * leaves_) {}

void TakenAddresses::Take(uint32_t first, uint32_t last, int64_t begin, int64_t end) {
  ForEachPart(leaves_ + first, leaves_ + last, [&](size_t node) {
    Add({begin, end}, nodes_[node].some);
    Add({begin, end}, nodes_[node].all);
  });
  ForEachAbove(leaves_ + first, leaves_ + last, [&](size_t node) { Add({begin, end}, nodes_[node].some); });
}

int64_t TakenAddresses::LowestGap(uint32_t first, uint32_t last, int64_t floor, int64_t bytes) {
  readings_.clear();
  const auto read = [&](const Stretches& ranges) {
    if (!ranges.empty()) readings_.push_back({ranges.data(), ranges.data() + ranges.size()});
  };
  ForEachPart(leaves_ + first, leaves_ + last, [&](size_t node) { read(nodes_[node].some); });
  ForEachAbove(leaves_ + first, leaves_ + last, [&](size_t node) { read(nodes_[node].all); });
  int64_t at = floor;
  // Until nothing has stood in the way in all of them, one after the other.
  size_t clear = 0;
  for (size_t i = 0; clear < readings_.size(); i = i + 1 == readings_.size() ? 0 : i + 1) {
    Reading& reading = readings_[i];
    const int64_t before = at;
    for (; reading.next != reading.end && reading.next->begin - at < bytes; ++reading.next)
      at = std::max(at, reading.next->end);
    clear = at == before ? clear + 1 : 1;
  }
  return at;
}

void TakenAddresses::Add(Stretch range, Stretches& to) {
  const auto begin = std::ranges::lower_bound(to, range.begin, {}, &Stretch::end);
  auto end = begin;
  for (; end != to.end() && end->begin <= range.end; ++end) {
    range.begin = std::min(range.begin, end->begin);
    range.end = std::max(range.end, end->end);
  }
  if (begin == end) {
    to.insert(begin, range);
    return;
  }
  *begin = range;
  to.erase(begin + 1, end);
}

}  // namespace sbp
