#include "fold/fold_op.h"

#include <memory>
#include <utility>

#include "base/ids.h"
#include "base/text.h"
#include "fold/context.h"
#include "fold/evaluate.h"
#include "fold/foldable.h"
#include "fold/provenance.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "rule/rule_set.h"

namespace sbp {
namespace {

// Nothing: a value that the row needs is not known.
std::optional<FoldRequest> RequestFor(const PassState& pass, const Op& op, const FoldableOp& row) {
  for (const TensorId id : op.inputs) {
    if (row.needs_values && id.valid() && pass.value(id) == nullptr) return std::nullopt;
  }
  FoldRequest request;
  request.attributes = op.attributes;
  request.query.type = pass.graph().type_of(op);
  request.query.attributes = op.attributes.get();
  request.query.wanted.assign(op.outputs.size(), true);
  request.query.operands.reserve(op.inputs.size());
  for (const TensorId id : op.inputs) {
    OperandInfo& operand = request.query.operands.emplace_back();
    if (!id.valid()) continue;
    operand = {true, pass.graph().tensor(id).type, row.needs_values ? pass.value(id).get() : nullptr};
  }
  return request;
}

}  // namespace

Folded FoldOp(PassState& pass, const Op& op) {
  FoldContext& context = pass.context();
  const FoldableOp* row = pass.open().FoldableOf(op);
  if (row == nullptr || op.outputs.empty() || context.literal_budget <= 0) return {};
  if (row->needs_values && !pass.values().MayFold(op)) return {};
  std::optional<FoldRequest> request = RequestFor(pass, op, *row);
  std::optional<Evaluated> results = request ? context.evaluator.Run(*row, *request) : std::nullopt;
  if (!results) return {};
  Folded folded;
  folded.flags = pass.assumptions().ElementsOf(*row, request->query, op.inputs, *results);
  folded.sources = SourcesOf(context.provenance, pass.values().origins(), *row, request->query, op.inputs, *results);
  folded.values = std::move(results->values);
  return folded;
}

void SetFolded(PassState& pass, TensorId id, Literal value) {
  pass.context().literal_budget -= value.type.num_elements();
  Tensor& tensor = pass.graph().tensor(id);
  tensor.type = value.type;
  tensor.role = TensorRole::kParameter;
  tensor.producer = OpId();
  tensor.producer_index = 0;
  tensor.literal = std::make_shared<const Literal>(std::move(value));
  pass.values().SetDerived(id, tensor.literal);
}

std::string WhyNotFolded(const PassState& pass, const Op& op, const FoldableOp& row) {
  for (const TensorId id : op.outputs) {
    if (!id.valid()) continue;
    const Tensor& tensor = pass.graph().tensor(id);
    if (tensor.type.num_elements() <= kMaxLiteralElements) continue;
    return StrCat(Quote(tensor.name), " is ", ToString(tensor.type), ", more than ", kMaxLiteralElements, " elements");
  }
  std::string why;
  std::optional<FoldRequest> request = RequestFor(pass, op, row);
  if (request) request->why = &why;
  if (request && pass.context().evaluator.Run(row, *request))
    return "constants of the model in float are taken for weights";
  return why.empty() ? "its operands are not of a kind that is computed here" : why;
}

}  // namespace sbp
