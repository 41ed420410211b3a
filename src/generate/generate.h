// Generators of graphs: for tests, benchmarks and first tries. Resolved graphs; the same options give the same graph.
#pragma once

#include <span>
#include <string_view>

#include "base/status.h"
#include "generate/options.h"
#include "graph/graph.h"

namespace sbp {

struct GeneratorRow {
  std::string_view name;
  std::string_view doc;
  Result<Graph> (*make)(const GenerateOptions& options);
  bool has_sizes = false;  // else of `ops` alone
};
std::span<const GeneratorRow> AllGenerators();
Result<Graph> GenerateGraph(std::string_view family, const GenerateOptions& options);

}  // namespace sbp
