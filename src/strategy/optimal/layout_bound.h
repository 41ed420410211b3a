// A lower bound on the step time of every plan, over all candidates of all ops, in memory and time that grow with the
// sum of layouts and not with their products. (The network of layout_network.h is exact, but its tables have a line for
// each pair of layouts; on three and four mesh axes tensors have hundreds.)
//
// The step is a sum of factors: one per op (compute seconds of its candidate) and one per tensor (boxing from how it is
// written to what its readers want, and to how an output may be left). An op and a tensor share one variable per
// operand or result: its layout there. A message per variable moves cost between the two; whatever the messages are,
// the sum of the least values of all factors bounds every plan from below. Sweeps forward and backward over the factors
// in the order of the step raise it (block coordinate ascent; on a chain one sweep each way is exact).
//
// The least values of a tensor's factor are shortest paths in its LayoutGraph. One or two readers: exact, since a tree
// to two readers has one branch. More: readers share boxing, which is paid once; see TensorFactor in the source.
//
// An op whose candidate list was cut takes any layouts here and costs what its even share of the work would, so that
// the bound holds for the whole list too; a tensor of too many layouts takes nothing. Equal questions are asked once
// (equal layers of large models).
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "base/ids.h"
#include "problem/problem.h"
#include "strategy/optimal/candidate_lists.h"
#include "strategy/optimal/price_weights.h"
#include "strategy/strategy.h"

namespace sbp {

class LayoutBound {
 public:
  // `upper`: seconds of some plan (what the messages are measured by). `problem` and `lists` outlive this. Pins of
  // `lists` are kept. With weights it is one of the prices weighted so, `upper` and all figures too. `like`: one of the
  // same problem and lists by other weights, whose messages it begins with: it comes to rest sooner, and not quite
  // where it would else. Null: none.
  LayoutBound(const Problem& problem, const CandidateLists& lists, double upper, const PriceWeights& weights = {},
              const LayoutBound* like = nullptr);
  ~LayoutBound();
  LayoutBound(LayoutBound&&) noexcept;
  LayoutBound& operator=(LayoutBound&&) noexcept;

  // Sweeps until about that much work (steps of the innermost loops) is done, little is gained, or the bound is
  // `enough`.
  void Ascend(int64_t most_work, const std::function<bool()>& stop = {},
              double enough = std::numeric_limits<double>::infinity());

  // Seconds; no plan is faster. 0 before the first sweep.
  double bound() const;
  // Per candidate of the op's list: no plan with it is faster than bound() plus this. Infinity: no plan that is as fast
  // as `upper` has it.
  std::vector<double> Excess(OpId op) const;
  // Equal where Excess is equal, of two ops of equal lists.
  std::vector<int32_t> KeyOf(OpId op) const;

 private:
  class Ascent;
  std::unique_ptr<Ascent> ascent_;
};

}  // namespace sbp
