#include "graph/graph.h"

#include <algorithm>

#include "base/text.h"

namespace sbp {

std::string ToString(const Assumption& assumption) {
  const Literal& value = *assumption.value;
  constexpr size_t kShown = 8;
  const auto number = [&](size_t i) {
    return value.is_integral() ? std::to_string(value.ints[i]) : FormatDouble(value.floats[i]);
  };
  if (value.type.num_elements() == static_cast<int64_t>(assumption.elements.size())) return ToString(value);
  std::vector<std::string> texts;  // the others are left out
  for (size_t i = 0; i < assumption.elements.size() && i < kShown; ++i)
    texts.push_back(StrCat("[", assumption.elements[i], "]=", number(static_cast<size_t>(assumption.elements[i]))));
  if (assumption.elements.size() > kShown) texts.push_back("...");
  return Join(texts, " ");
}

bool Agrees(const Assumption& assumption, const Literal& value) {
  const Literal& wanted = *assumption.value;
  if (wanted.type.shape != value.type.shape || wanted.is_integral() != value.is_integral()) return false;
  return std::ranges::all_of(assumption.elements, [&](int64_t element) {
    const auto i = static_cast<size_t>(element);
    return wanted.is_integral() ? wanted.ints[i] == value.ints[i] : SameBits(wanted.floats[i], value.floats[i]);
  });
}

std::vector<TensorId> Graph::OperandsOf(const Op& op) const {
  std::vector<TensorId> operands = op.inputs;
  operands.insert(operands.end(), op.captures.begin(), op.captures.end());
  return operands;
}

UseTable BuildUses(const Graph& graph) {
  // Calls visit(tensor, operand number) for each operand that is present.
  const auto each_operand = [](const Op& op, auto visit) {
    uint32_t operand = 0;
    for (const std::vector<TensorId>* list : {&op.inputs, &op.captures}) {
      for (TensorId id : *list) {
        if (id.valid()) visit(id, operand);
        ++operand;
      }
    }
  };
  UseTable table;
  table.offsets.assign(graph.tensors.size() + 1, 0);
  for (const Op& op : graph.ops) {
    each_operand(op, [&](TensorId id, uint32_t) { ++table.offsets[id.index() + 1]; });
  }
  for (size_t i = 1; i < table.offsets.size(); ++i) table.offsets[i] += table.offsets[i - 1];
  table.uses.resize(table.offsets.back());
  std::vector<uint32_t> next(table.offsets.begin(), table.offsets.end() - 1);
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    each_operand(graph.ops[i], [&](TensorId id, uint32_t operand) {
      table.uses[next[id.index()]++] = {OpId(i), operand};
    });
  }
  return table;
}

NameIndex::NameIndex(const Graph& graph) : graph_(graph) {
  tensors_.Reserve(graph.tensors.size());
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    tensors_.Insert(graph.tensors[i].name, static_cast<uint32_t>(i), NameIn(graph.tensors));
  }
  ops_.Reserve(graph.ops.size());
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    ops_.Insert(graph.ops[i].name, static_cast<uint32_t>(i), NameIn(graph.ops));
  }
}

TensorId NameIndex::tensor(std::string_view name) const {
  const uint32_t found = tensors_.Find(name, NameIn(graph_.tensors));
  return found == NameTable::kNone ? TensorId() : TensorId(found);
}

OpId NameIndex::op(std::string_view name) const {
  const uint32_t found = ops_.Find(name, NameIn(graph_.ops));
  return found == NameTable::kNone ? OpId() : OpId(found);
}

}  // namespace sbp
