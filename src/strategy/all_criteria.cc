#include "strategy/all_criteria.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/text.h"

namespace sbp {
namespace {

constexpr CriterionRow kCriteria[] = {
    {"order-value", "order value", "prefers inputs as produced, then splits of the batch axis", ChooseByOrderValue,
     OrderValueTerms},
    {"copy-cost", "copied bytes", "most inputs as produced, then least bytes to copy", ChooseByCopyCost, CopyCostTerms},
    {"bytes", "bytes", "least bytes that boxing of the inputs moves", ChooseByBytes, BytesTerms},
    {"time", "seconds", "least seconds: boxing of the inputs and the op itself", ChooseByTime, TimeTerms},
};

}  // namespace

std::span<const CriterionRow> AllCriteria() { return kCriteria; }

Result<const CriterionRow*> FindCriterion(std::string_view name) {
  std::vector<std::string> names;
  for (const CriterionRow& row : kCriteria) {
    if (row.name == name) return &row;
    names.emplace_back(row.name);
  }
  return UsageError(StrCat("unknown cost ", Quote(name), "; known are ", Join(names, ", "), DidYouMean(name, names)));
}

}  // namespace sbp
