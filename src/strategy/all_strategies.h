// The rows of all_strategies.cc; each stands in the file of its strategy.
#pragma once

#include "strategy/strategy.h"

namespace sbp {

StrategyRow OptimalStrategy();
StrategyRow GreedyStrategy();
StrategyRow EinsumStrategy();
StrategyRow ReplicateStrategy();
StrategyRow FixedStrategy();

}  // namespace sbp
