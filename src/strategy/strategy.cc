#include "strategy/strategy.h"

#include <algorithm>

#include "base/text.h"

namespace sbp {
namespace {

template <typename Matches>
const StrategyOption* FindOption(const StrategyRow& row, Matches matches) {
  const auto found = std::ranges::find_if(row.options, matches);
  return found == row.options.end() ? nullptr : &*found;
}

}  // namespace

Result<const StrategyRow*> FindStrategy(std::string_view name) {
  std::vector<std::string> names;
  for (const StrategyRow& row : AllStrategies()) {
    if (row.name == name) return &row;
    names.emplace_back(row.name);
  }
  return UsageError(
      StrCat("unknown strategy ", Quote(name), "; known are ", Join(names, ", "), DidYouMean(name, names)));
}

const StrategyOption* OptionOfKind(const StrategyRow& row, OptionKind kind) {
  return FindOption(row, [&](const StrategyOption& option) { return option.kind == kind; });
}

const StrategyOption* OptionNamed(const StrategyRow& row, std::string_view name) {
  return FindOption(row, [&](const StrategyOption& option) { return option.name == name; });
}

std::string_view CriterionOf(std::string_view strategy, std::string_view criterion) {
  const auto row = FindStrategy(strategy);
  return row.ok() && OptionOfKind(**row, OptionKind::kCriterion) != nullptr ? criterion : std::string_view();
}

}  // namespace sbp
