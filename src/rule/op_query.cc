#include "rule/op_query.h"

#include "base/ids.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"

namespace sbp {

OpQuery QueryFor(const Graph& graph, const RuleSet& rules, const Op& op) {
  OpQuery query;
  query.type = graph.type_of(op);
  query.attributes = op.attributes.get();
  query.has_subgraphs = HasSubgraph(*op.attributes);
  for (TensorId id : graph.OperandsOf(op)) {
    OperandInfo& operand = query.operands.emplace_back();
    if (!id.valid()) continue;
    const Tensor& tensor = graph.tensor(id);
    operand.present = true;
    operand.type = tensor.type;
    if (rules.ReadsValue(query.type, query.operands.size() - 1)) operand.value = tensor.literal.get();
  }
  for (TensorId id : op.outputs) {
    query.wanted.push_back(id.valid());
    query.stated.push_back(id.valid() ? graph.tensor(id).type : TensorType{});
  }
  return query;
}

OpQuery QueryWithValues(const Graph& graph, const Op& op, const std::vector<TensorId>& operands) {
  OpQuery query{.type = graph.type_of(op), .attributes = op.attributes.get()};
  for (const TensorId id : operands) {
    query.operands.push_back(id.valid() ? OperandInfo{true, graph.tensor(id).type, graph.tensor(id).literal.get()}
                                        : OperandInfo{});
  }
  for (const TensorId id : op.outputs) {
    query.wanted.push_back(id.valid());
    query.stated.push_back(id.valid() ? graph.tensor(id).type : TensorType());
  }
  return query;
}

}  // namespace sbp
