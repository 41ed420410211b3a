// Generators of graphs, and of layout problems: for tests, benchmarks and first tries. Resolved graphs; the same
// options give the same.
#pragma once

#include <span>
#include <string_view>

#include "base/status.h"
#include "generate/options.h"
#include "graph/graph.h"
#include "search/cost_network.h"

namespace sbp {

struct GeneratorRow {
  std::string_view name;
  std::string_view doc;
  Result<Graph> (*make)(const GenerateOptions& options);  // nullptr: it makes no graphs
  bool has_sizes = false;                                 // of DecoderSizes; else of `ops` alone
  Result<CostNetwork> (*make_problem)(const GenerateOptions& options) = nullptr;  // of `ops` and ProblemSizes
};
std::span<const GeneratorRow> AllGenerators();
// The row of that name. Error (kUsage): there is none; names the nearest.
Result<const GeneratorRow*> FindGenerator(std::string_view family);
// Error (kUsage) also: a family of problems.
Result<Graph> GenerateGraph(std::string_view family, const GenerateOptions& options);

}  // namespace sbp
