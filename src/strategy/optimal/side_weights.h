// Prices by which the search for a short schedule (overlap_search.h) tells the two sides of a step apart.
//
// Before the turn of a training step (turn.h) weights are gathered faster than they are computed with, or slower;
// behind it sums of gradients are. Where collectives have more to do, a second of compute costs next to nothing and one
// of them all of it; where compute has, it is the other way round. Each side has its l, as in schedule_forms.h: compute
// counts l, what may be sent ahead of its use or long after it is made 1 - l o. After each schedule l moves by what of
// that side's time compute takes more than o times the collectives do (a step along the subgradient of the bound by
// forms (1)), by less and less. Activations wait for what makes them and are waited for: what of them a schedule has
// exposed counts in full.
#pragma once

#include <functional>
#include <vector>

#include "base/ids.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "schedule/schedule.h"
#include "strategy/optimal/price_weights.h"
#include "strategy/optimal/schedule_forms.h"

namespace sbp {

class SideWeights {
 public:
  // `landmarks`: whose turn it is; without one the step has one side. Both must outlive this.
  SideWeights(const Problem& problem, const Landmarks& landmarks);

  // Moves both l by a plan, evaluated, and its schedule.
  void Move(const Plan& plan, const Schedule& schedule);
  // `exposed`: what share of the collectives on a tensor schedules have exposed; asked for activations alone.
  PriceWeights Weights(const std::function<double(TensorId)>& exposed) const;

 private:
  void FindActivations();

  const Problem& problem_;
  const Landmarks& landmarks_;
  const double overlap_;
  std::vector<bool> is_activation_;  // per tensor
  double before_ = 1, behind_ = 1;   // l
  double pace_ = 1;
};

}  // namespace sbp
