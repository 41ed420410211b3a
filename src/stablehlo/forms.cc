#include "stablehlo/forms.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "base/text.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "stablehlo/cursor.h"
#include "stablehlo/known.h"

namespace sbp::stablehlo {
namespace {

// An op whose operands and attributes are handed on by these names.
struct FormRow {
  std::string_view op;
  std::string_view operands;    // "lhs rhs"; a last one with [] takes all that are left
  std::string_view attributes;  // those that are read
  bool by_element = false;
  Form form = nullptr;  // what it takes where names are not all
};

Result<std::vector<ValueRef>> WriteConstant(const FormCall& call) {
  const auto value = call.op.attributes.find("value");
  if (value == call.op.attributes.end() || value->second.kind != Attribute::Kind::kDense) {
    return BadInput("the constant has no dense value");
  }
  if (value->second.type.tensor != call.results[0]) {
    return BadInput(StrCat("the value is of ", value->second.type.text, ", the result ", ToString(call.results[0])));
  }
  bool splat = false;
  Result<Literal> literal = ReadDense(value->second, call.text, &splat);
  if (!literal.ok()) return literal.status();
  return std::vector{call.writer.Constant(*std::move(literal), call.results[0], splat)};
}

Status CheckDims(const std::vector<int64_t>& dims, const TensorType& from, const TensorType& to) {
  if (dims.size() != from.shape.size()) return BadInput("expected a dimension of the result for each of the operand");
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0 || dims[i] >= to.rank()) return BadInput(StrCat("the result has no dimension ", dims[i]));
    if (i > 0 && std::ranges::count(dims, dims[i]) > 1) return BadInput("a dimension is named twice");
    if (from.shape[i] != 1 && from.shape[i] != to.shape[static_cast<size_t>(dims[i])]) {
      return BadInput(StrCat("dimension ", i, " of the operand has another size than that of the result"));
    }
  }
  return OkStatus();
}

Result<std::vector<ValueRef>> WriteBroadcast(const FormCall& call) {
  SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, call.Ints("broadcast_dimensions"));
  SBP_RETURN_IF_ERROR(CheckDims(dims, call.operands[0]->type, call.results[0]));
  if (call.operands[0]->type == call.results[0] && std::ranges::is_sorted(dims)) return std::vector{call.operands[0]};
  return std::vector{call.writer.Broadcast(call.operands[0], dims, call.results[0])};
}

// Counting along one dimension is a vector, broadcast.
Result<std::vector<ValueRef>> WriteIota(const FormCall& call) {
  const int64_t dim = call.Int("iota_dimension", 0);
  if (dim < 0 || dim >= call.results[0].rank()) return BadInput(StrCat("the result has no dimension ", dim));
  TensorType type = call.results[0];
  type.shape = {call.results[0].shape[static_cast<size_t>(dim)]};
  const ValueRef counts = call.writer.AddOne("iota", {}, {}, type);
  counts->iota = 0;
  if (call.results[0].rank() == 1) return std::vector{counts};
  return std::vector{call.writer.Broadcast(counts, {dim}, call.results[0])};
}

Result<std::vector<ValueRef>> WriteReshape(const FormCall& call) {
  if (call.operands[0]->type.num_elements() != call.results[0].num_elements()) {
    return BadInput("the result has another number of elements");
  }
  const ValueRef& from = call.operands[0];
  if (from->scalar && from->is_broadcast() && from->held.empty()) {
    const auto scalar = std::make_shared<Value>();
    scalar->type = call.results[0];
    scalar->type.shape.clear();
    scalar->tensor = from->part_tensor;
    scalar->scalar = from->scalar;
    return std::vector{call.writer.Broadcast(scalar, {}, call.results[0])};
  }
  return std::vector{call.writer.Reshaped(from, call.results[0].shape)};
}

Result<std::vector<ValueRef>> WriteReverse(const FormCall& call) {
  SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, call.Ints("dimensions"));
  for (const int64_t dim : dims) {
    if (dim < 0 || dim >= call.results[0].rank() || std::ranges::count(dims, dim) > 1) {
      return BadInput(StrCat("the operand has no dimension ", dim, ", or it is named twice"));
    }
  }
  return std::vector{call.writer.Reversed(call.operands[0], dims)};
}

Result<std::vector<ValueRef>> WriteSame(const FormCall& call) { return call.operands; }

// An op of which nothing is known: its operands are x0, x1, ...
Result<std::vector<ValueRef>> WriteNumbered(const FormCall& call, const std::string& op, Attributes attributes) {
  std::vector<std::string> names;
  for (size_t i = 0; i < call.operands.size(); ++i) names.push_back(StrCat("x", i));
  std::vector<NamedOperand> operands;
  for (size_t i = 0; i < names.size(); ++i) operands.push_back({names[i], call.Full(i)});
  return call.writer.Add(op, operands, std::move(attributes), call.results);
}

