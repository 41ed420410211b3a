// The ops that the text of an expansion calls by name.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "rule/rule_set.h"

namespace sbp {

inline void CollectCalls(const Expression& node, std::set<std::string>& calls) {
  if (node.kind == Expression::Kind::kOpCall) calls.insert(node.text);
  for (const Expression& argument : node.arguments) CollectCalls(argument, calls);
}

inline void CollectCalls(const std::vector<ExpansionStatement>& body, std::set<std::string>& calls) {
  for (const ExpansionStatement& statement : body) {
    CollectCalls(statement.value, calls);
    CollectCalls(statement.body, calls);
  }
}

}  // namespace sbp
