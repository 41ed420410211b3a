#include "simplify/graph_edit.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/text.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "sbp/shard_math.h"

namespace sbp {

GraphEdit::GraphEdit(Graph& graph)
    : graph_(graph),
      kept_(graph.tensors.size()),
      removed_(graph.ops.size()),
      replaced_(graph.tensors.size()),
      producers_(graph.tensors.size()) {
  for (const TensorId id : graph.outputs) kept_[id.index()] = true;
  for (const Tie& tie : graph.ties) kept_[tie.output.index()] = kept_[tie.input.index()] = true;
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    if (graph.tensors[t].layout_pin.size() > 0) kept_[t] = true;
    if (graph.tensors[t].producer.valid()) producers_[t] = &graph.op(graph.tensors[t].producer);
  }
}

const Op* GraphEdit::Producer(TensorId tensor) const { return producers_[tensor.index()]; }

void GraphEdit::KnowNames() {
  if (names_known_) return;
  names_known_ = true;
  const auto know = [](const auto& records, NameTable& table) {
    table.Reserve(records.size());
    for (size_t i = 0; i < records.size(); ++i)
      table.Insert(records[i].name, static_cast<uint32_t>(i), NameIn(records));
  };
  know(graph_.tensors, tensor_names_);
  know(graph_.ops, op_names_);
}

template <typename NameOf>
std::string GraphEdit::UniqueName(NameTable& taken, const NameOf& name_of, size_t number, std::string name) {
  KnowNames();
  std::string unique = name;
  const auto own = static_cast<uint32_t>(number);
  for (int next = 2; taken.Insert(unique, own, name_of) != own; ++next) unique = StrCat(name, ".", next);
  return unique;
}

Tensor& GraphEdit::NewTensor(std::string name, TensorType type) {
  Tensor tensor;
  tensor.name = UniqueName(tensor_names_, NameIn(graph_.tensors), graph_.tensors.size(), std::move(name));
  tensor.type = std::move(type);
  graph_.tensors.push_back(std::move(tensor));
  kept_.push_back(false);
  replaced_.emplace_back();
  producers_.push_back(nullptr);
  return graph_.tensors.back();
}

TensorId GraphEdit::AddTensor(std::string name, TensorType type) {
  NewTensor(std::move(name), std::move(type));
  return TensorId(graph_.tensors.size() - 1);
}

namespace {

// The elements of a literal along `axis`; nothing for one that keeps its bytes alone.
LiteralRef CutLiteral(const Literal& whole, size_t axis, int64_t start, const TensorType& type) {
  auto cut = std::make_shared<Literal>();
  cut->type = type;
  int64_t outer = 1, inner = 1;
  for (size_t d = 0; d < axis; ++d) outer *= whole.type.shape[d];
  for (size_t d = axis + 1; d < whole.type.shape.size(); ++d) inner *= whole.type.shape[d];
  const int64_t count = type.shape[axis], size = whole.type.shape[axis];
  const auto copy = [&](const auto& from, auto& to) {
    if (static_cast<int64_t>(from.size()) != outer * size * inner) return false;
    for (int64_t o = 0; o < outer; ++o) {
      const auto first = from.begin() + (o * size + start) * inner;
      to.insert(to.end(), first, first + count * inner);
    }
    return true;
  };
  if (copy(whole.ints, cut->ints) || copy(whole.floats, cut->floats)) return cut;
  return nullptr;
}

}  // namespace

TensorId GraphEdit::AddPart(TensorId parameter, int axis, int64_t start, int64_t count) {
  const Tensor whole = graph_.tensor(parameter);
  if (whole.part != nullptr || whole.role != TensorRole::kParameter) return {};
  TensorType type = whole.type;
  type.shape[static_cast<size_t>(axis)] = count;
  LiteralRef literal;
  if (whole.literal != nullptr) {
    literal = CutLiteral(*whole.literal, static_cast<size_t>(axis), start, type);
    if (literal == nullptr) return {};
  }
  std::string place;
  for (int d = 0; d < axis; ++d) place += ":,";
  Tensor& part = NewTensor(StrCat(whole.name, "[", place, start, ":", start + count, "]"), std::move(type));
  part.role = TensorRole::kParameter;
  part.literal = std::move(literal);
  part.data = whole.data;
  part.part = std::make_shared<const WeightPart>(WeightPart{whole.name, whole.type, axis, start});
  return TensorId(graph_.tensors.size() - 1);
}

TensorId GraphEdit::AddInts(const std::vector<int64_t>& values) {
  const auto [at, is_new] = ints_.try_emplace(values);
  if (is_new) {
    Literal literal = Literal::Ints(values);
    Tensor& tensor = NewTensor(StrCat("[", Join(values, ","), "]"), literal.type);
    tensor.role = TensorRole::kParameter;
    tensor.literal = std::make_shared<const Literal>(std::move(literal));
    at->second = TensorId(graph_.tensors.size() - 1);
  }
  return at->second;
}

uint32_t GraphEdit::TypeIndex(std::string_view type) {
  const auto at = std::ranges::find(graph_.op_types, type);
  const auto index = static_cast<uint32_t>(at - graph_.op_types.begin());
  if (at == graph_.op_types.end()) graph_.op_types.emplace_back(type);
  return index;
}

