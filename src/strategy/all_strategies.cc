#include "strategy/all_strategies.h"

#include <span>

namespace sbp {

std::span<const StrategyRow> AllStrategies() {
  static const StrategyRow kRows[] = {
      OptimalStrategy(), GreedyStrategy(), EinsumStrategy(), ReplicateStrategy(), FixedStrategy(),
  };
  return kRows;
}

}  // namespace sbp
