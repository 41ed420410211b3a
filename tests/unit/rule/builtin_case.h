// Rows about built-in ops: an op on operand types and attributes; its results and its candidates on one mesh axis.
#pragma once

#include <string>
#include <vector>

#include "rule/rule_set.h"

namespace sbp {

struct BuiltinCase {
  std::string op;
  // "f32[4,8]"; "-": absent; "i64[2] = 1 2": with its value.
  std::vector<std::string> operands;
  // "axis=1 mode=sum alpha=0.5 axes=[0,2]"
  std::string attributes;
  int results = 1;
  // Result types, then the candidates on x=2, all-B left out: "f32[4,8] | S(0) -> S(0)".
  std::string expected;
};

const RuleSet& BuiltinRules();
// What `expected` is compared with; an error's message where the rules refuse the question.
std::string Ask(const BuiltinCase& question);
// EXPECT_EQ of every row, named by its op and place.
void ExpectAll(const std::vector<BuiltinCase>& cases);

}  // namespace sbp
