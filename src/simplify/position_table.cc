#include "simplify/position_table.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "simplify/moves.h"
#include "simplify/position_ops.h"

namespace sbp::simplify {
namespace {

constexpr int64_t kMostNumbers = int64_t{1} << 24;

int64_t NumbersIn(const PlaceSum& sum) {
  int64_t count = 1;
  for (const auto& [dim, term] : sum.terms) count += static_cast<int64_t>(term.size());
  return count;
}

int64_t NumbersIn(const PlaceValue& value) {
  if (const PlaceSum* sum = value.sum()) return NumbersIn(*sum);
  if (const PlaceBand* band = value.band()) return 2 * static_cast<int64_t>(band->first.size());
  int64_t count = 0;
  for (const PlaceSum& part : std::get<PlaceStack>(value.form).parts) count += NumbersIn(part);
  return count;
}

bool IsFilled(const TensorType& type) {
  return type.kind == ValueKind::kTensor && type.is_static() && type.num_elements() > 0;
}

// The op that a tensor is followed through, if any.
const Op* FollowedOp(const Graph& graph, TensorId id) {
  const Op* op = ProducerOf(graph, id);
  if (op == nullptr || !op->captures.empty() || FindPositionRow(graph.type_of(*op)) == nullptr) return nullptr;
  return op;
}

size_t OperandsFollowed(const Graph& graph, const Op& op) {
  return std::min(op.inputs.size(), FindPositionRow(graph.type_of(op))->operands);
}

}  // namespace

std::vector<TensorId> PositionTable::MissingFor(TensorId id) const {
  std::vector<TensorId> missing;
  if (found_.contains(id) || IsComputed(id)) return missing;
  const Op* op = FollowedOp(graph_, id);
  for (size_t i = 0; op != nullptr && i < OperandsFollowed(graph_, *op); ++i) {
    if (!op->inputs[i].valid()) continue;
    const auto at = found_.find(op->inputs[i]);
    if (at == found_.end()) {
      missing.push_back(op->inputs[i]);
    } else if (!at->second) {
      return {};  // one that is not known is enough
    }
  }
  return missing;
}

MaybePlaces PositionTable::Compute(TensorId id) {
  const Tensor& tensor = graph_.tensor(id);
  if (!IsFilled(tensor.type) || IsComputed(id) || numbers_ > kMostNumbers) return std::nullopt;
  if (tensor.role == TensorRole::kParameter)
    return tensor.literal == nullptr ? std::nullopt : PlacesOf(*tensor.literal);
  const Op* op = FollowedOp(graph_, id);
  if (op == nullptr) return std::nullopt;
  PositionCall call{graph_, *op, tensor.producer_index, {}};
  for (size_t i = 0; i < OperandsFollowed(graph_, *op); ++i) {
    call.operands.push_back(nullptr);
    if (!op->inputs[i].valid()) continue;
    const auto operand = found_.find(op->inputs[i]);
    if (operand == found_.end() || !operand->second) return std::nullopt;
    call.operands.back() = &*operand->second;
  }
  return FindPositionRow(graph_.type_of(*op))->compute(call);
}

const PlaceValue* PositionTable::Find(TensorId id) {
  std::vector<TensorId> open = {id};  // each after those that wait for it
  while (!open.empty()) {
    const TensorId next = open.back();
    const std::vector<TensorId> missing = MissingFor(next);
    open.insert(open.end(), missing.begin(), missing.end());
    if (!missing.empty()) continue;
    open.pop_back();
    if (found_.contains(next)) continue;
    MaybePlaces value = Compute(next);
    if (value) numbers_ += NumbersIn(*value);
    found_.emplace(next, std::move(value));
  }
  const MaybePlaces& value = found_.at(id);
  return value ? &*value : nullptr;
}

}  // namespace sbp::simplify
