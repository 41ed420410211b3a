// Large-neighbourhood search: frees the nodes of a random forest in the graph, all others fixed, and solves that part
// again by dynamic programming over the forest, with multipliers of its own for the memory that the others leave. A
// part's dual value says when it cannot be improved.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/core.h"
#include "search/kernels.h"
#include "search/random.h"

namespace sbp {

class NeighbourhoodSearch {
 public:
  NeighbourhoodSearch(const Core& core, uint64_t seed);

  // Where the search stands. A choice that exceeds limits is allowed: less excess comes before less cost.
  void SetChoice(std::span<const int32_t> choice);
  const std::vector<int32_t>& choice() const { return choice_; }
  double cost() const { return cost_; }
  double excess() const { return excess_; }
  // First guesses of the multipliers, one per step of the core.
  void SetMultipliers(std::span<const double> multipliers);

  // Frees one random part and solves it; returns the work done. The choice gets no worse.
  int64_t Step();

 private:
  struct Member {
    int32_t node;
    int32_t parent = -1;       // place among the members
    int32_t parent_link = -1;  // of the node, to the parent
  };
  struct Outcome {
    double excess = 0;
    double cost = 0;
    bool Better(const Outcome& other) const {
      return excess < other.excess || (excess == other.excess && cost < other.cost);
    }
  };

  int32_t Seed();
  void Grow(int32_t size);
  bool Joins(int32_t node);
  int32_t Root(int32_t place);
  void Orient();
  void FreeMemory();
  void LocalCosts();
  double SolveForest();
  Outcome Score(std::span<const int32_t> choice);
  bool AdjustMultipliers(double gap);
  void Put(std::span<const int32_t> choice);

  const Core& core_;
  Random random_;
  std::vector<int32_t> choice_;
  std::vector<double> usage_;
  double cost_ = 0;
  double excess_ = 0;
  std::vector<double> multipliers_;
  std::vector<int32_t> priced_steps_;  // steps with a multiplier

  // The part at hand.
  std::vector<Member> members_;
  std::vector<int32_t> place_of_;           // of a node among the members; -1
  std::vector<int32_t> root_of_;            // union-find over members while the forest grows
  int32_t first_step_ = 0, last_step_ = 0;  // the steps that members hold memory at
  std::vector<double> others_;              // usage by the others, at steps [first_step_, last_step_)
  std::vector<double> part_usage_;          // by the members' tried choice
  std::vector<double> prices_, price_sum_;
  std::vector<int32_t> begin_;  // of a member's candidates in the arrays below
  std::vector<double> local_, totals_, messages_, row_scratch_;
  LineScratch line_scratch_;
  std::vector<int32_t> tried_, best_;
  int64_t work_ = 0;
};

}  // namespace sbp
