#include "fold/body_work.h"

namespace sbp {
namespace {

OpQuery QueryOf(const Graph& graph, const Op& op) {
  OpQuery query;
  query.type = graph.type_of(op);
  query.attributes = op.attributes.get();
  query.has_subgraphs = op.attributes->Find(kBodyFlops) != nullptr;
  for (const TensorId id : graph.OperandsOf(op)) {
    OperandInfo& operand = query.operands.emplace_back();
    if (!id.valid()) continue;
    operand.present = true;
    operand.type = graph.tensor(id).type;
    operand.value = graph.tensor(id).literal.get();
  }
  for (const TensorId id : op.outputs) {
    query.wanted.push_back(id.valid());
    query.stated.push_back(id.valid() ? graph.tensor(id).type : TensorType{});
  }
  return query;
}

double BytesOf(const Graph& graph, const std::vector<TensorId>& ids) {
  double bytes = 0;
  for (const TensorId id : ids) {
    if (id.valid()) bytes += static_cast<double>(graph.tensor(id).type.num_bytes());
  }
  return bytes;
}

}  // namespace

BodyWork WorkOfGraph(FoldContext& context, const Graph& graph) {
  BodyWork work;
  for (const Op& op : graph.ops) {
    const Result<RuleInstanceRef> instance = context.cache.Instantiate(QueryOf(graph, op), op.attributes);
    if (!instance.ok()) continue;  // resolved a moment ago
    work.flops += (*instance)->flops;
    work.bytes += (*instance)->extra_bytes + BytesOf(graph, op.inputs) + BytesOf(graph, op.outputs);
  }
  return work;
}

}  // namespace sbp
