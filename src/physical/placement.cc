// Offsets in the arena: interval scheduling in two dimensions, time and address. Finding the smallest arena is NP-hard
// (dynamic storage allocation); greedy orders come within a few percent (Pisarchyk and Lee, 2020).
#include <algorithm>
#include <numeric>

#include "base/checked_math.h"
#include "base/text.h"
#include "physical/physical.h"

namespace sbp {

namespace {

// Finds the placed registers that are alive at some time of an interval: by blocks of positions, each register in all
// blocks that it touches. Registers that live throughout are kept apart by the caller.
class PlacedIndex {
 public:
  PlacedIndex(size_t positions, size_t registers) : blocks_(positions / kBlock + 1), seen_(registers, 0) {}

  void Add(uint32_t number, const Register& r) {
    for (size_t b = r.first / kBlock; b <= r.last / kBlock; ++b) blocks_[b].push_back(number);
  }

  template <typename Visit>
  void EachOverlapping(const std::vector<Register>& registers, const Register& r, Visit visit) {
    ++round_;
    for (size_t b = r.first / kBlock; b <= r.last / kBlock; ++b) {
      for (const uint32_t other : blocks_[b]) {
        if (seen_[other] == round_) continue;
        seen_[other] = round_;
        if (registers[other].first <= r.last && r.first <= registers[other].last) visit(registers[other]);
      }
    }
  }

 private:
  static constexpr size_t kBlock = 16;
  std::vector<std::vector<uint32_t>> blocks_;
  std::vector<uint32_t> seen_;
  uint32_t round_ = 0;
};

struct Taken {
  int64_t begin = 0, end = 0;
};

// The lowest address at or above `floor` where `bytes` fit between the taken ranges.
int64_t LowestGap(std::vector<Taken>& taken, int64_t floor, int64_t bytes) {
  std::sort(taken.begin(), taken.end(), [](const Taken& a, const Taken& b) { return a.begin < b.begin; });
  int64_t at = floor;
  for (const Taken& range : taken) {
    if (range.begin - at >= bytes) break;
    at = std::max(at, range.end);
  }
  return at;
}

// With several copies a register holds data of other micro-batches too, at positions outside of its lifetime.
bool LivesThroughout(const Register& r, size_t num_tasks) {
  return r.copies > 1 || (r.first == 0 && r.last + 1 >= num_tasks);
}

}  // namespace

int64_t LivePeak(std::span<const Register> registers, size_t num_tasks) {
  std::vector<int64_t> change(num_tasks + 1, 0);
  for (const Register& r : registers) {
    const bool throughout = LivesThroughout(r, num_tasks);
    const size_t first = throughout ? 0 : r.first;
    change[first] = SaturatingAdd(change[first], r.footprint());
    if (!throughout) change[r.last + 1] -= r.footprint();
  }
  int64_t now = 0, peak = 0;
  for (const int64_t c : change) {
    now = SaturatingAdd(now, c);
    peak = std::max(peak, now);
  }
  return peak;
}

std::vector<uint32_t> PlacementOrder(const PlacementRow& row, std::span<const Register> registers) {
  std::vector<uint32_t> order(registers.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return row.before(registers[a], registers[b]); });
  return order;
}

int64_t PlaceRegisters(std::span<const uint32_t> order, size_t num_tasks, std::vector<Register>& registers) {
  int64_t arena = 0;
  for (Register& r : registers) {
    r.offset = 0;
    if (!LivesThroughout(r, num_tasks)) continue;  // no gap can come of these: side by side at the bottom
    r.offset = arena;
    arena = SaturatingAdd(arena, r.footprint());
  }
  const int64_t floor = arena;
  PlacedIndex placed(num_tasks, registers.size());
  std::vector<Taken> taken;
  for (const uint32_t i : order) {
    Register& r = registers[i];
    if (r.bytes == 0 || LivesThroughout(r, num_tasks)) continue;
    taken.clear();
    placed.EachOverlapping(registers, r, [&](const Register& other) {
      taken.push_back({other.offset, SaturatingAdd(other.offset, other.footprint())});
    });
    r.offset = LowestGap(taken, floor, r.footprint());
    arena = std::max(arena, SaturatingAdd(r.offset, r.footprint()));
    placed.Add(i, r);
  }
  return arena;
}

void PlaceBest(PhysicalPlan& physical) {
  constexpr int kRounds = 64;          // of improvement
  constexpr size_t kLargest = 20'000;  // registers that are placed again and again
  const size_t tasks = physical.tasks.size();
  const int64_t bound = LivePeak(physical.registers, tasks);
  physical.lower_bound_bytes = bound;
  physical.arena_bytes = kInt64Max;
  std::vector<Register> placed = physical.registers;
  std::vector<uint32_t> best_order;
  const auto keep = [&](int64_t arena, std::string_view name) {
    physical.arena_bytes = arena;
    physical.placement = name;
    physical.registers = placed;
  };
  for (const PlacementRow& row : AllPlacements()) {
    std::vector<uint32_t> order = PlacementOrder(row, placed);
    const int64_t arena = PlaceRegisters(order, tasks, placed);
    if (arena >= physical.arena_bytes) continue;
    keep(arena, row.name);
    best_order = std::move(order);
    if (arena == bound) return;
  }
  // Whatever reaches to the top of the arena is placed first in the next round.
  std::vector<uint32_t> order = std::move(best_order);
  placed = physical.registers;
  const std::string row = physical.placement;
  for (int round = 0; round < kRounds && placed.size() <= kLargest && physical.arena_bytes > bound; ++round) {
    const auto top = std::ranges::max_element(order, {}, [&](uint32_t i) {
      return LivesThroughout(placed[i], tasks) ? -1 : SaturatingAdd(placed[i].offset, placed[i].footprint());
    });
    std::rotate(order.begin(), top, top + 1);
    const int64_t arena = PlaceRegisters(order, tasks, placed);
    if (arena < physical.arena_bytes) keep(arena, StrCat(row, ", improved"));
  }
}

}  // namespace sbp
