// What a training step computes again for its backward pass (remat/recompute.h), told by scopes.
#pragma once

#include <string_view>

#include "graph/graph.h"

namespace sbp {

// Before the name of an op or tensor that is computed again.
inline constexpr std::string_view kAgain = "again/";
// Scope of such ops, their own behind it: a part of the backward pass (graph/phases.h).
inline constexpr std::string_view kAgainScope = "backward/again";

inline bool IsAgain(const Graph& graph, const Op& op) {
  const std::string_view scope = graph.scope_of(op);
  return scope.starts_with(kAgainScope) && (scope.size() == kAgainScope.size() || scope[kAgainScope.size()] == '/');
}

// The name of what is computed again; any other name as it is.
inline std::string_view WithoutAgain(std::string_view name) {
  if (name.starts_with(kAgain)) name.remove_prefix(kAgain.size());
  return name;
}

}  // namespace sbp
