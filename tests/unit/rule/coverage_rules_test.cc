// The built-in rules as a whole: how many there are, and that each explains itself.
#include <gtest/gtest.h>

#include "unit/rule/builtin_case.h"

namespace sbp {
namespace {

TEST(BuiltinRules, KnowEnoughOps) { EXPECT_GE(BuiltinRules().ops().size(), 170u); }

TEST(BuiltinRules, HaveDocs) {
  for (const auto& [name, definition] : BuiltinRules().ops()) {
    for (const OpOverload& overload : definition.overloads) {
      EXPECT_FALSE(overload.doc.empty()) << name;
      EXPECT_FALSE(overload.rules.empty()) << name;
    }
  }
}

// `rule whole` says that nothing can be split: it must say why.
TEST(BuiltinRules, GiveReasons) {
  for (const auto& [name, definition] : BuiltinRules().ops()) {
    for (const OpOverload& overload : definition.overloads) {
      for (const RuleLine& line : overload.rules) {
        if (!line.whole) continue;
        bool reason = false;
        for (const RuleClause& clause : line.clauses) reason |= clause.kind == "because" && !clause.text.empty();
        EXPECT_TRUE(reason) << name;
      }
    }
  }
}

}  // namespace
}  // namespace sbp
