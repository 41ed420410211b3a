// Exact reductions: the core of a problem whose optimum is the optimum of the whole, and the way back. In turn, until
// nothing changes:
//  * candidates that no neighbour can go with are dropped;
//  * a node whose candidate follows from a neighbour's is merged into that neighbour, memory included;
//  * edges that are a sum of two vectors become node costs, parallel edges one edge;
//  * candidates that another one of the node beats whatever the neighbours do, in cost and in memory, are dropped;
//  * nodes without memory and with at most two neighbours are eliminated (min-sum), unless their tables are very large.
// Time steps whose limit cannot be exceeded, or is implied by another step's, are dropped.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "base/status.h"
#include "search/core.h"
#include "search/cost_network.h"
#include "search/domination.h"
#include "search/matrices.h"

namespace sbp {

// What reductions have done, for later ones of networks that differ little: those that share edges but not memory, say.
// They find the same, in a fraction of the time. As large as what they made together, so it is for few of them.
class ReductionMemory {
 public:
  ReductionMemory() = default;

 private:
  friend class Reducer;
  std::shared_ptr<Matrices> matrices_ = std::make_shared<Matrices>();
  Domination domination_{*matrices_};
};

class Reduction {
 public:
  struct Options {
    // Once it says so (it may be empty), domination and elimination end where they are: the core is larger, and no less
    // exact.
    std::function<bool()> stop;
    int32_t kept_node = -1;  // is not eliminated and loses no candidates to others, so that each can be asked about
    ReductionMemory* memory = nullptr;  // used, and added to; null: of this one alone
  };
  // NoPlan when a node has no candidate left, naming it.
  static Result<Reduction> Of(const CostNetwork& network, const Options& options);
  static Result<Reduction> Of(const CostNetwork& network) { return Of(network, Options()); }

  const Core& core() const { return core_; }
  // One candidate per node of the network, from one per node of the core.
  std::vector<int32_t> Expand(std::span<const int32_t> core_choice) const;
  // Lower bounds on the cost with each candidate forced, for the network's from those for the core's, both in the
  // core's costs; kForbidden where nothing feasible is left. `node`: that of this one alone is filled; -1: all are.
  std::vector<std::vector<double>> ExpandForced(std::span<const std::vector<double>> core_forced,
                                                int32_t node = -1) const;
  // The way there: a choice of the core that costs no more. Where a candidate was dropped because nothing can go with
  // it, any other one stands in.
  std::vector<int32_t> Contract(std::span<const int32_t> choice) const;

 private:
  friend class Reducer;
  struct Kept {  // candidate `i` of `node` was candidate kept[i] before
    int32_t node;
    MapId kept;
    MapId instead;  // of each candidate before: which one now is as good, -1 if none
  };
  struct Follows {  // the candidate of `node` is map[candidate of `of`]
    int32_t node, of;
    MapId map;
    int32_t candidates;  // of `node`
  };
  struct Best {  // the best candidate of `node` beside those of its neighbours (-1: none)
    int32_t node, neighbours[2];
    // What was minimised: costs of the node and of its edges (rows: its candidates; -1: none), and the result: per
    // candidate of the one neighbour, or (`total`) of both.
    std::vector<double> costs;
    MatrixId edges[2];
    std::vector<double> least;
    MatrixId total;
    double offset;  // what was taken from all entries of `total`
  };
  std::vector<char> NeededFor(int32_t node) const;  // what its way back passes through; all for -1
  std::vector<double> ForcedEliminated(const Best& step, std::span<const std::vector<double>> forced) const;
  using Step = std::variant<Kept, Follows, Best>;

  Core core_;
  std::vector<int32_t> network_node_;  // of a core node
  size_t network_size_ = 0;
  std::vector<Step> steps_;  // in the order made; undone backwards
};

}  // namespace sbp
