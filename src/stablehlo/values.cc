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
constexpr int kMaxOverlays = 1024;         // below each other, each looked at when one is read

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
  value->part_tensor = from->is_broadcast() ? from->part_tensor : Full(from);
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

ValueRef Writer::Known(int64_t number, DType dtype) {
  const ValueRef value = std::make_shared<Value>();
  value->scalar = std::make_shared<const Literal>(Literal::Scalar(number, dtype));
  value->type = value->scalar->type;
  value->literal = value->scalar;
  return value;
}

void Writer::Settle(const ValueRef& value) {
  if (value->overlay == nullptr) return;
  Full(value);
  value->overlay = nullptr;
}

ValueRef Writer::Reversed(const ValueRef& value, const std::vector<int64_t>& dims) {
  const ValueRef& base = value->turned == nullptr ? value : value->turned;
  Settle(base);
  const ValueRef made = std::make_shared<Value>();
  made->type = value->type;
  made->turned = base;
  for (int dim = 0; dim < value->type.rank(); ++dim) {
    const bool is_turned = std::ranges::count(dims, dim) != std::ranges::count(value->turned_dims, dim);
    if (is_turned && value->type.shape[static_cast<size_t>(dim)] > 1) made->turned_dims.push_back(dim);
  }
  return made->turned_dims.empty() ? base : made;
}

ValueRef Writer::Sliced(const ValueRef& value, const std::vector<int64_t>& start, const std::vector<int64_t>& limit) {
  TensorType type = value->type;
  std::vector<size_t> cut;  // dimensions that are not whole
  for (size_t i = 0; i < start.size(); ++i) {
    type.shape[i] = limit[i] - start[i];
    if (type.shape[i] != value->type.shape[i]) cut.push_back(i);
  }
  if (cut.empty()) return value;
  ValueRef from = value;
  for (; cut.size() == 1 && from->overlay != nullptr; from = from->overlay->under) {
    const Overlay& top = *from->overlay;
    const auto dim = static_cast<size_t>(top.dim);
    const int64_t end = top.start + top.over->type.shape[dim];
    if (cut[0] == dim && start[dim] == top.start && limit[dim] == end) return top.over;
    if (cut[0] != dim || (start[dim] < end && limit[dim] > top.start)) break;
  }
  if (from->scalar != nullptr && from->is_broadcast()) {
    const ValueRef made = std::make_shared<Value>(*from);
    made->type = type;
    made->tensor.clear();
    if (std::ranges::all_of(from->part, [](int64_t size) { return size == 1; })) return made;
  }
  Attributes attributes;
  attributes.Set("start_indices", start);
  attributes.Set("limit_indices", limit);
  attributes.Set("strides", std::vector<int64_t>(start.size(), 1));
  return AddOne("slice", {{"x", Full(from)}}, std::move(attributes), type);
}

ValueRef Writer::Updated(const ValueRef& value, const ValueRef& update, const std::vector<int64_t>& start) {
  std::vector<size_t> cut;
  for (size_t i = 0; i < start.size(); ++i) {
    if (update->type.shape[i] != value->type.shape[i]) cut.push_back(i);
  }
  if (cut.empty()) return update;
  ValueRef over = update;
  const size_t dim = cut[0];
  const int64_t size = update->type.shape[dim];
  if (size == 0) return value;
  if (cut.size() > 1) {  // a block of all others' size, itself updated
    std::vector<int64_t> from(start.size(), 0), to = value->type.shape, at = start;
    from[dim] = start[dim];
    to[dim] = start[dim] + size;
    at[dim] = 0;
    over = Updated(Sliced(value, from, to), update, at);
  }
  Full(over);
  Settle(over);
  const bool is_overlaid = value->overlay != nullptr;
  if (is_overlaid && (value->overlay->dim != static_cast<int>(dim) || value->overlay->depth >= kMaxOverlays)) {
    Settle(value);
  }
  const ValueRef made = std::make_shared<Value>();
  made->type = value->type;
  made->overlay = std::make_shared<const Overlay>(Overlay{value, over, static_cast<int>(dim), start[dim],
                                                          value->overlay == nullptr ? 1 : value->overlay->depth + 1});
  return made;
}

ValueRef Writer::Concatenated(const std::vector<ValueRef>& values, int64_t dim) {
  if (values.size() == 1) return values[0];
  TensorType type = values[0]->type;
  type.shape[static_cast<size_t>(dim)] = 0;
  std::vector<NamedOperand> operands;
  for (const ValueRef& value : values) {
    type.shape[static_cast<size_t>(dim)] += value->type.shape[static_cast<size_t>(dim)];
    operands.push_back({"inputs", Full(value)});
  }
  Attributes attributes;
  attributes.Set("dimension", dim);
  return AddOne("concatenate", operands, std::move(attributes), type);
}

ValueRef Writer::Joined(const ValueRef& value) {
  const auto dim = static_cast<size_t>(value->overlay->dim);
  struct Stretch {
    int64_t end;
    ValueRef from;
    int64_t offset;  // of the stretch's start in `from`
  };
  std::map<int64_t, Stretch> covered;  // by start, from the newest on
  // The gaps between `begin` and `end` are `from`'s, which begins at `origin`.
  const auto cover = [&](int64_t begin, int64_t end, int64_t origin, const ValueRef& from) {
    std::vector<std::pair<int64_t, int64_t>> gaps;
    int64_t at = begin;
    for (const auto& [start, stretch] : covered) {
      if (stretch.end <= at) continue;
      if (start >= end) break;
      if (start > at) gaps.emplace_back(at, start);
      at = stretch.end;
    }
    if (at < end) gaps.emplace_back(at, end);
    for (const auto& [start, stop] : gaps) covered[start] = {stop, from, start - origin};
  };
  ValueRef at = value;
  for (; at->overlay != nullptr && at->tensor.empty(); at = at->overlay->under) {
    const Overlay& top = *at->overlay;
    cover(top.start, top.start + top.over->type.shape[dim], top.start, top.over);
  }
  cover(0, value->type.shape[dim], 0, at);
  std::vector<ValueRef> parts;
  for (const auto& [start, stretch] : covered) {
    std::vector<int64_t> from(value->type.shape.size(), 0), to = stretch.from->type.shape;
    from[dim] = stretch.offset;
    to[dim] = stretch.offset + stretch.end - start;
    parts.push_back(Sliced(stretch.from, from, to));
  }
  return Concatenated(parts, static_cast<int64_t>(dim));
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
  if (value->overlay != nullptr) return value->tensor = Full(Joined(value));
  if (value->turned != nullptr) {
    Attributes attributes;
    attributes.Set("dimensions", value->turned_dims);
    return value->tensor = AddOne("reverse", {{"x", Full(value->turned)}}, std::move(attributes), value->type)->tensor;
  }
  if (!value->is_broadcast()) return value->tensor = Constant(Literal(*value->literal), value->type, false)->tensor;
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
