#include "graph/phases.h"

#include <string_view>

namespace sbp {
namespace {

bool IsBelow(std::string_view scope, std::string_view above) {
  return scope.starts_with(above) && (scope.size() == above.size() || scope[above.size()] == '/');
}

}  // namespace

Phase PhaseOfScope(std::string_view scope) {
  if (IsBelow(scope, kBackwardScope)) return Phase::kBackward;
  return IsBelow(scope, kOptimizerScope) ? Phase::kOptimizer : Phase::kForward;
}

std::string_view PhaseName(Phase phase) {
  switch (phase) {
    case Phase::kForward:
      return "forward";
    case Phase::kBackward:
      return kBackwardScope;
    case Phase::kOptimizer:
      return kOptimizerScope;
  }
  return "";
}

}  // namespace sbp
