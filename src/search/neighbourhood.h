// Large-neighbourhood search: frees the nodes of a random forest in the graph, all others fixed, and solves that part
// again by dynamic programming over the forest, with multipliers of its own for the memory that the others leave. A
// part's dual value says when it cannot be improved.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/blend.h"
#include "search/core.h"
#include "search/kernels.h"
#include "search/part_memory.h"
#include "search/random.h"

namespace sbp {

class NeighbourhoodSearch {
 public:
  NeighbourhoodSearch(const Core& core, uint64_t seed);

  // Where the search stands. A choice that exceeds limits is allowed: less excess comes before less cost.
  void SetChoice(std::span<const int32_t> choice);
  // The best choice since.
  const std::vector<int32_t>& choice() const { return record_; }
  double cost() const { return record_cost_; }
  double excess() const { return record_excess_; }
  // First guesses of the multipliers, one per step of the core.
  void SetMultipliers(std::span<const double> multipliers);

  // Frees one random part and solves it; returns the work done.
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
  void LocalCosts();
  double SolveForest();
  Outcome Solve(const Outcome& start);
  void Record();
  Outcome BlendInto(std::span<const int32_t> base, std::vector<int32_t>& tried);
  Outcome Score(std::span<const int32_t> choice);

  const Core& core_;
  Random random_;
  std::vector<int32_t> choice_;
  double cost_ = 0;
  double excess_ = 0;
  std::vector<int32_t> record_;  // the best choice
  double record_cost_ = 0;
  double record_excess_ = 0;
  double leeway_ = 0;  // how much more than now the choice may cost
  PartMemory memory_;
  std::vector<int32_t> priced_steps_;  // steps with a multiplier

  // The part at hand.
  std::vector<Member> members_;
  std::vector<int32_t> nodes_;     // of the members
  std::vector<int32_t> place_of_;  // of a node among the members; -1
  std::vector<int32_t> roots_;     // scratch
  std::vector<int32_t> root_of_;   // union-find over members while the forest grows
  std::vector<int32_t> begin_;     // of a member's candidates in the arrays below
  std::vector<double> local_, totals_, messages_, row_scratch_;
  LineScratch line_scratch_;
  Blend blend_;
  std::vector<int32_t> piece_of_;  // of a member; -1: it is the same in both choices
  std::vector<double> base_used_;
  std::vector<int32_t> before_, tried_, mixed_, best_;
  int64_t work_ = 0;
};

}  // namespace sbp
