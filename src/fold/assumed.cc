#include "fold/assumed.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/ids.h"
#include "fold/foldable.h"
#include "graph/tensor_type.h"
#include "rule/rule_set.h"

namespace sbp {

const AssumedFlags& Assumptions::Find(const Map& map, TensorId tensor) {
  static const AssumedFlags kNone;
  const auto at = map.find(tensor);
  return at == map.end() ? kNone : at->second;
}

void Assumptions::Set(Map& map, TensorId tensor, AssumedFlags flags) {
  if (std::ranges::count(flags, true) > 0)
    map[tensor] = std::move(flags);
  else
    map.erase(tensor);
}

bool Assumptions::TouchesAny(const std::vector<TensorId>& tensors) const {
  return std::ranges::any_of(tensors, [this](TensorId id) { return id.valid() && Touches(id); });
}

void Assumptions::TakeResults(const std::vector<TensorId>& operands, const std::vector<TensorId>& results,
                              const RuleInstance& instance, bool reads_assumed) {
  const FactorMap& map = instance.map;
  std::set<FactorId> factors;
  bool follows = reads_assumed;  // sizes that no factor explains
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].valid() || std::ranges::count(map.unused, static_cast<int>(i)) > 0) continue;
    const AssumedFlags& flags = dims(operands[i]);
    for (size_t d = 0; d < flags.size(); ++d) {
      if (!flags[d]) continue;
      follows = true;
      if (i < map.operands.size() && d < map.operands[i].size())
        factors.insert(map.operands[i][d].begin(), map.operands[i][d].end());
    }
  }
  const bool anywhere = instance.bounded && instance.computed_sizes.empty();
  if (!follows && !instance.bounded && instance.computed_sizes.empty()) return;
  for (size_t r = 0; r < results.size(); ++r) {
    if (!results[r].valid()) continue;
    AssumedFlags flags(instance.results[r].shape.size(), anywhere || reads_assumed);
    for (size_t d = 0; d < flags.size(); ++d) {
      const bool explained = r < map.results.size() && d < map.results[r].size() && !map.results[r][d].empty();
      if (!explained)
        flags[d] = flags[d] || follows;
      else
        flags[d] = flags[d] || std::ranges::any_of(map.results[r][d], [&](FactorId f) { return factors.contains(f); });
    }
    for (const ComputedSize& computed : instance.computed_sizes) {
      for (const auto& [result, dim] : computed.dims) {
        if (static_cast<size_t>(result) == r && static_cast<size_t>(dim) < flags.size()) flags[dim] = true;
      }
    }
    SetDims(results[r], std::move(flags));
  }
}

std::optional<std::vector<AssumedFlags>> Assumptions::ElementsOf(const FoldableOp& row, const OpQuery& query,
                                                                 const std::vector<TensorId>& operands,
                                                                 const Evaluated& results) const {
  if (!TouchesAny(operands)) return std::nullopt;
  AssumedFlags moved;  // of the elements that may move, as places count them
  bool assumed = false, exact = !results.places.empty();
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!query.operands[i].present) continue;
    const TensorType& type = query.operands[i].type;
    const AssumedFlags& own = row.needs_values ? elements(operands[i]) : dims(operands[i]);
    const bool sized = row.needs_values && !dims(operands[i]).empty();  // even their number is assumed
    assumed = assumed || sized || !own.empty();
    exact = exact && !sized && (own.empty() || row.moves(i));
    if (!row.moves(i)) continue;
    const size_t first = moved.size();
    moved.resize(first + static_cast<size_t>(row.needs_values ? type.num_elements() : type.rank()));
    for (size_t e = 0; e < std::min(own.size(), moved.size() - first); ++e) moved[first + e] = own[e];
  }
  if (!assumed) return std::nullopt;
  std::vector<AssumedFlags> flags;
  bool any = !exact;
  for (size_t r = 0; r < results.values.size(); ++r) {
    flags.push_back(exact ? ElementsAt(results.places[r], moved)
                          : AssumedFlags(static_cast<size_t>(results.values[r].type.num_elements()), true));
    any = any || std::ranges::count(flags.back(), true) > 0;
  }
  if (!any) return std::nullopt;
  return flags;
}

}  // namespace sbp
