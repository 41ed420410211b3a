// Offsets in the arena: interval scheduling in two dimensions, time and address. Finding the smallest arena is NP-hard
// (dynamic storage allocation); greedy orders come within a few percent (Pisarchyk and Lee, 2020).
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "base/checked_math.h"
#include "physical/physical.h"
#include "physical/taken.h"
#include "plan/physical_plan.h"

namespace sbp {
namespace {

// With several copies a register holds data of other micro-batches too, at positions outside of its lifetime.
bool LivesThroughout(const Register& r, size_t num_tasks) {
  return r.copies > 1 || (r.first == 0 && r.last + 1 >= num_tasks);
}

// Blocks of positions that registers live in, together: what placing them in any order costs.
size_t NumBlocks(std::span<const Register> registers, size_t num_tasks) {
  constexpr uint32_t kBlock = 16;
  size_t blocks = 0;
  for (const Register& r : registers) {
    if (!LivesThroughout(r, num_tasks)) blocks += r.last / kBlock - r.first / kBlock + 1;
  }
  return blocks;
}

// Holes of an arena between what is in use.
class FreeList {
 public:
  explicit FreeList(int64_t floor) : top_(floor) {}

  int64_t Take(int64_t bytes) {
    const auto hole = std::ranges::find_if(holes_, [&](const auto& h) { return h.second >= bytes; });
    if (hole != holes_.end()) {
      const auto [at, size] = *hole;
      holes_.erase(hole);
      if (size > bytes) holes_.emplace(at + bytes, size - bytes);
      return at;
    }
    // The hole below the top, if there is one, needs only be made larger.
    int64_t at = top_;
    if (!holes_.empty() && SaturatingAdd(holes_.rbegin()->first, holes_.rbegin()->second) == top_) {
      at = holes_.rbegin()->first;
      holes_.erase(std::prev(holes_.end()));
    }
    top_ = SaturatingAdd(at, bytes);
    return at;
  }

  void Give(int64_t at, int64_t bytes) {
    auto hole = holes_.emplace(at, bytes).first;
    if (const auto next = std::next(hole); next != holes_.end() && SaturatingAdd(at, bytes) == next->first) {
      hole->second = SaturatingAdd(hole->second, next->second);
      holes_.erase(next);
    }
    if (hole == holes_.begin()) return;
    if (const auto before = std::prev(hole); SaturatingAdd(before->first, before->second) == at) {
      before->second = SaturatingAdd(before->second, hole->second);
      holes_.erase(hole);
    }
  }

  int64_t top() const { return top_; }

