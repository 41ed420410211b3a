#include "decompose/expansion_builder.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <variant>

#include "base/dtype.h"
#include "base/hash.h"
#include "base/ids.h"
#include "base/number_text.h"
#include "base/text.h"
#include "graph/builder.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "rule/factor_map.h"
#include "rule/instance_builder.h"
#include "rule/syntax.h"

namespace sbp {
namespace {

// An expansion that grows beyond this is a loop that was not meant.
constexpr size_t kMaxNodes = size_t{1} << 18;

// A constant in another element type; nullptr where that is the kernel's to compute.
LiteralRef CastLiteral(const Literal& literal, DType to) {
  const DType from = literal.type.dtype;
  auto is_plain = [](DType t) { return IsFloat(t) || IsInteger(t) || t == DType::kBool; };
  if (!is_plain(from) || !is_plain(to) || literal.sparse) return nullptr;
  Literal out;
  out.type = {to, literal.type.shape};
  std::vector<double> values = literal.floats;
  if (literal.is_integral()) values.assign(literal.ints.begin(), literal.ints.end());
  for (const double v : values) {
    if (IsFloat(to)) {
      out.floats.push_back(v);
    } else if (to == DType::kBool) {
      out.ints.push_back(v != 0);
    } else if (std::trunc(v) < LowestNumber(to) || std::trunc(v) > HighestNumber(to) || !(std::abs(v) < 0x1p53)) {
      return nullptr;
    } else {
      out.ints.push_back(static_cast<int64_t>(v));
    }
  }
  return std::make_shared<const Literal>(std::move(out));
}

bool HasZero(const Literal* shape) {
  return shape != nullptr && std::find(shape->ints.begin(), shape->ints.end(), 0) != shape->ints.end();
}

bool IsIdentity(const std::vector<int64_t>* permutation, int rank) {
  if (permutation == nullptr) return rank < 2;
  return std::is_sorted(permutation->begin(), permutation->end());
}

}  // namespace

ExpansionBuilder::ExpansionBuilder(const OpQuery& query, const Binding& binding, const RuleInstance& instance,
                                   const RuleSet& rules)
    : query_(query), binding_(binding), instance_(instance), rules_(rules) {
  for (size_t i = 0; i < query.operands.size(); ++i) {
    const OperandInfo& operand = query.operands[i];
    operands_.emplace_back();
    if (!operand.present) continue;
    operands_.back() = AddTensor(instance.operand_names[i], operand.type, TensorRole::kInput);
    const Literal* known = operand.known();
    if (known != nullptr) tensors_.back().literal = std::make_shared<const Literal>(*known);
  }
  results_.resize(query.wanted.size());
}

const AttributeValue* ExpansionBuilder::Attribute(std::string_view name) const {
  if (const AttributeValue* value = query_.attributes->Find(name)) return value;
  for (const Parameter& p : binding_.overload->parameters) {
    if (p.name == name && p.default_value) return &*p.default_value;
  }
  return nullptr;
}

int64_t ExpansionBuilder::IntAttribute(std::string_view name, int64_t fallback) const {
  const AttributeValue* value = Attribute(name);
  const auto* i = value == nullptr ? nullptr : std::get_if<int64_t>(value);
  return i == nullptr ? fallback : *i;
}

double ExpansionBuilder::FloatAttribute(std::string_view name, double fallback) const {
  const AttributeValue* value = Attribute(name);
  const auto* d = value == nullptr ? nullptr : std::get_if<double>(value);
  return d == nullptr ? static_cast<double>(IntAttribute(name, 0)) + (value == nullptr ? fallback : 0) : *d;
}

std::string ExpansionBuilder::TextAttribute(std::string_view name) const {
  const AttributeValue* value = Attribute(name);
  const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return text == nullptr ? "" : *text;
}

std::vector<int64_t> ExpansionBuilder::IntsAttribute(std::string_view name) const {
  const AttributeValue* value = Attribute(name);
  const auto* ints = value == nullptr ? nullptr : std::get_if<std::vector<int64_t>>(value);
  return ints == nullptr ? std::vector<int64_t>() : *ints;
}

TensorId ExpansionBuilder::Operand(size_t index) const {
  return index < operands_.size() ? operands_[index] : TensorId();
}

TensorId ExpansionBuilder::Operand(std::string_view name) const {
  const ParameterSlot* slot = binding_.FindOperand(name);
  return slot != nullptr && slot->count > 0 ? operands_[slot->first] : TensorId();
}

std::string ExpansionBuilder::Unique(std::string_view name) {
  std::string unique(name);
  if (names_.insert(unique).second) return unique;
  int& number = numbers_.try_emplace(unique, 1).first->second;  // the last one given to this name
  do unique = StrCat(name, "_", ++number);
  while (!names_.insert(unique).second);
  return unique;
}

TensorId ExpansionBuilder::AddTensor(std::string_view name, TensorType type, TensorRole role) {
  Tensor& tensor = tensors_.emplace_back();
  tensor.name = Unique(name);
  tensor.type = std::move(type);
  tensor.role = role;
  return TensorId(tensors_.size() - 1);
}

TensorId ExpansionBuilder::Constant(Literal literal) {
  size_t hash = HashRange(HashRange(HashOf(literal.type), literal.ints), literal.floats);
  const auto [begin, end] = constants_by_hash_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (*value(it->second) == literal) return it->second;
  }
  const TensorId id = AddTensor("constant", literal.type, TensorRole::kParameter);
  constants_by_hash_.emplace(hash, id);
  tensors_[id.index()].literal = std::make_shared<const Literal>(std::move(literal));
  constants_.push_back(id);
  return id;
}

