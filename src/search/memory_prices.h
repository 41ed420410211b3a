// Prices of memory at moments of a network, from one core of it to another: limits that differ leave other steps.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/core.h"

namespace sbp {

// What holding one unit of usage at that time costs where the bound is best: in the problem's numbers, above 0.
struct MemoryPrice {
  int64_t time = 0;
  double price = 0;
};

// Of multipliers, one per step of the core (whose times ascend): those above 0, by time.
std::vector<MemoryPrice> PricesOfNetwork(std::span<const double> multipliers, const Core& core, double unit);

// The way back: one per step of the core. What a step paid that is none here, the nearest one pays.
std::vector<double> PricesOfCore(std::span<const MemoryPrice> prices, const Core& core, double unit);

}  // namespace sbp
