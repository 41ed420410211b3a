#include "strategy/optimal/search_options.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/text.h"

namespace sbp {
namespace {

constexpr double kMoreEffort = 20;  // times
constexpr std::string_view kObjectives[] = {"schedule", "sum"};
constexpr std::string_view kOpOrders[] = {kGivenOrder, kShortestOrder};

constexpr StrategyOption kSearchOptions[] = {
    {"effort", OptionKind::kNumber, "X", "amount of work, about seconds of one processor", 0, 1e9},
    {"time", OptionKind::kNumber, "S",
     "seconds of searching, in place of --effort; with --devices or --remat auto of all plans together, though each "
     "mesh is looked at",
     0.001, 1e9},
    {"gap", OptionKind::kShare, "SHARE", "good enough, such as 1% [0.9%]"},
    {"uniform", OptionKind::kShareOrOff, "SHARE|off",
     "repeated layers are laid out alike, unless a mix is cheaper by more than SHARE [1%]"},
    {"threads", OptionKind::kCount, "N", "the plan does not depend on it, unless --time is given", 1, 1024},
    {
        "objective",
        OptionKind::kName,
        "schedule|sum",
        "what is least: the step with compute and collectives side by side, or the sum of their times [schedule]",
    },
    {
        "op-order",
        OptionKind::kName,
        "given|shortest",
        "in which a step runs ops: the graph's, or one in which what is read late, as gradients of weights, hides "
        "collectives, in twice the time of planning [given]",
    },
    {"seed", OptionKind::kSeed, "N", "of its random choices"},
    {"start", OptionKind::kStart, "PLAN", "an earlier plan to begin with, ops matched by name; pins override"},
    {"log", OptionKind::kLog, "FILE", "cost and bound over time, as CSV"},
};

// A value of another type than the option's is a defect of the caller's; it counts as absent.
template <typename T>
T ValueOr(const StrategyOptions& options, std::string_view name, T otherwise) {
  const auto found = options.values.find(name);
  const T* value = found == options.values.end() ? nullptr : std::get_if<T>(&found->second);
  return value == nullptr ? otherwise : *value;
}

// Of an option that names one of `names`, the first one by default.
Status CheckName(const StrategyOptions& options, std::string_view option, std::span<const std::string_view> names) {
  const std::string name = ValueOr(options, option, std::string(names[0]));
  if (std::ranges::find(names, name) != names.end()) return OkStatus();
  const std::vector<std::string> known(names.begin(), names.end());
  return UsageError(
      StrCat("--", option, " ", Quote(name), ": expected ", Join(known, " or "), DidYouMean(name, known)));
}

}  // namespace

std::span<const StrategyOption> AllSearchOptions() { return kSearchOptions; }

SearchOptions SearchOptionsOf(const StrategyOptions& options) {
  SearchOptions search;
  search.effort = ValueOr(options, "effort", search.effort);
  search.seconds = ValueOr(options, "time", search.seconds);
  search.gap = ValueOr(options, "gap", search.gap);
  search.uniform = ValueOr(options, "uniform", search.uniform);
  search.threads = static_cast<int>(ValueOr<int64_t>(options, "threads", search.threads));
  search.seed = ValueOr(options, "seed", search.seed);
  search.objective = ValueOr(options, "objective", std::string(kObjectives[0])) == kObjectives[0] ? Objective::kSchedule
                                                                                                  : Objective::kSum;
  search.reorders = ValueOr(options, "op-order", std::string(kOpOrders[0])) != kOpOrders[0];
  return search;
}

Status CheckSearchOptions(const StrategyOptions& options) {
  const bool both = options.values.contains("effort") && options.values.contains("time");
  if (both) return UsageError("--effort and --time: one of them says when to stop");
  SBP_RETURN_IF_ERROR(CheckName(options, "objective", kObjectives));
  return CheckName(options, "op-order", kOpOrders);
}

SearchGoal GoalOfSearch(const StrategyOptions& options) {
  const SearchOptions search = SearchOptionsOf(options);
  if (search.seconds > 0) return {search.gap, StrCat("--time ", FormatDouble(kMoreEffort * search.seconds))};
  const double effort = std::max(kMoreEffort, kMoreEffort * search.effort);
  return {search.gap, StrCat("--effort ", FormatDouble(effort))};
}

}  // namespace sbp
