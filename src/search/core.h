// The problem as the search works on it: what exact reductions have left of a CostNetwork. Costs are whole numbers in
// doubles, below 2^52 in sum so that every sum is exact; time is cut down to the steps that can exceed the limit.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "search/cost_network.h"
#include "search/matrices.h"

namespace sbp {

// A second of effort, in entries looked at: about what a processor does in one.
inline constexpr int64_t kSearchWorkPerSecond = 700'000'000;

struct Core {
  // Memory held by a node over the steps [begin, end), one number per candidate (the least of them is 0: what any
  // choice holds is taken from the limits). Whole numbers, so that sums of them are exact.
  struct Hold {
    int32_t begin = 0;
    int32_t end = 0;
    std::vector<double> usages;
  };
  struct Node {
    std::vector<double> costs;
    std::vector<Hold> holds;
    std::vector<int32_t> edges;
  };
  struct Edge {
    int32_t nodes[2] = {0, 0};
    MatrixId matrix = 0;  // rows: candidates of nodes[0]
  };
  // An edge as one of its ends sees it.
  struct Link {
    int32_t other = 0;
    int32_t edge = 0;
    const Matrix* by_other = nullptr;  // rows: candidates of the other end
    const Matrix* by_own = nullptr;    // rows: candidates of this end
  };
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<std::vector<Link>> links;                                      // per node
  std::shared_ptr<Matrices> shared_matrices = std::make_shared<Matrices>();  // with other cores: ReductionMemory
  std::vector<double> limits;                                                // per step, of what the holds take
  std::vector<int64_t> times;  // per step, a time of the network that it stands for
  double constant = 0;         // cost that no choice changes
  double scale = 1;            // cost here = scale * cost in units of the CostNetwork (rounded down if scale < 1)

  Matrices& matrices() const { return *shared_matrices; }
  int32_t size() const { return static_cast<int32_t>(nodes.size()); }
  int32_t steps() const { return static_cast<int32_t>(limits.size()); }
  int32_t candidates(int32_t node) const { return static_cast<int32_t>(nodes[node].costs.size()); }
};

// Fills what nodes know of their edges, from `edges`: Node::edges and `links`.
void MakeLinks(Core& core);
// Cost of a choice, the constant included, in the core's costs.
double CostOf(const Core& core, std::span<const int32_t> choice);
// Usage per step of what the holds take.
std::vector<double> UsageOf(const Core& core, std::span<const int32_t> choice);
// Sum over steps of what exceeds the limit.
double ExcessOf(const Core& core, std::span<const double> usage);

}  // namespace sbp
