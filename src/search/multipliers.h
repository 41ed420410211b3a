// Multipliers of memory: ascent along averaged subgradients (Polyak's step towards the best known cost), with messages
// kept from one step to the next.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/core.h"
#include "search/dual.h"

namespace sbp {

struct CycleKind;  // of steps

class MultiplierAscent {
 public:
  explicit MultiplierAscent(const Core& core);

  // Passes of messages, one choice, one step. `upper` is the cost of the best feasible choice, infinity if none.
  void Step(double upper);

  double best_bound() const { return best_bound_; }
  std::span<const double> best_multipliers() const { return best_multipliers_; }
  // What the last step read off the messages, and its usage per step of time.
  const std::vector<int32_t>& choice() const { return choice_; }
  const std::vector<double>& usage() const { return usage_; }
  int64_t work() const { return work_; }  // of the last step's passes
  DualAscent& dual() { return dual_; }
  const DualAscent& dual() const { return dual_; }

 private:
  void Begin();  // at the best multipliers
  void Direct(std::span<const double> usage, double memory);
  void Move(double rise);
  void LevelStep(const CycleKind& kind, double bound, double gained, double gap);

  const Core& core_;
  DualAscent dual_;
  std::vector<double> multipliers_, best_multipliers_, direction_;
  std::vector<int32_t> choice_;
  std::vector<double> usage_;
  double best_bound_;
  double level_ = 0;  // how far above the best bound a step aims
  int32_t idle_ = 0;  // steps since it last came nearer
  int32_t cycle_ = 0;
  int32_t step_ = 0;  // of the cycle
  int64_t work_ = 0;
};

}  // namespace sbp
