// Rewrites of the forward pass: the branch of an If in its place, old Softmax forms in today's.
#include <algorithm>
#include <memory>
#include <utility>

#include "base/text.h"
#include "fold/forward.h"

namespace sbp {
namespace {

std::string UniqueName(const std::string& name, std::unordered_set<std::string>& taken) {
  std::string unique = name;
  for (int i = 1; !taken.insert(unique).second; ++i) unique = StrCat(name, "_", i);
  return unique;
}

uint32_t InternIn(const std::string& name, std::vector<std::string>& names,
                  std::unordered_map<std::string, uint32_t>& ids) {
  if (ids.empty()) {
    for (size_t i = 0; i < names.size(); ++i) ids.emplace(names[i], static_cast<uint32_t>(i));
  }
  const auto [entry, is_new] = ids.emplace(name, static_cast<uint32_t>(names.size()));
  if (is_new) names.push_back(name);
  return entry->second;
}

}  // namespace

std::string ForwardPass::UniqueTensorName(const std::string& name) {
  if (tensor_names_.empty()) {
    for (const Tensor& tensor : graph_.tensors) tensor_names_.insert(tensor.name);
  }
  return UniqueName(name, tensor_names_);
}

std::string ForwardPass::UniqueOpName(const std::string& name) { return UniqueName(name, op_names_); }

uint32_t ForwardPass::TypeIndex(const std::string& type) {
  const uint32_t index = InternIn(type, graph_.op_types, type_ids_);
  if (index >= foldable_.size()) foldable_.push_back(FindFoldableOp(type));
  return index;
}

uint32_t ForwardPass::ScopeIndex(const std::string& scope) { return InternIn(scope, graph_.scopes, scope_ids_); }

TensorId ForwardPass::AddTensor(Tensor tensor) {
  const TensorId id(graph_.tensors.size());
  tensor.name = UniqueTensorName(tensor.name);
  tensor.producer = OpId();
  tensor.producer_index = 0;
  values_.push_back(tensor.role == TensorRole::kParameter ? tensor.literal : nullptr);
  flags_.push_back(tensor.role == TensorRole::kParameter && LooksLikeWeight(tensor.type) ? kWeight : 0);
  graph_.tensors.push_back(std::move(tensor));
  return id;
}

Status ForwardPass::InlineBranch(const Op& op, const Graph& branch, size_t first_capture) {
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
    Tensor& tensor = graph_.tensor(op.outputs[r]);
    tensor.type = branch.tensor(from).type;
    tensor.symbols = branch.tensor(from).symbols;
  }
  for (size_t i = 0; i < mapped.size(); ++i) {
    if (!mapped[i].valid()) mapped[i] = AddTensor(branch.tensors[i]);
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
    inner.type = TypeIndex(branch.type_of(inner));
    inner.scope = scope.empty() ? op.scope : ScopeIndex(scope);
    inner.name = UniqueOpName(inner.name);
    map_all(inner.inputs);
    map_all(inner.outputs);
    map_all(inner.captures);
    ops.push_back(std::move(inner));
  }
  for (const auto& [from, to] : copies) {
    Op copy;
    copy.type = TypeIndex("Identity");
    copy.name = UniqueOpName(graph_.tensor(to).name);
    copy.inputs = {mapped[from.index()]};
    copy.outputs = {to};
    copy.attributes = std::make_shared<const Attributes>();
    copy.scope = op.scope;
    ops.push_back(std::move(copy));
  }
  return ProcessOps(std::move(ops));
}

Status ForwardPass::ExpandFlattening(Op op, int64_t axis) {
  if (op.inputs.empty() || !op.inputs[0].valid() || op.outputs.empty() || !op.outputs[0].valid()) {
    return BadInput(StrCat(Place(op), ": needs an operand and a result"));
  }
  const TensorType type = graph_.tensor(op.inputs[0]).type;
  const int64_t rank = type.rank();
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) return BadInput(StrCat(Place(op), ": axis out of range for ", ToString(type)));
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
    return ProcessOp(std::move(op));
  }
  const std::string& result_name = graph_.tensor(op.outputs[0]).name;
  Tensor flat, done, shape;
  flat.name = StrCat(result_name, "/flat");
  done.name = StrCat(result_name, "/flat_result");
  shape.name = StrCat(result_name, "/shape");
  flat.type.has_rank = done.type.has_rank = false;
  shape.role = TensorRole::kParameter;
  shape.literal = std::make_shared<const Literal>(Literal::Ints(type.shape));
  shape.type = shape.literal->type;
  Op flatten = op;
  flatten.type = TypeIndex("Flatten");
  flatten.name = UniqueOpName(StrCat(op.name, "/Flatten"));
  Attributes flatten_axis;
  flatten_axis.Set("axis", axis);
  flatten.attributes = std::make_shared<const Attributes>(std::move(flatten_axis));
  Op reshape = op;
  reshape.type = TypeIndex("Reshape");
  reshape.name = UniqueOpName(StrCat(op.name, "/Reshape"));
  reshape.attributes = std::make_shared<const Attributes>();
  flatten.outputs = {AddTensor(std::move(flat))};
  reshape.inputs = {AddTensor(std::move(done)), AddTensor(std::move(shape))};
  attributes.Set("axis", int64_t{1});
  op.attributes = std::make_shared<const Attributes>(std::move(attributes));
  op.inputs = flatten.outputs;
  op.outputs = {reshape.inputs[0]};
  SBP_RETURN_IF_ERROR(ProcessOp(std::move(flatten)));
  SBP_RETURN_IF_ERROR(ProcessOp(std::move(op)));
  return ProcessOp(std::move(reshape));
}

}  // namespace sbp
