#include "fold/assumed.h"

#include <algorithm>
#include <set>
#include <utility>

namespace sbp {
namespace {

// 1 where the flag is set.
Shape AsNumbers(const AssumedFlags& flags, size_t count) {
  Shape numbers(count, 0);
  for (size_t i = 0; i < std::min(count, flags.size()); ++i) numbers[i] = flags[i] ? 1 : 0;
  return numbers;
}

AssumedFlags AsFlags(const Literal& numbers) {
  AssumedFlags flags;
  for (const int64_t number : numbers.ints) flags.push_back(number != 0);
  for (const double number : numbers.floats) flags.push_back(number != 0);
  return flags;
}

bool IsMoved(const EvaluatorRow& row, size_t operand) {
  return row.moves == EvaluatorRow::kAll || (operand < 31 && (row.moves >> operand & 1) != 0);
}

}  // namespace

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

std::optional<std::vector<AssumedFlags>> Assumptions::ElementsOf(const EvaluatorRow& row, const FoldRequest& request,
                                                                 const std::vector<TensorId>& operands,
                                                                 const std::vector<Literal>& results) const {
  if (!TouchesAny(operands)) return std::nullopt;
  // Where elements only move, their flags move like them: the op is run on the flags.
  FoldRequest moved = request;
  std::vector<Literal> numbers(operands.size());
  std::vector<TensorType> types(operands.size());
  bool assumed = false, exact = row.moves != 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!request.operands[i].present) continue;
    const TensorType& type = *request.operands[i].type;
    const AssumedFlags& own = row.needs_values ? elements(operands[i]) : dims(operands[i]);
    const bool sized = row.needs_values && !dims(operands[i]).empty();  // even their number is assumed
    assumed = assumed || sized || !own.empty();
    exact = exact && !sized && (own.empty() || IsMoved(row, i));
    if (!IsMoved(row, i)) continue;
    if (row.needs_values) {
      numbers[i] = Literal::Ints(AsNumbers(own, static_cast<size_t>(type.num_elements())));
      numbers[i].type.shape = type.shape;
      moved.operands[i].value = &numbers[i];
    } else {
      types[i] = type;
      types[i].shape = AsNumbers(own, type.shape.size());
      moved.operands[i].type = &types[i];
    }
  }
  if (!assumed) return std::nullopt;
  std::vector<Literal> found;
  exact = exact && Evaluate(row, moved, found);
  std::vector<AssumedFlags> flags;
  bool any = !exact;
  for (size_t r = 0; r < results.size(); ++r) {
    flags.push_back(exact ? AsFlags(found[r])
                          : AssumedFlags(static_cast<size_t>(results[r].type.num_elements()), true));
    any = any || std::ranges::count(flags.back(), true) > 0;
  }
  if (!any) return std::nullopt;
  return flags;
}

}  // namespace sbp
