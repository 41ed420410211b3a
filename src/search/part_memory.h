// The memory that some nodes of a core, a part, may take while all others keep their candidates. Between two times at
// which a node of the part begins or ends to hold, what the part holds does not change; so the fullest step between
// them speaks for all of them. Such a segment of time has one limit, the part's room, and one price.
//
// Where the choice exceeds limits, each step is a segment of its own, so that excess is what ExcessOf says.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/core.h"

namespace sbp {

class PartMemory {
 public:
  explicit PartMemory(const Core& core);

  // Of all nodes, at each step; and the price of a unit at each step, the first guess of what a part has to pay.
  void SetUsage(std::span<const double> usage);
  void SetPrices(std::span<const double> prices);

  // Makes `nodes` (each once) a part, whose candidates are `chosen`. `by_step`: some limit is exceeded now.
  // Prices of its segments are those set.
  void Open(std::span<const int32_t> nodes, std::span<const int32_t> chosen, bool by_step);
  // What the part's node number `place` pays for each of its candidates is added to `costs`.
  void AddPrices(int32_t place, double* costs) const;
  // Sum over segments of price x room.
  double PriceOfRoom() const;
  // The part takes these candidates: sum over segments of what exceeds the room.
  double Try(std::span<const int32_t> chosen);
  // A step of Polyak's along what the tried candidates exceed and leave: false where that is nothing.
  bool Adjust(double gap);
  // The part's candidates become those tried last.
  void Put();

  // The part's room, and what its candidates tried last take, per segment.
  std::span<const double> room() const { return room_; }
  std::span<const double> used() const { return used_; }
  struct Held {  // a hold of a node of the part, over the segments [first, last)
    const Core::Hold* hold;
    int32_t first, last;
  };
  std::span<const Held> held(int32_t place) const {
    return {held_.data() + held_of_[place], static_cast<size_t>(held_of_[place + 1] - held_of_[place])};
  }

  // Steps and segments looked at since the last call.
  int64_t TakeWork();

 private:
  void Cut(bool by_step);
  void Measure();
  void Price();
  void Use(std::span<const int32_t> chosen, std::vector<double>& used);
  double MostOver(int32_t begin, int32_t end) const;

  const Core& core_;
  std::vector<double> over_;        // per step: usage less limit
  std::vector<double> most_over_;   // per block of steps
  std::vector<double> price_sums_;  // up to each step
  // The part.
  std::vector<int32_t> bounds_;   // of segments: steps
  std::vector<int32_t> place_;    // of a step among the bounds
  std::vector<int32_t> held_of_;  // of a node of the part: where its first one is in held_
  std::vector<Held> held_;
  std::vector<double> own_, used_, room_, prices_, sums_;  // per segment; sums_: prices up to each
  int64_t work_ = 0;
};

}  // namespace sbp
