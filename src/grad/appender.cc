#include "grad/appender.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/hash.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "rule/factor_map.h"
#include "rule/rule_set.h"
#include "rule/syntax.h"

namespace sbp {

namespace {

bool HasOurPrefix(std::string_view name) { return name.starts_with(kBackward) || name.starts_with(kCotangentOf); }

}  // namespace

Appender::Appender(Graph& graph, const RuleSet& rules) : graph_(graph), rules_(rules) {
  const auto take = [&](NameTable& names, const auto& items) {
    names.Reserve(items.size());
    for (size_t i = 0; i < items.size(); ++i) {
      owns_prefixes_ = owns_prefixes_ && !HasOurPrefix(items[i].name);
      names.Insert(items[i].name, static_cast<uint32_t>(i), NameIn(items));
    }
  };
  take(tensor_names_, graph.tensors);
  take(op_names_, graph.ops);
  for (uint32_t i = 0; i < graph.op_types.size(); ++i) types_.emplace(graph.op_types[i], i);
  for (uint32_t i = 0; i < graph.scopes.size(); ++i) scopes_.emplace(graph.scopes[i], i);
}

template <typename Item>
std::string Appender::Unique(NameTable& taken, const std::vector<Item>& items, size_t number, std::string name) {
  if (owns_prefixes_ && HasOurPrefix(name)) return name;
  const auto id = static_cast<uint32_t>(number);
  const auto claim = [&](const std::string& wanted) { return taken.Insert(wanted, id, NameIn(items)) == id; };
  if (claim(name)) return name;
  int& last = numbers_.try_emplace(name, 1).first->second;
  std::string unique;
  do unique = StrCat(name, "_", ++last);
  while (!claim(unique));
  return unique;
}

TensorId Appender::AddTensor(std::string name, TensorType type, TensorRole role) {
  const TensorId id(graph_.tensors.size());
  Tensor& tensor = graph_.tensors.emplace_back();
  tensor.name = Unique(tensor_names_, graph_.tensors, id.index(), std::move(name));
  tensor.type = std::move(type);
  tensor.role = role;
  return id;
}

Result<TensorId> Appender::AddInput(const std::string& name, TensorType type) {
  const bool is_taken = tensor_names_.Find(name, NameIn(graph_.tensors)) != NameTable::kNone;
  if (is_taken) return BadInput(StrCat("the model already has a tensor ", Quote(name)));
  const TensorId id = AddTensor(name, std::move(type), TensorRole::kInput);
  graph_.inputs.push_back(id);
  return id;
}

TensorId Appender::Constant(Literal literal) {
  const size_t hash = HashRange(HashRange(HashOf(literal.type), literal.ints), literal.floats);
  const auto [begin, end] = constants_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (*graph_.tensor(it->second).literal == literal) return it->second;
  }
  const TensorId id =
      AddTensor(StrCat(kBackward, "constant_", ++constants_made_), literal.type, TensorRole::kParameter);
  graph_.tensor(id).literal = std::make_shared<const Literal>(std::move(literal));
  constants_.emplace(hash, id);
  return id;
}

TensorId Appender::Number(double value, DType type) { return Constant(Literal::Float(value, type)); }

TensorId Appender::Ints(std::vector<int64_t> values) { return Constant(Literal::Ints(std::move(values))); }

uint32_t Appender::TypeIndex(std::string_view type) {
  const auto [it, is_new] = types_.try_emplace(std::string(type), static_cast<uint32_t>(graph_.op_types.size()));
  if (is_new) graph_.op_types.emplace_back(type);
  return it->second;
}

uint32_t Appender::ScopeIndex(const std::string& scope) {
  const auto [it, is_new] = scopes_.try_emplace(scope, static_cast<uint32_t>(graph_.scopes.size()));
  if (is_new) graph_.scopes.push_back(scope);
  return it->second;
}

AttributesRef Appender::Shared(Attributes attributes) {
  const size_t hash = HashAttributes(attributes);
  const auto [begin, end] = attributes_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (Equal(*it->second, attributes)) return it->second;
  }
  return attributes_.emplace(hash, std::make_shared<const Attributes>(std::move(attributes)))->second;
}

void Appender::AddOp(Op op, uint32_t type, std::string name) {
  const OpId id(graph_.ops.size());
  for (size_t r = 0; r < op.outputs.size(); ++r) {
    if (!op.outputs[r].valid()) continue;
    graph_.tensor(op.outputs[r]).producer = id;
    graph_.tensor(op.outputs[r]).producer_index = static_cast<uint32_t>(r);
  }
  Op& added = graph_.ops.emplace_back(std::move(op));
  added.type = type;
  added.name = Unique(op_names_, graph_.ops, id.index(), std::move(name));
}

TensorId Appender::CallTyped(std::string_view op, std::vector<TensorId> inputs, AttributesRef attributes,
                             TensorType type, const std::string& name, uint32_t scope) {
  const TensorId out = AddTensor(name, std::move(type), TensorRole::kActivation);
  Op added;
  added.inputs = std::move(inputs);
  added.outputs = {out};
  added.attributes = std::move(attributes);
  added.scope = scope;
  AddOp(std::move(added), TypeIndex(op), name);
  return out;
}

