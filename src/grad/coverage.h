// Which ops of a model have a derivative, and how it is had.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "rule/rule_set.h"

namespace sbp {

// The ops of one type that lie between a float parameter or input and a float output.
struct DerivativeRow {
  enum class By { kNothing, kExpansion, kVjp };
  std::string op;
  int64_t count = 0;
  By by = By::kNothing;
  std::string why;  // of kNothing: what is in the way, or what its paragraph lacks
};

struct DerivativeCoverage {
  std::vector<DerivativeRow> rows;  // by op; where the ops of one type differ, those without a derivative apart
  int64_t covered = 0, total = 0;   // ops
  int64_t beside = 0;               // ops that no gradient passes
};

// Of a resolved graph: every op is asked in the form in which it stands there, and so is what it expands to.
DerivativeCoverage DerivativesOf(const Graph& graph, const RuleSet& rules);

// Of a graph whose sizes are not known: by types of ops alone.
DerivativeCoverage DerivativesByType(const Graph& graph, const RuleSet& rules);

}  // namespace sbp
