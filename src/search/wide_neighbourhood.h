// Neighbourhoods of nearly everything: of each node the candidates that the bound favours are free, and only as many
// nodes stay fixed (those that many others hang on, sometimes at another candidate than now) as keep the tables of
// elimination small. Forests (neighbourhood.h) leave choices in place that only change together around a cycle; this
// changes them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/core.h"
#include "search/dual.h"
#include "search/eliminate.h"
#include "search/random.h"

namespace sbp {

class WideNeighbourhoods {
 public:
  WideNeighbourhoods(const Core& core, uint64_t seed) : core_(core), random_(seed), place_of_(core.nodes.size(), -1) {}

  // What steers the next steps: bounds on the cost with each candidate forced (they are copied: the dual may go on),
  // and a price of memory per step of time.
  void SetGuide(const DualAscent& dual, std::span<const double> multipliers);

  // Solves one part of `choice` again. `tried` is as good by cost and price of memory, or worse where a fixed node was
  // given another candidate; its own cost and memory are for the caller to judge. Returns the work done.
  int64_t Step(std::span<const int32_t> choice, std::vector<int32_t>& tried);

 private:
  void Region();
  void Candidates(std::span<const int32_t> choice, int32_t most);
  void FixSome();
  void Disturb(std::vector<int32_t>& tried);
  void Costs(std::span<const int32_t> tried);

  const Core& core_;
  Random random_;
  std::vector<std::vector<double>> forced_;
  std::vector<double> price_sum_;  // of memory, up to each step
  EliminationPart part_;
  std::vector<int32_t> fixed_;  // nodes of the region that are not in part_
  std::vector<std::vector<int32_t>> fixed_candidates_;
  std::vector<int32_t> place_of_;  // of a node in part_; -1
};

}  // namespace sbp