std::vector<TensorId> Appender::CallMany(Op op, std::string_view type, const std::vector<TensorType>& results,
                                         const std::string& name) {
  op.outputs.clear();
  for (const TensorType& result : results) {
    const std::string own = results.size() == 1 ? name : StrCat(name, "/", op.outputs.size());
    op.outputs.push_back(AddTensor(own, result, TensorRole::kActivation));
  }
  const std::vector<TensorId> made = op.outputs;
  AddOp(std::move(op), TypeIndex(type), name);
  return made;
}

Result<TensorId> Appender::Call(std::string_view op, std::vector<TensorId> inputs, AttributeList attributes,
                                const std::string& name, uint32_t scope) {
  Attributes set;
  for (auto& [key, value] : attributes) set.Set(key, std::move(value));
  SBP_ASSIGN_OR_RETURN(const RuleInstanceRef instance, Ask(op, inputs, set));
  return CallTyped(op, std::move(inputs), Shared(std::move(set)), instance->results[0], name, scope);
}

Result<RuleInstanceRef> Appender::Ask(std::string_view op, std::span<const TensorId> inputs,
                                      const Attributes& attributes, size_t results) {
  OpQuery query{.type = op, .attributes = &attributes, .strict_attributes = true};
  query.wanted.assign(results, true);
  for (const TensorId id : inputs) {
    query.operands.push_back(id.valid() ? OperandInfo{true, type(id), graph_.tensor(id).literal.get()} : OperandInfo{});
  }
  return rules_.Instantiate(query);
}

std::vector<TensorId> Appender::CallAll(const RuleInstance& asked, std::vector<TensorId> inputs,
                                        AttributesRef attributes, const std::string& name,
                                        std::span<const std::string> results, uint32_t scope) {
  Op added;
  added.inputs = std::move(inputs);
  added.attributes = std::move(attributes);
  added.scope = scope;
  for (size_t r = 0; r < results.size(); ++r) {
    const bool wanted = !results[r].empty();
    added.outputs.push_back(wanted ? AddTensor(results[r], asked.results[r], TensorRole::kActivation) : TensorId());
  }
  std::vector<TensorId> outputs = added.outputs;
  AddOp(std::move(added), TypeIndex(asked.op), name);
  return outputs;
}

std::vector<TensorId> Appender::Splice(Part& part, std::span<const TensorId> given, const std::string& prefix,
                                       uint32_t scope) {
  const Graph& graph = part.graph_;
  if (part.types_.empty()) {
    for (const Op& op : graph.ops) {
      part.types_.push_back(TypeIndex(graph.type_of(op)));
      part.attributes_.push_back(Shared(*op.attributes));
    }
  }
  std::vector<TensorId> map(graph.tensors.size());
  for (size_t i = 0; i < given.size(); ++i) map[graph.inputs[i].index()] = given[i];
  const auto find = [&](TensorId id) {
    TensorId& here = map[id.index()];
    if (here.valid()) return here;  // all others are constants
    TensorId& constant = part.constants_[id.index()];
    if (!constant.valid()) constant = Constant(*graph.tensor(id).literal);
    return here = constant;
  };
  for (size_t o = 0; o < graph.ops.size(); ++o) {
    const Op& inner = graph.ops[o];
    Op op;
    op.scope = scope;
    op.attributes = part.attributes_[o];
    op.inputs.reserve(inner.inputs.size());
    for (const TensorId id : inner.inputs) op.inputs.push_back(id.valid() ? find(id) : id);
    op.outputs.reserve(inner.outputs.size());
    for (const TensorId id : inner.outputs) {
      op.outputs.emplace_back();
      if (!id.valid()) continue;
      const Tensor& tensor = graph.tensor(id);
      op.outputs.back() = map[id.index()] =
          AddTensor(StrCat(prefix, "/", tensor.name), tensor.type, TensorRole::kActivation);
    }
    AddOp(std::move(op), part.types_[o], StrCat(prefix, "/", inner.name));
  }
  for (const TensorId id : graph.outputs) find(id);
  return map;
}

TensorId Appender::AddResult(OpId op, size_t result, TensorType type) {
  // As the schema calls it.
  const OpDefinition* definition = rules_.Find(graph_.type_of(graph_.op(op)));
  const bool is_known = definition != nullptr && result < definition->overloads.front().results.size();
  const std::string own = is_known ? definition->overloads.front().results[result].name : StrCat("result", result);
  const TensorId id = AddTensor(StrCat(graph_.op(op).name, "/", own), std::move(type), TensorRole::kActivation);
  graph_.tensor(id).producer = op;
  graph_.tensor(id).producer_index = static_cast<uint32_t>(result);
  std::vector<TensorId>& outputs = graph_.op(op).outputs;
  if (outputs.size() <= result) outputs.resize(result + 1);
  outputs[result] = id;
  return id;
}

void Appender::Rename(TensorId id, const std::string& name) {
  Tensor& tensor = graph_.tensor(id);
  if (tensor.name == name) return;
  tensor.name.clear();  // what it was called is free
  tensor.name = Unique(tensor_names_, graph_.tensors, id.index(), name);
}

}  // namespace sbp
