// Who holds memory at a time step, for messages about problems that do not fit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/cost_network.h"

namespace sbp {

struct Holder {
  int32_t node;
  int64_t usage;
};

// Nodes that hold something at time `time` under `choice`, most first; equal ones in order.
std::vector<Holder> HoldersAt(const CostNetwork& network, std::span<const int32_t> choice, int64_t time);

}  // namespace sbp
