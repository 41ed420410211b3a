// Names of the ways to execute a graph.
#include <optional>
#include <string_view>

#include "cluster/cluster.h"

namespace sbp {

std::string_view ExecutionName(Execution execution) { return kExecutionNames[static_cast<size_t>(execution)]; }

std::optional<Execution> ParseExecution(std::string_view text) {
  for (const Execution execution : {Execution::kEager, Execution::kFused}) {
    if (ExecutionName(execution) == text) return execution;
  }
  return std::nullopt;
}

}  // namespace sbp
