// One op as a line of text, for tables of tests: `Gather(f32[8,4], i64[3]{0,2,1}, axis=1)`. Operands are types, with
// values in braces where they are known, or `-` where absent; attributes are NAME=VALUE, a number, [list] or "string".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rule/candidates.h"
#include "rule/rule_set.h"

namespace sbp {

// The built-in rules, read once; aborts the test when they do not parse.
const RuleSet& BuiltinRules();

// Asks the rules about the op with `results` results. The instance's own text keeps the operands alive.
Result<RuleInstanceRef> AskOp(std::string_view call, size_t results = 1);

// "f32[2,3], i64[2]": the results' types; an unwanted one as "-".
std::string ResultTypes(const RuleInstance& instance);

// The candidates on one mesh axis of two, all-B apart: "S(0), B -> S(0) | B, S(1) -> S(1)".
std::string CandidatesOnTwo(const RuleInstanceRef& instance);

// A row of a table: an op, the types of its results, its candidates.
struct OpRow {
  std::string_view call;
  std::string_view types;
  std::string_view candidates;
  size_t results = 1;
};
// Compares each row with what the rules say.
void ExpectRows(const std::vector<OpRow>& rows);

}  // namespace sbp
