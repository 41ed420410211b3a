#include "stablehlo/values.h"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "base/ids.h"
#include "base/text.h"
#include "sbp/shard_math.h"

namespace sbp::stablehlo {
namespace {

constexpr size_t kMaxSharedConstant = 64;  // elements; larger constants are not compared

Shape WithoutLeadingOnes(const Shape& shape) {
  size_t first = 0;
  while (first < shape.size() && shape[first] == 1) ++first;
  Shape rest;
  for (; first < shape.size(); ++first) rest.push_back(shape[first]);
  return rest;
}

// Numpy's broadcast of the shapes, or an empty optional's worth: false.
bool BroadcastsTo(const std::vector<const Shape*>& shapes, const Shape& result) {
  for (size_t back = 1; back <= result.size(); ++back) {
    int64_t size = 1;
    for (const Shape* shape : shapes) {
      if (back > shape->size()) continue;
      const int64_t own = (*shape)[shape->size() - back];
      if (own == 1) continue;
      if (size != 1 && size != own) return false;
      size = own;
    }
    if (size != result[result.size() - back]) return false;
  }
  return std::ranges::all_of(shapes, [&](const Shape* shape) { return shape->size() <= result.size(); });
}

}  // namespace

std::string Writer::NewName(std::string_view hint) {
  std::string name(hint);
  if (taken_.insert(name).second) return name;
  int& number = numbers_.try_emplace(name, 1).first->second;
  do name = StrCat(hint, "_", ++number);
  while (!taken_.insert(name).second);
  return name;
}

std::vector<ValueRef> Writer::Add(std::string_view op, const std::vector<NamedOperand>& operands, Attributes attributes,
                                  const std::vector<TensorType>& results) {
  std::vector<std::string> tensors, names, written;
  for (const NamedOperand& operand : operands) {
    tensors.push_back(operand.tensor);
    names.emplace_back(operand.name);
  }
  attributes.Set("_operands", std::move(names));
  std::vector<ValueRef> values;
  const std::string hint = name_.empty() ? std::string(op) : name_;
  for (size_t i = 0; i < results.size(); ++i) {
    ValueRef value = std::make_shared<Value>();
    value->type = results[i];
    value->tensor = NewName(hint);
    builder_.DescribeTensor(value->tensor, results[i]);
    written.push_back(value->tensor);
    values.push_back(std::move(value));
  }
  const OpId id = builder_.AddOp(op.find("::") == std::string_view::npos ? StrCat("stablehlo::", op) : std::string(op),
                                 written.front(), tensors, written, std::move(attributes), scope_);
  if (!source_.empty()) builder_.graph().op(id).metadata.emplace_back("source", source_);
  return values;
}

ValueRef Writer::Constant(Literal literal, const TensorType& type, bool splat) {
  ValueRef value = std::make_shared<Value>();
  value->type = type;
  const LiteralRef shared = std::make_shared<const Literal>(std::move(literal));
  std::string tensor;
  const bool is_small = std::max(shared->ints.size(), shared->floats.size()) <= kMaxSharedConstant;
  std::string key;
  if (is_small) {
    key = StrCat(ToString(shared->type), " ", Join(shared->ints, ","));
    for (const double number : shared->floats) key += StrCat(" ", std::bit_cast<uint64_t>(number));
    tensor = constants_[key];
  }
  if (tensor.empty()) {
    const bool is_scalar = shared->type.rank() == 0;
    tensor = NewName(is_scalar && is_small ? StrCat("constant/", ToString(*shared)) : "constant");
    builder_.AddParameter(tensor, shared->type, shared);
    if (is_small) constants_[key] = tensor;
  }
  if (std::max(shared->ints.size(), shared->floats.size()) == 1) value->scalar = shared;
  if (!splat || type.rank() == 0) {
    value->tensor = tensor;
    value->literal = shared;
    return value;
  }
  value->part_tensor = tensor;
  for (int i = 0; i < type.rank(); ++i) value->part.push_back(1);
  return value;
}

ValueRef Writer::Broadcast(const ValueRef& from, const std::vector<int64_t>& dims, const TensorType& type) {
  ValueRef value = std::make_shared<Value>();
  value->type = type;
  value->scalar = from->scalar;
  value->part_tensor = from->is_broadcast() ? from->part_tensor : from->tensor;
  value->held = from->is_broadcast() ? from->held : from->type.shape;
  const Shape& part = from->is_broadcast() ? from->part : from->type.shape;
  for (int i = 0; i < type.rank(); ++i) value->part.push_back(1);
  for (size_t i = 0; i < dims.size(); ++i) value->part[static_cast<size_t>(dims[i])] = part[i];
  if (from->iota >= 0) value->iota = static_cast<int>(dims[static_cast<size_t>(from->iota)]);
  return value;
}

ValueRef Writer::Reshaped(const ValueRef& value, const Shape& shape) {
  if (value->type.shape == shape) return value;
  TensorType type = value->type;
  type.shape = shape;
  ValueRef made = AddOne("reshape", {{"operand", Full(value)}}, {}, type);
  made->scalar = value->scalar;
  return made;
}

ValueRef Writer::Transposed(const ValueRef& value, const std::vector<int64_t>& permutation) {
  bool is_same = true;
  TensorType type = value->type;
  for (size_t i = 0; i < permutation.size(); ++i) {
    is_same = is_same && permutation[i] == static_cast<int64_t>(i);
    type.shape[i] = value->type.shape[static_cast<size_t>(permutation[i])];
  }
  if (is_same) return value;
  Attributes attributes;
  attributes.Set("permutation", permutation);
  return AddOne("transpose", {{"operand", Full(value)}}, std::move(attributes), type);
}

ValueRef Writer::Copied(const ValueRef& value) {
  const ValueRef copy = std::make_shared<Value>();
  copy->type = value->type;
  copy->tensor = NewName(name_);
  builder_.DescribeTensor(copy->tensor, copy->type);
  const OpId id = builder_.AddOp("Identity", copy->tensor, {Full(value)}, {copy->tensor}, {}, scope_);
  if (!source_.empty()) builder_.graph().op(id).metadata.emplace_back("source", source_);
  return copy;
}

std::string Writer::Part(const ValueRef& value) {
  const Shape wanted = WithoutLeadingOnes(value->part);
  if (WithoutLeadingOnes(value->held) == wanted && value->held.size() <= value->part.size()) return value->part_tensor;
  std::string& shaped = shaped_[{value->part_tensor, wanted}];
  if (!shaped.empty()) return shaped;
  TensorType type = value->type;
  type.shape = wanted;
  shaped = AddOne("reshape", {{"operand", value->part_tensor}}, {}, type)->tensor;
  return shaped;
}

std::string Writer::Full(const ValueRef& value) {
  if (!value->tensor.empty()) return value->tensor;
  if (value->part == value->type.shape && value->held == value->type.shape) {
    value->tensor = value->part_tensor;
    return value->tensor;
  }
  const bool is_whole = value->part == value->type.shape;  // only 1s were inserted or moved
  const std::string from = is_whole ? value->part_tensor : Part(value);
  value->tensor = AddOne(is_whole ? "reshape" : "broadcast_in_dim", {{"operand", from}}, {}, value->type)->tensor;
  return value->tensor;
}

std::vector<std::string> Writer::Matched(const std::vector<ValueRef>& values, const Shape& shape) {
  std::vector<const Shape*> shapes;
  for (const ValueRef& value : values) shapes.push_back(value->is_broadcast() ? &value->part : &value->type.shape);
  for (size_t i = 0; i < values.size() && !BroadcastsTo(shapes, shape); ++i) shapes[i] = &values[i]->type.shape;
  // Leading 1s of parts are dropped: where the result has some, one operand keeps its rank.
  const auto is_whole = [&](const ValueRef& value) {
    return !value->is_broadcast() && value->type.rank() == static_cast<int>(shape.size());
  };
  if (!shape.empty() && shape.front() == 1 && std::ranges::none_of(values, is_whole))
    shapes[0] = &values[0]->type.shape;
  std::vector<std::string> tensors;
  for (size_t i = 0; i < values.size(); ++i) {
    const bool is_part = values[i]->is_broadcast() && shapes[i] == &values[i]->part;
    tensors.push_back(is_part ? Part(values[i]) : Full(values[i]));
  }
  return tensors;
}

}  // namespace sbp::stablehlo