 private:
  std::map<int64_t, int64_t> holes_;  // offset, bytes
  int64_t top_;
};

// Registers that live throughout, side by side at the bottom; returns where the others begin.
int64_t PlaceAtTheBottom(size_t num_tasks, std::vector<Register>& registers) {
  int64_t floor = 0;
  for (Register& r : registers) {
    r.offset = 0;
    if (!LivesThroughout(r, num_tasks)) continue;
    r.offset = floor;
    floor = SaturatingAdd(floor, r.footprint());
  }
  return floor;
}

// Registers as the arena sees them: what is written in the place of another one takes nothing, and the other one lasts
// as long.
std::vector<Register> Buffers(std::span<const Register> registers) {
  std::vector<Register> buffers(registers.begin(), registers.end());
  const std::vector<uint32_t> owners = BufferOwners(registers);
  for (uint32_t i = 0; i < buffers.size(); ++i) {
    if (owners[i] == i) continue;
    Register& owner = buffers[owners[i]];
    owner.last = std::max(owner.last, registers[i].last);
    buffers[i].bytes = 0;
  }
  return buffers;
}

// Offsets of the best arena that was found, and what found it.
struct Arena {
  int64_t bytes = 0;
  std::string_view placement;
  std::vector<Register> registers;
};

Arena FindArena(std::vector<Register> placed, size_t tasks, int64_t bound, int64_t enough) {
  constexpr int kRounds = 64;                // of improvement
  constexpr size_t kMostBlocks = 1'000'000;  // beyond, orders other than that of time take too long
  Arena arena{0, "first-fit", placed};
  arena.bytes = PlaceFirstFit(tasks, arena.registers);
  const size_t work = NumBlocks(placed, tasks);
  if (arena.bytes == bound || work > kMostBlocks) return arena;
  std::vector<uint32_t> best;
  const auto try_order = [&](const std::vector<uint32_t>& order, std::string_view name) {
    const int64_t bytes = PlaceRegisters(order, tasks, placed);
    if (!best.empty() && bytes >= arena.bytes) return;
    if (best.empty() || bytes < arena.bytes) best = order;
    if (bytes < arena.bytes) arena = {bytes, name, placed};
  };
  for (const PlacementRow& row : AllPlacements()) {
    try_order(PlacementOrder(row, placed), row.name);
    if (arena.bytes == bound) return arena;
  }
  // Whatever reaches to the top of the arena is placed first in the next round.
  std::vector<uint32_t> order = best;
  if (order.empty() || work > kMostBlocks / kRounds) return arena;
  PlaceRegisters(order, tasks, placed);
  for (int round = 0; round < kRounds && arena.bytes > std::max(bound, enough); ++round) {
    const auto top = std::ranges::max_element(order, {}, [&](uint32_t i) {
      return LivesThroughout(placed[i], tasks) ? -1 : SaturatingAdd(placed[i].offset, placed[i].footprint());
    });
    std::rotate(order.begin(), top, top + 1);
    try_order(order, "improved");
  }
  return arena;
}

}  // namespace

std::vector<uint32_t> BufferOwners(std::span<const Register> registers) {
  std::vector<uint32_t> owners(registers.size());
  for (uint32_t i = 0; i < owners.size(); ++i) {
    owners[i] = registers[i].over == kNoRegister ? i : owners[registers[i].over];
  }
  return owners;
}

int64_t LivePeak(std::span<const Register> given, size_t num_tasks) {
  __extension__ using Wide = __int128;  // sums of many 63-bit sizes
  const std::vector<Register> registers = Buffers(given);
  std::vector<Wide> change(num_tasks + 1, 0);
  for (const Register& r : registers) {
    const bool throughout = LivesThroughout(r, num_tasks);
    change[throughout ? 0 : r.first] += r.footprint();
    if (!throughout) change[r.last + 1] -= r.footprint();
  }
  Wide now = 0, peak = 0;
  for (const Wide c : change) peak = std::max(peak, now += c);
  return peak > kInt64Max ? kInt64Max : static_cast<int64_t>(peak);
}

std::vector<uint32_t> PlacementOrder(const PlacementRow& row, std::span<const Register> registers) {
  std::vector<uint32_t> order(registers.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return row.before(registers[a], registers[b]); });
  return order;
}

int64_t PlaceRegisters(std::span<const uint32_t> order, size_t num_tasks, std::vector<Register>& registers) {
  const int64_t floor = PlaceAtTheBottom(num_tasks, registers);
  int64_t arena = floor;
  TakenAddresses taken(num_tasks);
  for (const uint32_t i : order) {
    Register& r = registers[i];
    if (r.bytes == 0 || LivesThroughout(r, num_tasks)) continue;
    r.offset = taken.LowestGap(r.first, r.last, floor, r.footprint());
    const int64_t end = SaturatingAdd(r.offset, r.footprint());
    arena = std::max(arena, end);
    taken.Take(r.first, r.last, r.offset, end);
  }
  return arena;
}

int64_t PlaceFirstFit(size_t num_tasks, std::vector<Register>& registers) {
  FreeList memory(PlaceAtTheBottom(num_tasks, registers));
  std::vector<std::vector<uint32_t>> begin(num_tasks + 1), end(num_tasks + 1);
  for (uint32_t i = 0; i < registers.size(); ++i) {
    const Register& r = registers[i];
    if (r.bytes == 0 || LivesThroughout(r, num_tasks)) continue;
    begin[r.first].push_back(i);
    end[r.last + 1].push_back(i);
  }
  for (size_t t = 0; t <= num_tasks; ++t) {
    for (const uint32_t i : end[t]) memory.Give(registers[i].offset, registers[i].footprint());
    for (const uint32_t i : begin[t]) registers[i].offset = memory.Take(registers[i].footprint());
  }
  return memory.top();
}

void PlaceBest(PhysicalPlan& physical, int64_t enough) {
  const size_t tasks = physical.tasks.size();
  physical.lower_bound_bytes = LivePeak(physical.registers, tasks);
  const Arena arena = FindArena(Buffers(physical.registers), tasks, physical.lower_bound_bytes, enough);
  physical.arena_bytes = arena.bytes;
  physical.placement = arena.placement;
  const std::vector<uint32_t> owners = BufferOwners(physical.registers);
  for (uint32_t i = 0; i < owners.size(); ++i) {
    physical.registers[i].offset = arena.registers[owners[i]].offset;
  }
}

}  // namespace sbp
