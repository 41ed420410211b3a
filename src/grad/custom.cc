#include "grad/custom.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "decompose/decompose.h"
#include "rule/rule_set.h"
#include "rule/syntax.h"

namespace sbp {

Result<std::vector<std::string>> ExpandedOps(const std::string& custom, const RuleSet& rules) {
  if (custom.empty() || custom == "all") return std::vector<std::string>();
  std::vector<std::string> expanded = {"*"};
  if (custom == "none") return expanded;
  for (const std::string_view part : Split(custom, ',')) {
    const std::string op(Trim(part));
    const OpDefinition* definition = rules.Find(op);
    if (definition == nullptr) {
      std::vector<std::string> names = rules.Names();
      names.insert(names.end(), {"all", "none"});
      return BadInput(StrCat("--custom-vjp: no op ", Quote(op), " is known", DidYouMean(op, names)));
    }
    const bool has_vjp =
        std::ranges::any_of(definition->overloads, [](const OpOverload& o) { return !o.vjps.empty(); });
    if (!has_vjp || !HasExpansion(op, rules)) {
      return BadInput(StrCat("--custom-vjp: ", op,
                             has_vjp ? " has no expansion: its vjp is used in any case" : " has no vjp of its own"));
    }
    expanded.push_back("!" + op);
  }
  return expanded;
}

}  // namespace sbp