TensorId ExpansionBuilder::Number(double value, DType type) {
  if (IsFloat(type)) return Constant(Literal::Float(value, type));
  if (type == DType::kBool) return Constant(Literal::Scalar(value != 0, type));
  if (IsInteger(type) && std::abs(value) < 0x1p63) {
    return Constant(Literal::Scalar(static_cast<int64_t>(value), type));
  }
  Fail(BadInput(StrCat("no number ", FormatGeneral(value), " of type ", DTypeName(type))));
  return {};
}

TensorId ExpansionBuilder::Ints(std::vector<int64_t> values) { return Constant(Literal::Ints(std::move(values))); }

void ExpansionBuilder::Fail(Status status) {
  if (status_.ok()) status_ = std::move(status);
}

TensorId ExpansionBuilder::Call(std::string_view op, std::vector<TensorId> inputs, AttributeList attributes) {
  Attributes set;
  for (const auto& [name, value] : attributes) set.Set(std::string(name), value);
  const std::vector<TensorId> results = CallMany(op, std::move(inputs), std::move(set), {true});
  return results.empty() ? TensorId() : results[0];
}

// What an op returns that needs no computing; invalid: it does.
TensorId ExpansionBuilder::Shortcut(std::string_view op, const std::vector<TensorId>& inputs,
                                    const Attributes& attributes) {
  if (inputs.empty() || !inputs[0].valid()) return {};
  const TensorType& from = type(inputs[0]);
  if (op == "Cast") {
    const DType to = TypeOfAttribute(attributes.Find("to"));
    if (to == from.dtype) return inputs[0];
    const bool is_constant = tensors_[inputs[0].index()].role == TensorRole::kParameter;
    const LiteralRef cast = is_constant ? CastLiteral(*value(inputs[0]), to) : nullptr;
    return cast == nullptr ? TensorId() : Constant(*cast);
  }
  if (op == "Transpose" && IsIdentity(attributes.Ints("perm"), from.rank())) return inputs[0];
  if ((op == "Reshape" || op == "Expand") && inputs.size() > 1 && value(inputs[1]) != nullptr &&
      value(inputs[1])->ints == from.shape) {
    return inputs[0];
  }
  return {};
}

// Values as files have them: a whole number is a float where the inner op's schema asks for one, a type is a number.
void ExpansionBuilder::TypeAttributes(std::string_view op, Attributes& attributes) const {
  const OpDefinition* definition = rules_.Find(op);
  if (definition == nullptr) return;
  for (auto& [name, value] : attributes.mutable_entries()) {
    for (const Parameter& p : definition->overloads.front().parameters) {
      if (p.name != name) continue;
      const auto* number = std::get_if<int64_t>(&value);
      if (p.kind == ParameterKind::kFloat && number != nullptr) value = static_cast<double>(*number);
      if (p.kind == ParameterKind::kType) value = static_cast<int64_t>(TypeOfAttribute(&value));
    }
  }
}

std::vector<TensorId> ExpansionBuilder::CallMany(std::string_view op, std::vector<TensorId> inputs,
                                                 Attributes attributes, const std::vector<bool>& wanted,
                                                 std::string_view name) {
  std::vector<TensorId> results(wanted.size());
  if (!status_.ok()) return results;
  while (!inputs.empty() && !inputs.back().valid()) inputs.pop_back();
  if (const TensorId same = Shortcut(op, inputs, attributes); same.valid() && wanted.size() == 1) return {same};
  if (nodes_.size() >= kMaxNodes) Fail(BadInput(StrCat("the expansion has more than ", kMaxNodes, " ops")));
  if (rules_.Find(op) == nullptr) Fail(BadInput(StrCat("no op ", op, DidYouMean(op, rules_.Names()))));
  TypeAttributes(op, attributes);
  if (op == "Reshape" && inputs.size() > 1 && HasZero(value(inputs[1]))) attributes.Set("allowzero", int64_t{1});
  OpQuery query;
  query.type = op;
  query.attributes = &attributes;
  query.wanted = wanted;
  query.strict_attributes = true;
  for (const TensorId id : inputs) {
    query.operands.push_back(id.valid() ? OperandInfo{true, type(id), value(id)} : OperandInfo{});
  }
  if (!status_.ok()) return results;
  Result<RuleInstanceRef> instance = rules_.Instantiate(query);
  if (!instance.ok()) {
    Fail(instance.status());
    return results;
  }
  Node node;
  node.type = std::string(op);
  node.inputs = std::move(inputs);
  node.attributes = std::make_shared<const Attributes>(std::move(attributes));
  std::string_view short_op = op;
  if (const size_t colons = op.rfind("::"); colons != std::string_view::npos) short_op.remove_prefix(colons + 2);
  for (size_t r = 0; r < wanted.size(); ++r) {
    if (!wanted[r]) continue;
    const std::string base(name.empty() ? short_op : name);
    results[r] = AddTensor(r == 0 || !name.empty() ? base : StrCat(base, ".", (*instance)->result_names[r]),
                           (*instance)->results[r], TensorRole::kActivation);
    tensors_[results[r].index()].producer = OpId(nodes_.size());
    tensors_[results[r].index()].producer_index = static_cast<uint32_t>(r);
    if (node.name.empty()) node.name = tensors_[results[r].index()].name;
  }
  node.outputs = results;
  nodes_.push_back(std::move(node));
  return results;
}

