// Multipliers of memory. Messages are kept from one step to the next. Two ways:
//  * along averaged subgradients (Polyak's step towards the best known cost), one or two passes of messages a step;
//  * settled: passes as long as they gain, then a step of a bundle method (price_bundle.h). Where a pass is cheap, or
//    messages and multipliers are good ones to begin with, it is there in some tens of steps.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "search/core.h"
#include "search/dual.h"
#include "search/folded_core.h"
#include "search/price_bundle.h"

namespace sbp {

struct CycleKind;  // of steps

class MultiplierAscent {
 public:
  // `settled`: the second way, in which messages settle no further once the bound is within `near`, a share, of the
  // best choice.
  MultiplierAscent(const Core& core, bool settled, double near = 0);

  // Begins where the ascent of a folded core has its best bound: equal moments share what one of them has there. With
  // memory, goes on settled. A bound of `cutoff` is good enough.
  void Begin(const MultiplierAscent& folded, const FoldedCore& fold, double upper, double cutoff);

  // Passes of messages, one choice, one step. `upper` is the cost of the best feasible choice, infinity if none.
  void Step(double upper);
  bool settles() const { return settles_; }
  bool converged() const { return converged_; }  // settled steps gain nothing any more

  // Passes of messages of their own, at dearer prices than the best ones: choices that exceed at those may fit here.
  void Excurse(double factor);
  const DualAscent& explorer() const { return *explorer_; }  // after Excurse

  double best_bound() const { return best_bound_; }
  std::span<const double> best_multipliers() const { return best_multipliers_; }
  // What the last step read off the messages, and its usage per step of time.
  const std::vector<int32_t>& choice() const { return choice_; }
  const std::vector<double>& usage() const { return usage_; }
  int64_t work() const { return work_; }  // of the last passes
  DualAscent& dual() { return dual_; }
  const DualAscent& dual() const { return dual_; }

 private:
  void NoteBound(double bound);
  double Above(double upper) const;
  double Settle(double upper);
  void StepSettled(double upper);
  void Restart();
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
  bool settles_, converged_ = false;
  double near_;
  PriceBundle bundle_;
  double bound_at_restart_ = -kForbidden;
  std::optional<DualAscent> explorer_;
};

}  // namespace sbp
