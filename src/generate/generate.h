// Generators of graphs: for tests, benchmarks and first tries. Resolved graphs; the same options give the same graph.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.h"
#include "graph/graph.h"

namespace sbp {

struct GenerateOptions {
  int64_t ops = 100;  // at least this many; whole layers
  uint64_t seed = 0;  // only the random family has choices
};

struct GeneratorRow {
  std::string_view name;
  std::string_view doc;
  Result<Graph> (*make)(const GenerateOptions& options);
};
std::span<const GeneratorRow> AllGenerators();
Result<Graph> GenerateGraph(std::string_view family, const GenerateOptions& options);

}  // namespace sbp
