// The IOPDDL contest's JSON (ASPLOS/EuroSys 2025): `{"problem": {"name", "nodes": {"intervals", "costs", "usages"},
// "edges": {"nodes", "costs"}, "usage_limit"}}`, keys in any order, other keys ignored. Edge costs are row-major,
// intervals half-open; an absent or null usage_limit means none.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "search/cost_network.h"

namespace sbp {

// Equal rows are recognised by their text, before any number is read. Costs may be fractions, everything else is
// integers. Errors: "line:column: what was expected", or the node or edge by its index.
Result<CostNetwork> ParseIopddl(std::string_view text);

// The problem in that form; ParseIopddl gives it back.
std::string FormatIopddl(const CostNetwork& network);

// `{"solution": [...]}` and its reading: one valid candidate per node of `network`.
std::string FormatSolution(std::span<const int32_t> choice);
Result<std::vector<int32_t>> ParseSolution(const CostNetwork& network, std::string_view text);

}  // namespace sbp