// Partitioner's marks pass; what else XLA or a device would be called for is an op of the user's.
Result<std::vector<ValueRef>> WriteCustomCall(const FormCall& call) {
  const auto target = call.op.attributes.find("call_target_name");
  const std::string name = target == call.op.attributes.end() ? "" : target->second.text;
  if ((name == "Sharding" || name == "xla.sdy.FuncResultSharding") && call.operands.size() == call.results.size()) {
    return call.operands;
  }
  const auto given = call.op.attributes.find("mhlo.attributes");
  if (name == "mhlo.topk" && call.operands.size() == 1 && given != call.op.attributes.end()) {
    const auto k = given->second.entries.find("k"), largest = given->second.entries.find("largest");
    const bool is_read = k != given->second.entries.end() && k->second.kind == Attribute::Kind::kInteger &&
                         (largest == given->second.entries.end() || largest->second.integer != 0);
    if (!is_read) return BadInput("expected mhlo.attributes = {k = NUMBER, largest = true}");
    Attributes attributes;
    attributes.Set("k", k->second.integer);
    return call.writer.Add("chlo::top_k", {{"x", call.Full(0)}}, std::move(attributes), call.results);
  }
  return WriteNumbered(call, StrCat("stablehlo::custom_call.", name), {});
}

Result<std::vector<ValueRef>> WriteConvert(const FormCall& call) {
  if (call.operands[0]->type == call.results[0]) return std::vector{call.operands[0]};
  const ValueRef& from = call.operands[0];
  if (!from->is_broadcast() || !from->tensor.empty()) {
    return std::vector{call.writer.AddOne("convert", {{"x", call.Full(0)}}, {}, call.results[0])};
  }
  // What is broadcast is cast before.
  const ValueRef part = std::make_shared<Value>();
  part->type = from->type;
  part->type.shape = from->held;
  part->tensor = from->part_tensor;
  TensorType type = part->type;
  type.dtype = call.results[0].dtype;
  const ValueRef value = std::make_shared<Value>(*from);
  value->type = call.results[0];
  value->part_tensor = call.writer.AddOne("convert", {{"x", part->tensor}}, {}, type)->tensor;
  value->scalar = nullptr;
  return std::vector{value};
}