TensorId ExpansionBuilder::AddInput(std::string_view name, TensorType type) {
  inputs_.push_back(AddTensor(name, std::move(type), TensorRole::kInput));
  return inputs_.back();
}

void ExpansionBuilder::SetResult(size_t index, TensorId id) {
  if (index < results_.size()) results_[index] = id;
}

Status ExpansionBuilder::CheckResults() const {
  for (size_t r = 0; r < results_.size(); ++r) {
    if (!query_.wanted[r]) continue;
    if (!results_[r].valid()) return BadInput(StrCat("its expansion gives no result ", instance_.result_names[r]));
    const TensorType& expected = instance_.results[r];
    if (type(results_[r]) == expected) continue;
    const OpDefinition* definition = rules_.Find(query_.type);
    const bool ours = definition == nullptr || definition->builtin;
    return Status(ours ? Code::kDefect : Code::kBadInput,
                  StrCat("its expansion gives result ", instance_.result_names[r], " as ",
                         sbp::ToString(type(results_[r])), ", its rule as ", sbp::ToString(expected),
                         ours ? "" : StrCat(" (", sbp::ToString(binding_.overload->at), ")")));
  }
  return OkStatus();
}

std::vector<bool> ExpansionBuilder::LiveNodes(const std::vector<TensorId>& outputs) const {
  std::vector<bool> live(nodes_.size(), false);
  auto mark = [&](TensorId id) {
    if (id.valid() && tensors_[id.index()].producer.valid()) live[tensors_[id.index()].producer.index()] = true;
  };
  std::for_each(outputs.begin(), outputs.end(), mark);
  for (size_t n = nodes_.size(); n-- > 0;) {
    if (live[n]) std::for_each(nodes_[n].inputs.begin(), nodes_[n].inputs.end(), mark);
  }
  return live;
}

Result<Graph> ExpansionBuilder::Finish() {
  SBP_RETURN_IF_ERROR(status_);
  SBP_RETURN_IF_ERROR(CheckResults());
  std::vector<TensorId> wanted;
  for (size_t r = 0; r < results_.size(); ++r) {
    if (query_.wanted[r]) wanted.push_back(results_[r]);
  }
  return FinishWith(wanted);
}

Result<Graph> ExpansionBuilder::FinishWith(const std::vector<TensorId>& outputs) {
  SBP_RETURN_IF_ERROR(status_);
  const std::vector<bool> live = LiveNodes(outputs);
  std::vector<bool> read(tensors_.size(), false);
  for (size_t n = 0; n < nodes_.size(); ++n) {
    for (const TensorId id : nodes_[n].inputs) {
      if (live[n] && id.valid()) read[id.index()] = true;
    }
  }
  for (const TensorId id : outputs) {
    if (id.valid()) read[id.index()] = true;
  }
  GraphBuilder builder{std::string(query_.type)};
  for (const TensorId id : operands_) {
    if (!id.valid()) continue;
    const TensorId input = builder.AddInput(tensors_[id.index()].name, type(id));
    builder.graph().tensor(input).literal = tensors_[id.index()].literal;
  }
  for (const TensorId id : inputs_) builder.AddInput(tensors_[id.index()].name, type(id));
  for (const TensorId id : constants_) {
    if (read[id.index()]) builder.AddParameter(tensors_[id.index()].name, type(id), tensors_[id.index()].literal);
  }
  auto names = [&](const std::vector<TensorId>& ids, bool drop) {
    std::vector<std::string> list;
    for (const TensorId id : ids) {
      list.push_back(id.valid() && (!drop || read[id.index()]) ? tensors_[id.index()].name : "");
      if (drop && !list.back().empty()) builder.DescribeTensor(list.back(), type(id));
    }
    while (drop && !list.empty() && list.back().empty()) list.pop_back();
    return list;
  };
  for (size_t n = 0; n < nodes_.size(); ++n) {
    if (!live[n]) continue;
    const Node& node = nodes_[n];
    builder.AddOp(node.type, node.name, names(node.inputs, false), names(node.outputs, true), *node.attributes);
  }
  for (const TensorId id : outputs) {
    if (id.valid()) builder.AddOutput(tensors_[id.index()].name);
  }
  return builder.Build(query_.type);
}

}  // namespace sbp
