#include "graph/held.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"

namespace sbp {
namespace {

std::string_view HeldUntil(const Op& op) {
  const auto entry = std::ranges::find_if(op.metadata, [](const auto& row) { return row.first == kHeldUntil; });
  return entry == op.metadata.end() ? std::string_view() : std::string_view(entry->second);
}

}  // namespace

std::vector<HeldResult> FindHeld(const Graph& graph) {
  std::unordered_map<std::string_view, OpId> ends;  // by name
  for (const Op& op : graph.ops) {
    if (const std::string_view name = HeldUntil(op); !name.empty()) ends.try_emplace(name);
  }
  std::vector<HeldResult> held;
  if (ends.empty()) return held;
  for (size_t o = 0; o < graph.ops.size(); ++o) {
    if (const auto end = ends.find(graph.ops[o].name); end != ends.end()) end->second = OpId(o);
  }
  for (size_t o = 0; o < graph.ops.size(); ++o) {
    const std::string_view name = HeldUntil(graph.ops[o]);
    if (name.empty()) continue;
    const OpId until = ends.at(name);
    if (!until.valid() || until.index() <= o) continue;
    for (const TensorId id : graph.ops[o].outputs) {
      if (id.valid()) held.push_back({id, until});
    }
  }
  return held;
}

}  // namespace sbp
