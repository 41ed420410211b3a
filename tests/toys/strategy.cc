// A strategy with an option of its own: of the signatures allowed, always the same one.
#include "base/text.h"
#include "strategy/walk.h"

namespace sbp {
namespace {

constexpr StrategyOption kOptions[] = {{"whim", OptionKind::kCount, "N", "which signature, of those allowed", 0, 100}};

Result<Assignment> Solve(const Problem& problem, const StrategyOptions& options) {
  const auto whim = options.values.find("whim");
  const int64_t number = whim == options.values.end() ? 0 : std::get<int64_t>(whim->second);
  const auto decide = [&](const CriterionQuery& query) {
    const uint32_t candidate = query.allowed[static_cast<size_t>(number) % query.allowed.size()];
    return Walk::Decision{{.candidate = candidate}, StrCat("whim ", number)};
  };
  SBP_ASSIGN_OR_RETURN(Assignment assignment, Walk(problem, options).Run(InitialSourceLayouts(problem), decide));
  assignment.price_unit = "whims";
  return assignment;
}

}  // namespace

StrategyRow ToyStrategy() {
  return {.name = "toy",
          .doc = "always the same signature",
          .options = kOptions,
          .unit = "whims",
          .has_bound = false,
          .solve = Solve};
}

}  // namespace sbp
