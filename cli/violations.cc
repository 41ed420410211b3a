#include "cli/violations.h"

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace sbp {

std::string FormatViolations(const std::vector<Violation>& violations) {
  constexpr size_t kShown = 10;  // a screen; --format json has them all
  std::string text;
  for (size_t i = 0; i < violations.size() && i < kShown; ++i) {
    const Violation& v = violations[i];
    text += StrCat(v.where, ": ", v.what, "\n");
    if (!v.expected.empty()) text += StrCat("    expected: ", v.expected, "\n");
    if (!v.found.empty()) text += StrCat("    found:    ", v.found, "\n");
  }
  if (violations.size() > kShown) text += StrCat("... and ", violations.size() - kShown, " more\n");
  return text + StrCat(violations.size(), violations.size() == 1 ? " violation" : " violations");
}

nlohmann::ordered_json ViolationsJson(const std::vector<Violation>& violations) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Violation& v : violations) {
    list.push_back({{"where", v.where}, {"what", v.what}, {"expected", v.expected}, {"found", v.found}});
  }
  return list;
}

}  // namespace sbp
