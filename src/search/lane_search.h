// The search on a core: two lanes side by side, the dual ascent, which bounds and suggests choices, and the
// neighbourhood search, which improves the best of them. The lanes meet after equal amounts of counted work, so a fixed
// effort gives the same result on any number of threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "search/core.h"
#include "search/dual.h"
#include "search/folded_core.h"
#include "search/multipliers.h"
#include "search/neighbourhood.h"
#include "search/wide_neighbourhood.h"

namespace sbp {

struct LaneSearchOptions {
  double seconds = 0;  // as in SolveOptions, as are those that follow
  double effort = 0;
  int rounds = 0;
  int threads = 2;
  uint64_t seed = 0;
  double gap = 0;
  double known_bound = -kForbidden;  // in the core's costs
  double cutoff = kForbidden;        // likewise
  double enough = -kForbidden;       // likewise
  int64_t patience = 0;
  std::function<bool()> stop;
  bool settles = false;          // MultiplierAscent's second way
  bool only_dual = false;        // its lane alone, to which all of the effort goes
  std::function<void()> report;  // called after each round
};

// A choice and how good it is, in the core's terms.
struct FoundChoice {
  std::vector<int32_t> choice;
  double excess = kForbidden;
  double cost = kForbidden;
  bool any() const { return excess < kForbidden; }
  bool Better(const FoundChoice& other) const {
    return excess < other.excess || (excess == other.excess && cost < other.cost);
  }
};

class LaneSearch {
 public:
  LaneSearch(const Core& core, const LaneSearchOptions& options);

  // Begins with a choice, if it is better than what there is and not forbidden.
  void Begin(const std::vector<int32_t>& choice);
  // Begins where the dual of a folded core ended, and with the best of its choices.
  void Begin(const LaneSearch& folded, const FoldedCore& fold);
  void Run();
  // Raises the bounds of dual().forced(): what is proved needs no more of the dual, but they may.
  void TightenForced();

  const FoundChoice& best() const { return best_; }
  std::span<const double> prices() const { return ascent_.best_multipliers(); }  // of memory, where the bound is best
  const DualAscent& dual() const { return ascent_.dual(); }
  // No feasible choice costs less, the constant included. kForbidden: it is proved that nothing is feasible.
  double bound() const;
  double Seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }  // since it was made

 private:
  using Clock = std::chrono::steady_clock;

  // Where nothing is feasible yet, the caller is left some time to find out why.
  bool OutOfTime() const;
  bool IsSmall() const;
  double Upper() const { return best_.excess == 0 ? best_.cost : kForbidden; }
  bool Done() const;
  bool Late() const;
  void NoteGain();
  void Prove();
  void EliminateAll();
  void DualLane();
  void Offer(const std::vector<int32_t>& choice, const std::vector<double>& usage);
  void NeighbourhoodLane();
  bool Explores();
  int64_t WideStep();
  void Round();
  void Challenge(int64_t most_work);
  void Challenged();
  void NoteBound();
  FoundChoice Judged(std::vector<int32_t> choice) const;

  const Core& core_;
  const LaneSearchOptions options_;
  const int64_t round_work_;  // of each lane
  MultiplierAscent ascent_;
  // Where memory counts a search seldom leaves the region of choices that it began in. So another one begins again and
  // again at what the dual suggests meanwhile, and takes the place of the first one once it is better.
  NeighbourhoodSearch neighbourhoods_, challenger_;
  WideNeighbourhoods wide_;
  FoundChoice best_, dual_found_;
  int64_t rounds_ = 0;
  bool guided_ = false;                             // wide_ is to work in the next round
  int32_t wide_pause_ = 1, rounds_since_wide_ = 0;  // rounds from one that it works in to the next
  bool explores_ = false;
  FoundChoice explored_;
  FoundChoice suggested_;            // by the dual, in the last round
  bool challenges_ = false;          // challenger_ has begun
  FoundChoice challenge_;            // the best suggestion since: where the next one begins
  double window_cost_ = kForbidden;  // of the challenger when its last window began
  int32_t window_rounds_ = 0;        // since then
  bool dual_rests_ = false;          // in this round, since its bound hardly rises: the challenger works in its place
  double watched_bound_ = -kForbidden;
  bool bound_rises_ = true;
  int32_t idle_ = 0;  // steps since the other track got better
  int64_t dual_steps_ = 0;
  int64_t steps_at_gain_ = 0;  // dual_steps_ when the last gain to speak of was seen
  FoundChoice gained_;         // what was best then (without the choice)
  double gained_bound_ = -kForbidden;
  bool proved_ = false;
  Clock::time_point start_ = Clock::now();
};

}  // namespace sbp
