// Room for what a network does not count. It counts no copies that are boxed beside a tensor, nor what a cut kernel
// group writes out; how much of that there is, and when, depends on the plan. So the search is asked again with room
// kept free at those moments at which the last plan needed it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "plan/plan.h"

namespace sbp {

// Bytes that an evaluated plan holds at most while each op runs or is prepared, its kernels' workspace among them, and
// (the last number) 0 at the end.
std::vector<int64_t> HeldPerOp(const Plan& plan);

class CopyRoom {
 public:
  // `steps`: moments of a step; `limit`: bytes.
  CopyRoom(size_t steps, int64_t limit) : limit_(limit), room_(steps, 0) {}

  // Of a plan: what it holds at each moment, and what of that the network counts.
  // It exceeds the limit: there, at least as much room as it needed. False: that much is kept already.
  bool Tighten(std::span<const int64_t> held, std::span<const int64_t> counted);
  // It fits: as much room as it needs and no more, so that it is a choice of the network still. False: none was more.
  bool Loosen(std::span<const int64_t> held, std::span<const int64_t> counted);
  // Nothing fits beside all that room: half of it.
  void Halve();

  std::span<const int64_t> bytes() const { return room_; }
  bool empty() const {
    return std::ranges::all_of(room_, [](int64_t bytes) { return bytes == 0; });
  }

 private:
  int64_t limit_;
  std::vector<int64_t> room_;
};

}  // namespace sbp
