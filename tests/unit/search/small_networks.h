// Small problems, generated, and their answer by trying everything.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "search/core.h"
#include "search/cost_network.h"
#include "search/random.h"

namespace sbp {

struct SmallNetworkOptions {
  int most_nodes = 7;
  int most_candidates = 4;
  double forbidden = 0.2;   // share of forbidden entries
  double one_to_one = 0.2;  // share of edges that tie their ends
  double edges_per_node = 1.4;
  bool memory = true;
  double tightness = 0.6;  // limit between the least and the most that can be held, as a share (about)
  bool fractions = false;
  double forms = 0;  // share of edges whose table is smaller than their ends
};

CostNetwork SmallNetwork(uint64_t seed, const SmallNetworkOptions& options);

// The least cost of all feasible choices, in units; nothing if there is none.
std::optional<int64_t> BruteForce(const CostNetwork& network);
// The same with one candidate forced.
std::optional<int64_t> BruteForce(const CostNetwork& network, int32_t node, int32_t candidate);
// The smallest peak of the choices that are not forbidden; nothing if all are.
std::optional<int64_t> SmallestPeakByBruteForce(const CostNetwork& network);
// The least cost of the core, in units of the problem, by trying everything; kForbidden if there is none.
double BruteForceCore(const Core& core, std::vector<int32_t>& best);

}  // namespace sbp
