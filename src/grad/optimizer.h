// What --optimizer names: a row of all_optimizers.cc, or an op of a user's rules. What an optimizer computes is
// text in rules/optimizer.rules, which also says what `grad` expects of such an op.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "grad/request.h"
#include "graph/graph.h"
#include "rule/rule_set.h"
#include "rule/syntax.h"

namespace sbp {

struct OptimizerRow {
  std::string_view name;      // as in --optimizer
  std::string_view matrices;  // the op that updates parameters of two and more dimensions
  std::string_view others;    // that of all others
  bool tables_apart = false;  // tables that are looked up in count as others
};
std::span<const OptimizerRow> AllOptimizers();  // all_optimizers.cc

// An op that updates one parameter, and its schema.
struct UpdateOp {
  std::string type;
  const OpOverload* schema = nullptr;  // of the rules, which outlive it
  Attributes attributes;
  bool decays = false;  // has an attribute weight_decay
};

struct Optimizer {
  UpdateOp matrices;  // of parameters of two and more dimensions
  UpdateOp others;    // of all others, and of tables if `tables_apart`
  bool tables_apart = false;
};

// Errors (kBadInput): an unknown optimizer or key, with the nearest known one; a value of the wrong kind; an op that
// lacks what every optimizer has; --weight-decay where none is an attribute; a type of states that is no float.
Result<Optimizer> ParseOptimizer(const OptimizerRequest& request, const RuleSet& rules);

// The names, for help: "none, sgd, ...".
std::string OptimizerNames();

// The op's states: operand S for each result next_S, in the schema's order.
std::vector<std::string> StatesOf(const OpOverload& schema);

}  // namespace sbp
