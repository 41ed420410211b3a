// Vector-Jacobian products of ops: from cotangents of results to those of operands, as graphs. The text stands in `vjp`
// blocks of rules/*.rules; its meaning: rules/README.md, "Derivatives".
#pragma once

#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "graph/graph.h"
#include "rule/rule_set.h"

namespace sbp {

// An op and what is asked of it. `query.wanted` says which results there are: a `when` of a vjp is judged by them.
struct VjpQuery {
  OpQuery query;
  std::vector<bool> reached;  // per result: has it a cotangent?
  std::vector<bool> wanted;   // per operand: is its cotangent asked for?
  size_t results = 0;         // a vjp may read any of so many results, also of those that there are not; 0: only these
};

// A graph with one input for each present operand, then for each result that may be read, followed by its cotangent
// where that is reached, in their order.
struct Vjp {
  Graph graph;
  std::vector<TensorId> operands, results, cotangents;  // inputs of the graph; invalid: none
  std::vector<TensorId> gradients;                      // per operand; invalid: zero, or not asked for
  std::vector<bool> reads_result;                       // per result: is it kept from the forward pass?
};

// Has the op, in this form, a vjp of its own? One that reads values which are not known has none.
bool HasVjp(const OpQuery& query, const RuleSet& rules);

// Errors (kBadInput), which name the op: it has none; what EvaluateVjp says.
Result<Vjp> ExpandVjp(const VjpQuery& query, const RuleSet& rules);

}  // namespace sbp