constexpr FormRow kRows[] = {
    {"stablehlo.abs", "x", "", true},
    {"stablehlo.add", "lhs rhs", "", true},
    {"stablehlo.and", "lhs rhs", "", true},
    {"stablehlo.atan2", "lhs rhs", "", true},
    {"stablehlo.bitcast_convert", "x", ""},
    {"stablehlo.broadcast_in_dim", "x", "", false, WriteBroadcast},
    {"stablehlo.cbrt", "x", "", true},
    {"stablehlo.ceil", "x", "", true},
    {"stablehlo.clamp", "min x max", "", true},
    {"stablehlo.compare", "lhs rhs", "comparison_direction", true},
    {"stablehlo.concatenate", "inputs[]", "dimension"},
    {"stablehlo.constant", "", "", false, WriteConstant},
    {"stablehlo.convert", "x", "", false, WriteConvert},
    {"stablehlo.convolution", "x w", "", false, WriteConvolution},
    {"stablehlo.cosine", "x", "", true},
    {"stablehlo.custom_call", "inputs[]", "", false, WriteCustomCall},
    {"stablehlo.divide", "lhs rhs", "", true},
    {"stablehlo.dot_general", "lhs rhs", "", false, WriteDotGeneral},
    {"stablehlo.dynamic_slice", "operand starts[]", "", false, WriteDynamicSlice},
    {"stablehlo.dynamic_update_slice", "operand update starts[]", "", false, WriteDynamicUpdateSlice},
    {"stablehlo.exponential", "x", "", true},
    {"stablehlo.exponential_minus_one", "x", "", true},
    {"stablehlo.floor", "x", "", true},
    {"stablehlo.gather", "operand indices", "", false, WriteGather},
    {"stablehlo.iota", "", "", false, WriteIota},
    {"stablehlo.is_finite", "x", "", true},
    {"stablehlo.log", "x", "", true},
    {"stablehlo.log_plus_one", "x", "", true},
    {"stablehlo.logistic", "x", "", true},
    {"stablehlo.maximum", "lhs rhs", "", true},
    {"stablehlo.minimum", "lhs rhs", "", true},
    {"stablehlo.multiply", "lhs rhs", "", true},
    {"stablehlo.negate", "x", "", true},
    {"stablehlo.not", "x", "", true},
    {"stablehlo.optimization_barrier", "inputs[]", "", false, WriteSame},
    {"stablehlo.or", "lhs rhs", "", true},
    {"stablehlo.pad", "operand value", "", false, WritePad},
    {"stablehlo.power", "lhs rhs", "", true},
    {"stablehlo.reduce", "inputs[]", "", false, WriteReduce},
    {"stablehlo.reduce_precision", "x", "exponent_bits mantissa_bits", true},
    {"stablehlo.reduce_window", "inputs[]", "", false, WriteReduceWindow},
    {"stablehlo.remainder", "lhs rhs", "", true},
    {"stablehlo.reshape", "x", "", false, WriteReshape},
    {"stablehlo.reverse", "x", "", false, WriteReverse},
    {"stablehlo.round_nearest_afz", "x", "", true},
    {"stablehlo.round_nearest_even", "x", "", true},
    {"stablehlo.rsqrt", "x", "", true},
    {"stablehlo.scatter", "inputs[]", "", false, WriteScatter},
    {"stablehlo.select", "pred on_true on_false", "", true},
    {"stablehlo.select_and_scatter", "operand source value", "", false, WriteSelectAndScatter},
    {"stablehlo.shift_left", "lhs rhs", "", true},
    {"stablehlo.shift_right_arithmetic", "lhs rhs", "", true},
    {"stablehlo.shift_right_logical", "lhs rhs", "", true},
    {"stablehlo.sign", "x", "", true},
    {"stablehlo.sine", "x", "", true},
    {"stablehlo.slice", "x", "", false, WriteSlice},
    {"stablehlo.sort", "inputs[]", "", false, WriteSort},
    {"stablehlo.sqrt", "x", "", true},
    {"stablehlo.subtract", "lhs rhs", "", true},
    {"stablehlo.tan", "x", "", true},
    {"stablehlo.tanh", "x", "", true},
    {"stablehlo.transpose", "operand", "permutation"},
    {"stablehlo.xor", "lhs rhs", "", true},
    {"chlo.acos", "x", "", true},
    {"chlo.acosh", "x", "", true},
    {"chlo.asin", "x", "", true},
    {"chlo.asinh", "x", "", true},
    {"chlo.atan", "x", "", true},
    {"chlo.atanh", "x", "", true},
    {"chlo.bessel_i1e", "x", "", true},
    {"chlo.cosh", "x", "", true},
    {"chlo.digamma", "x", "", true},
    {"chlo.erf", "x", "", true},
    {"chlo.erf_inv", "x", "", true},
    {"chlo.erfc", "x", "", true},
    {"chlo.lgamma", "x", "", true},
    {"chlo.sinh", "x", "", true},
    {"chlo.square", "x", "", true},
    {"chlo.top_k", "x", "k"},
    {"sdy.reshard", "x", "", false, WriteSame},
    {"sdy.sharding_constraint", "x", "", false, WriteSame},
};

// "stablehlo.add" -> "stablehlo::add".
std::string Qualified(std::string_view op) {
  const size_t dot = op.find('.');
  if (dot == std::string_view::npos) return StrCat("mlir::", op);
  return StrCat(op.substr(0, dot), "::", op.substr(dot + 1));
}

// The attribute as a row of the table reads it; false: it has no such form.
bool Convert(const FormCall& call, std::string_view name, const Attribute& attribute, Attributes& attributes) {
  using Kind = Attribute::Kind;
  if (attribute.kind == Kind::kInteger) {
    attributes.Set(std::string(name), attribute.integer);
  } else if (attribute.kind == Kind::kFloat) {
    attributes.Set(std::string(name), attribute.number);
  } else if (attribute.kind == Kind::kString) {
    attributes.Set(std::string(name), attribute.text);
  } else if (attribute.kind == Kind::kDialect) {
    attributes.Set(std::string(name), call.Word(name));
  } else {
    Result<std::vector<int64_t>> values = IntegersOf(attribute, call.text);
    if (!values.ok()) return false;
    attributes.Set(std::string(name), *std::move(values));
  }
  return true;
}

std::vector<NamedOperand> Named(const FormRow& row, const std::vector<std::string>& tensors) {
  const std::vector<std::string_view> names = Split(row.operands, ' ');
  std::vector<NamedOperand> operands;
  for (size_t i = 0; i < tensors.size(); ++i) {
    std::string_view name = names[std::min(i, names.size() - 1)];
    if (name.ends_with("[]")) name.remove_suffix(2);
    operands.push_back({name, tensors[i]});
  }
  return operands;
}

