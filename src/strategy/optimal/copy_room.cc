#include "strategy/optimal/copy_room.h"

#include <algorithm>

#include "memory/memory.h"

namespace sbp {

std::vector<int64_t> HeldPerOp(const Plan& plan) {
  const StepOrder order = OrderOfStep(plan);
  std::vector<int64_t> held = MostHeldByOp(order, Lifetimes(plan, order));
  for (int64_t& bytes : held) bytes += plan.memory.workspace_bytes;
  held.push_back(0);
  return held;
}

bool CopyRoom::Tighten(std::span<const int64_t> held, std::span<const int64_t> counted) {
  bool more = false;
  for (size_t step = 0; step < room_.size(); ++step) {
    const int64_t needed = std::min(limit_, held[step] - counted[step]);
    if (held[step] <= limit_ || needed <= room_[step]) continue;
    room_[step] = needed;
    more = true;
  }
  return more;
}

bool CopyRoom::Loosen(std::span<const int64_t> held, std::span<const int64_t> counted) {
  bool less = false;
  for (size_t step = 0; step < room_.size(); ++step) {
    const int64_t needed = std::clamp<int64_t>(held[step] - counted[step], 0, room_[step]);
    less = less || needed < room_[step];
    room_[step] = needed;
  }
  return less;
}

void CopyRoom::Halve() {
  for (int64_t& bytes : room_) bytes /= 2;
}

}  // namespace sbp
