#include "strategy/all_strategies.h"

#include "base/text.h"

namespace sbp {
namespace {

constexpr StrategyRow kStrategies[] = {
    {"optimal", "all signatures together, least time under the memory limit, with a lower bound", SolveOptimal},
    {"greedy", "one walk in topological order; each op takes its best candidate by --cost", SolveGreedy},
    {"einsum", "pins spread forward and backward through the factors of each op", SolveEinsum},
    {"replicate", "everything whole on every device", SolveReplicate},
    {"fixed", "an assignment given with --assignment, priced again", SolveFixed},
};

}  // namespace

std::span<const StrategyRow> AllStrategies() { return kStrategies; }

Result<const StrategyRow*> FindStrategy(std::string_view name) {
  std::vector<std::string> names;
  for (const StrategyRow& row : kStrategies) {
    if (row.name == name) return &row;
    names.emplace_back(row.name);
  }
  return UsageError(
      StrCat("unknown strategy ", Quote(name), "; known are ", Join(names, ", "), DidYouMean(name, names)));
}

}  // namespace sbp