Status CheckCount(const FormRow& row, size_t given) {
  const size_t names = row.operands.empty() ? 0 : Split(row.operands, ' ').size();
  const bool fits = row.operands.ends_with("[]") ? given + 1 >= names : given == names;
  if (fits) return OkStatus();
  return BadInput(StrCat("expected ", names, row.operands.ends_with("[]") ? " or more" : "", " operands (",
                         row.operands, "); found ", given));
}

Result<std::vector<ValueRef>> WriteUnknown(const FormCall& call) {
  Attributes attributes;
  for (const auto& [name, attribute] : call.op.attributes) {
    if (name.find('.') == std::string::npos) Convert(call, name, attribute, attributes);
  }
  return WriteNumbered(call, Qualified(call.op.name), std::move(attributes));
}

}  // namespace

Result<std::vector<int64_t>> FormCall::Ints(std::string_view name, std::vector<int64_t> fallback) const {
  const auto attribute = op.attributes.find(name);
  if (attribute == op.attributes.end()) return fallback;
  Result<std::vector<int64_t>> values = IntegersOf(attribute->second, text);
  if (!values.ok()) return values.status().WithContext(name);
  return values;
}

int64_t FormCall::Int(std::string_view name, int64_t fallback) const {
  const auto attribute = op.attributes.find(name);
  const bool given = attribute != op.attributes.end() && attribute->second.kind == Attribute::Kind::kInteger;
  return given ? attribute->second.integer : fallback;
}

std::string FormCall::Word(std::string_view name) const {
  const auto attribute = op.attributes.find(name);
  if (attribute == op.attributes.end()) return "";
  const std::string_view body =
      Trim(text.substr(attribute->second.begin, attribute->second.end - attribute->second.begin));
  return std::string(body.substr(body.rfind(' ') + 1));
}

const std::vector<int64_t>& DimensionNumbers::operator[](std::string_view name) const {
  static const std::vector<int64_t> kNone;
  const auto list = lists.find(name);
  return list == lists.end() ? kNone : list->second;
}

int64_t DimensionNumbers::Number(std::string_view name, int64_t fallback) const {
  const std::vector<int64_t>& list = (*this)[name];
  return list.empty() ? fallback : list.front();
}

Result<DimensionNumbers> DimensionNumbersOf(const FormCall& call, std::string_view attribute) {
  DimensionNumbers numbers;
  const auto given = call.op.attributes.find(attribute);
  if (given == call.op.attributes.end() || given->second.kind != Attribute::Kind::kDialect) {
    return BadInput(StrCat("expected an attribute ", attribute));
  }
  Cursor cursor(call.text, given->second.begin, given->second.end);
  while (!cursor.AtEnd()) {
    const std::string name(cursor.Word());
    if (name.empty()) return cursor.Unexpected("NAME = [NUMBERS]");
    SBP_RETURN_IF_ERROR(cursor.Expect("=", "and dimensions"));
    std::vector<int64_t>& list = numbers.lists[name];
    if (cursor.Take("[")) {
      while (!cursor.Take("]")) {
        SBP_ASSIGN_OR_RETURN(list.emplace_back(), cursor.Integer());
        cursor.Take(",");
      }
    } else {
      SBP_ASSIGN_OR_RETURN(list.emplace_back(), cursor.Integer());
    }
    cursor.Take(",");
  }
  return numbers;
}

Result<std::vector<ValueRef>> WriteForm(const FormCall& call) {
  const auto row = std::ranges::find(kRows, std::string_view(call.op.name), &FormRow::op);
  if (row == std::end(kRows)) return WriteUnknown(call);
  SBP_RETURN_IF_ERROR(CheckCount(*row, call.operands.size()));
  if (call.results.size() == 1) {
    const std::string direction = row->attributes == "comparison_direction" ? call.Word(row->attributes) : "";
    if (ValueRef known = FoldKnown(call.op.name, call.operands, direction, call.results[0])) return std::vector{known};
  }
  if (row->form != nullptr) return row->form(call);
  Attributes attributes;
  for (const std::string_view name : Split(row->attributes, ' ')) {
    const auto given = call.op.attributes.find(name);
    if (name.empty() || given == call.op.attributes.end()) continue;
    if (!Convert(call, name, given->second, attributes))
      return BadInput(StrCat("attribute ", name, " is not readable"));
  }
  std::vector<std::string> tensors;
  if (row->by_element) {
    tensors = call.writer.Matched(call.operands, call.results[0].shape);
  } else {
    for (size_t i = 0; i < call.operands.size(); ++i) tensors.push_back(call.Full(i));
  }
  return call.writer.Add(Qualified(row->op), Named(*row, tensors), std::move(attributes), call.results);
}

}  // namespace sbp::stablehlo