Op GraphEdit::MakeOp(const Op& like, std::string_view type, std::string name, std::vector<TensorId> inputs) {
  Op op;
  op.name = std::move(name);
  op.type = TypeIndex(type);
  op.inputs = std::move(inputs);
  op.attributes = std::make_shared<const Attributes>();
  op.scope = like.scope;
  op.metadata = like.metadata;
  return op;
}

std::vector<Op> GraphEdit::MakeSteps(const Op& like, const std::vector<ElementView::Step>& steps, TensorId from,
                                     TensorId to) {
  static constexpr std::string_view kTypes[] = {"Slice", "Reshape", "Transpose", "Expand"};
  static constexpr std::string_view kNames[] = {"slice", "reshape", "transpose", "expand"};
  std::vector<Op> ops;
  const DType dtype = graph_.tensor(from).type.dtype;
  for (size_t i = 0; i < steps.size(); ++i) {
    const ElementView::Step& step = steps[i];
    const auto kind = static_cast<size_t>(step.kind);
    std::vector<TensorId> inputs = {from};
    Attributes attributes;
    if (step.kind == ElementView::Step::Kind::kSlice) {
      std::vector<int64_t> starts, ends, axes;
      const Shape before = graph_.tensor(from).type.shape;
      for (size_t d = 0; d < step.shape.size(); ++d) {
        if (step.shape[d] == before[d]) continue;
        starts.push_back(step.starts[d]);
        ends.push_back(step.starts[d] + step.shape[d]);
        axes.push_back(static_cast<int64_t>(d));
      }
      for (const auto* values : {&starts, &ends, &axes}) inputs.push_back(AddInts(*values));
    } else if (step.kind == ElementView::Step::Kind::kTranspose) {
      attributes.Set("perm", std::vector<int64_t>(step.perm.begin(), step.perm.end()));
    } else {
      inputs.push_back(AddInts(step.shape));
    }
    const bool last = i + 1 == steps.size();
    Op op = MakeOp(like, kTypes[kind], last ? like.name : StrCat(like.name, "/", kNames[kind]), std::move(inputs));
    op.attributes = std::make_shared<const Attributes>(std::move(attributes));
    from = last ? to : AddTensor(StrCat(graph_.tensor(to).name, "/", kNames[kind]), {dtype, step.shape});
    op.outputs = {from};
    ops.push_back(std::move(op));
  }
  return ops;
}

AttributesRef GraphEdit::Shared(AttributesRef attributes) {
  const size_t hash = HashAttributes(*attributes);
  const auto [begin, end] = attributes_.equal_range(hash);
  const auto known = std::find_if(begin, end, [&](const auto& entry) { return Equal(*entry.second, *attributes); });
  return known != end ? known->second : attributes_.emplace(hash, std::move(attributes))->second;
}

void GraphEdit::Insert(size_t position, Op op) {
  changed_ = true;
  op.attributes = Shared(std::move(op.attributes));
  const bool free = position < graph_.ops.size() && removed_[position] && graph_.ops[position].name == op.name;
  if (!free || !taken_over_.insert(position).second) {
    const auto name_of = [&](uint32_t number) -> std::string_view {
      const size_t own = graph_.ops.size();
      return number < own ? graph_.ops[number].name : added_[number - own].name;
    };
    op.name = UniqueName(op_names_, name_of, graph_.ops.size() + added_.size(), std::move(op.name));
  }
  added_.push_back(std::move(op));
  places_.emplace_back(position, added_.size() - 1);
  const Op& added = added_.back();
  for (size_t r = 0; r < added.outputs.size(); ++r) {
    if (!added.outputs[r].valid()) continue;
    producers_[added.outputs[r].index()] = &added;
    graph_.tensor(added.outputs[r]).producer_index = static_cast<uint32_t>(r);
  }
}

TensorId GraphEdit::Current(TensorId tensor) const {
  while (tensor.valid() && replaced_[tensor.index()].valid()) tensor = replaced_[tensor.index()];
  return tensor;
}

void GraphEdit::TakeCurrent(Op& op) const {
  for (TensorId& id : op.inputs) id = Current(id);
  for (TensorId& id : op.captures) id = Current(id);
}

void GraphEdit::Finish() {
  if (!changed_ && std::ranges::none_of(replaced_, &TensorId::valid) && std::ranges::none_of(removed_, std::identity()))
    return;
  changed_ = true;
  std::ranges::stable_sort(places_, {}, &std::pair<size_t, size_t>::first);
  std::vector<Op> ops;
  ops.reserve(graph_.ops.size() + added_.size());
  size_t next = 0;
  for (size_t o = 0; o <= graph_.ops.size(); ++o) {
    for (; next < places_.size() && places_[next].first == o; ++next)
      ops.push_back(std::move(added_[places_[next].second]));
    if (o < graph_.ops.size() && !removed_[o]) ops.push_back(std::move(graph_.ops[o]));
  }
  graph_.ops = std::move(ops);
  for (size_t o = 0; o < graph_.ops.size(); ++o) {
    Op& op = graph_.ops[o];
    TakeCurrent(op);
    for (size_t r = 0; r < op.outputs.size(); ++r) {
      if (!op.outputs[r].valid()) continue;
      graph_.tensor(op.outputs[r]).producer = OpId(o);
      graph_.tensor(op.outputs[r]).producer_index = static_cast<uint32_t>(r);
    }
  }
}

}  // namespace sbp
