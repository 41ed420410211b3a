#include "fold/rewrite.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/ids.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"

namespace sbp {
namespace {

std::vector<Op> Listed(Op op) {
  std::vector<Op> ops;
  ops.push_back(std::move(op));
  return ops;
}

}  // namespace

std::vector<Op> InlineBranch(PassState& pass, const Op& op, const Graph& branch, size_t first_capture) {
  std::vector<TensorId> mapped(branch.tensors.size());
  for (size_t i = 0; i < branch.inputs.size(); ++i) mapped[branch.inputs[i].index()] = op.captures[first_capture + i];
  // A result that the branch computes is written to the If's result directly; another one is copied there.
  std::vector<std::pair<TensorId, TensorId>> copies;  // of the branch, of this graph
  for (size_t r = 0; r < op.outputs.size(); ++r) {
    if (!op.outputs[r].valid()) continue;
    const TensorId from = branch.outputs[r];
    if (branch.tensor(from).role != TensorRole::kActivation || mapped[from.index()].valid()) {
      copies.emplace_back(from, op.outputs[r]);
      continue;
    }
    mapped[from.index()] = op.outputs[r];
    Tensor& tensor = pass.graph().tensor(op.outputs[r]);
    tensor.type = branch.tensor(from).type;
    tensor.symbols = branch.tensor(from).symbols;
  }
  for (size_t i = 0; i < mapped.size(); ++i) {
    if (!mapped[i].valid()) mapped[i] = pass.AddTensor(branch.tensors[i]);
  }
  const auto map_all = [&](std::vector<TensorId>& ids) {
    for (TensorId& id : ids) {
      if (id.valid()) id = mapped[id.index()];
    }
  };
  std::vector<Op> ops;
  ops.reserve(branch.ops.size() + copies.size());
  for (Op inner : branch.ops) {
    const std::string& scope = branch.scope_of(inner);
    inner.type = pass.open().TypeIndex(branch.type_of(inner));
    inner.scope = scope.empty() ? op.scope : pass.open().ScopeIndex(scope);
    inner.name = pass.open().UniqueOpName(inner.name);
    map_all(inner.inputs);
    map_all(inner.outputs);
    map_all(inner.captures);
    ops.push_back(std::move(inner));
  }
  for (const auto& [from, to] : copies) {
    Op copy;
    copy.type = pass.open().TypeIndex("Identity");
    copy.name = pass.open().UniqueOpName(pass.graph().tensor(to).name);
    copy.inputs = {mapped[from.index()]};
    copy.outputs = {to};
    copy.attributes = std::make_shared<const Attributes>();
    copy.scope = op.scope;
    ops.push_back(std::move(copy));
  }
  return ops;
}

Result<std::vector<Op>> ExpandFlattening(PassState& pass, Op op) {
  int64_t axis = op.attributes->Int(kFlattenFrom, 1);
  if (op.inputs.empty() || !op.inputs[0].valid() || op.outputs.empty() || !op.outputs[0].valid()) {
    return BadInput(StrCat(pass.open().Place(op), ": needs an operand and a result"));
  }
  const TensorType type = pass.graph().tensor(op.inputs[0]).type;
  const int64_t rank = type.rank();
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank)
    return BadInput(StrCat(pass.open().Place(op), ": axis out of range for ", ToString(type)));
  Attributes attributes = *op.attributes;
  std::erase_if(attributes.mutable_entries(), [](const auto& entry) { return entry.first == kFlattenFrom; });
  // One dimension of a size above 1: the same as today's form along it.
  std::vector<int64_t> wide;
  for (int64_t d = axis; d < rank; ++d) {
    if (type.shape[static_cast<size_t>(d)] != 1) wide.push_back(d);
  }
  if (wide.size() <= 1) {
    attributes.Set("axis", wide.empty() ? std::max<int64_t>(rank - 1, 0) : wide[0]);
    op.attributes = std::make_shared<const Attributes>(std::move(attributes));
    return Listed(std::move(op));
  }
  const std::string& result_name = pass.graph().tensor(op.outputs[0]).name;
  Tensor flat, done, shape;
  flat.name = StrCat(result_name, "/flat");
  done.name = StrCat(result_name, "/flat_result");
  shape.name = StrCat(result_name, "/shape");
  flat.type.has_rank = done.type.has_rank = false;
  shape.role = TensorRole::kParameter;
  shape.literal = std::make_shared<const Literal>(Literal::Ints(type.shape));
  shape.type = shape.literal->type;
  Op flatten = op;
  flatten.type = pass.open().TypeIndex("Flatten");
  flatten.name = pass.open().UniqueOpName(StrCat(op.name, "/Flatten"));
  Attributes flatten_axis;
  flatten_axis.Set("axis", axis);
  flatten.attributes = std::make_shared<const Attributes>(std::move(flatten_axis));
  Op reshape = op;
  reshape.type = pass.open().TypeIndex("Reshape");
  reshape.name = pass.open().UniqueOpName(StrCat(op.name, "/Reshape"));
  reshape.attributes = std::make_shared<const Attributes>();
  flatten.outputs = {pass.AddTensor(std::move(flat))};
  reshape.inputs = {pass.AddTensor(std::move(done)), pass.AddTensor(std::move(shape))};
  attributes.Set("axis", int64_t{1});
  op.attributes = std::make_shared<const Attributes>(std::move(attributes));
  op.inputs = flatten.outputs;
  op.outputs = {reshape.inputs[0]};
  std::vector<Op> ops = Listed(std::move(flatten));
  ops.push_back(std::move(op));
  ops.push_back(std::move(reshape));
  return ops;
}

}  // namespace sbp
