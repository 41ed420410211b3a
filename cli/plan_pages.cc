#include "cli/plan_pages.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string>
#include <string_view>

#include "api/plan_file.h"
#include "pipeline/pipeline.h"
#include "rule/rule_set.h"

namespace sbp {
namespace {

// Without the folder, which is not part of what the page says; "" of stdin.
std::string FileOf(const std::string& where) {
  return where == "-" ? "" : std::filesystem::path(where).filename().string();
}

}  // namespace

Result<std::string> PageOf(const Plan& plan, const std::string& where, const TraceFile* trace) {
  SBP_ASSIGN_OR_RETURN(const RuleSet rules, RulesOfPlan(plan));
  if (plan.mesh.num_axes() > 0) SBP_RETURN_IF_ERROR(RefuseWrongPlan(plan, rules, where));
  return PageOfPlan(plan, rules, trace, FileOf(where));
}

Result<std::string> PageOf(const Plan& before, const std::string& where_before, const Plan& after,
                           const std::string& where_after) {
  SBP_ASSIGN_OR_RETURN(const RuleSet rules_before, RulesOfPlan(before));
  SBP_ASSIGN_OR_RETURN(const RuleSet rules_after, RulesOfPlan(after));
  SBP_RETURN_IF_ERROR(RefuseWrongPlan(before, rules_before, where_before));
  SBP_RETURN_IF_ERROR(RefuseWrongPlan(after, rules_after, where_after));
  return PageOfPlans(before, rules_before, after, rules_after, FileOf(where_before), FileOf(where_after));
}

bool IsPagePath(std::string_view path) {
  const auto ends_with = [path](std::string_view ending) {
    if (path.size() < ending.size()) return false;
    return std::ranges::equal(path.substr(path.size() - ending.size()), ending,
                              [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
  };
  return ends_with(".html") || ends_with(".htm");
}

}  // namespace sbp
