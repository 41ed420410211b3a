// slice, dynamic_slice and dynamic_update_slice: at known places, as those of loops are, what was written is read
// again without a copy; at computed ones, by gather and scatter along each dimension.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "sbp/shard_math.h"
#include "stablehlo/dims.h"
#include "stablehlo/forms.h"
#include "stablehlo/known.h"
#include "stablehlo/values.h"

namespace sbp::stablehlo {
namespace {

// Where a block begins: known dimensions by number, 0 in the place of the others.
struct BlockPlaces {
  Dims known;
  std::vector<size_t> computed;  // dimensions
};

// The operands from `first` on are where a block of `sizes` begins, moved inside.
Result<BlockPlaces> PlacesOfBlock(const FormCall& call, size_t first, const Dims& sizes) {
  const Shape& shape = call.operands[0]->type.shape;
  if (call.operands.size() != first + shape.size() || sizes.size() != shape.size()) {
    return BadInput(StrCat("expected a size and a start for each of ", shape.size(), " dimensions"));
  }
  BlockPlaces places;
  for (size_t i = 0; i < shape.size(); ++i) {
    const Value& start = *call.operands[first + i];
    if (sizes[i] < 0 || sizes[i] > shape[i]) {
      return BadInput(StrCat("a block of ", sizes[i], " does not fit dimension ", i, " of ", shape[i]));
    }
    if (start.type.rank() != 0) return BadInput("expected scalars to start at");
    const std::optional<int64_t> number = sizes[i] == shape[i] ? int64_t{0} : KnownNumber(start);
    places.known.push_back(std::clamp<int64_t>(number.value_or(0), 0, shape[i] - sizes[i]));
    if (!number) places.computed.push_back(i);
  }
  return places;
}

// The indices along `dim`, of which the operand `start` is the first: a vector.
ValueRef IndicesFrom(const FormCall& call, ValueRef start, int64_t size, int64_t of) {
  if (BytesOf(start->type.dtype, 1) < 4)  // the last index may be no number of its type
    start = call.writer.AddOne("convert", {{"x", call.writer.Full(start)}}, {}, {DType::kI64, start->type.shape});
  const TensorType line{start->type.dtype, {size}};
  const ValueRef low = Writer::Known(0, start->type.dtype), high = Writer::Known(of - size, start->type.dtype);
  const ValueRef first = call.writer.AddOne(
      "clamp", {{"min", call.writer.Full(low)}, {"x", call.writer.Full(start)}, {"max", call.writer.Full(high)}}, {},
      start->type);
  if (size == 1) return call.writer.Reshaped(first, {1});
  const ValueRef counts = call.writer.AddOne("iota", {}, {}, line);
  return call.writer.AddOne("add", {{"lhs", call.writer.Full(first)}, {"rhs", call.writer.Full(counts)}}, {}, line);
}

ValueRef GatheredAlong(const FormCall& call, const ValueRef& value, size_t dim, const ValueRef& indices) {
  TensorType type = value->type;
  type.shape[dim] = indices->type.shape[0];
  Attributes attributes;
  attributes.Set("axis", static_cast<int64_t>(dim));
  return call.writer.AddOne("gather", {{"operand", call.writer.Full(value)}, {"indices", call.writer.Full(indices)}},
                            std::move(attributes), type);
}

// `value` with `update` at computed places along `dims`, as large as it along the others.
ValueRef WrittenAt(const FormCall& call, const ValueRef& value, const ValueRef& update, std::vector<size_t> dims) {
  if (dims.empty()) return update;
  const size_t dim = dims.back();
  dims.pop_back();
  const ValueRef indices = IndicesFrom(call, call.operands[2 + dim], update->type.shape[dim], value->type.shape[dim]);
  const ValueRef block =
      dims.empty() ? update : WrittenAt(call, GatheredAlong(call, value, dim, indices), update, dims);
  Attributes attributes;
  attributes.Set("axis", static_cast<int64_t>(dim));
  return call.writer.AddOne("write_along",
                            {{"operand", call.writer.Full(value)},
                             {"indices", call.writer.Full(indices)},
                             {"updates", call.writer.Full(block)}},
                            std::move(attributes), value->type);
}

Dims SumOf(Dims a, const Dims& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

}  // namespace

Result<std::vector<ValueRef>> WriteSlice(const FormCall& call) {
  const Shape& shape = call.operands[0]->type.shape;
  SBP_ASSIGN_OR_RETURN(const Dims start, call.Ints("start_indices"));
  SBP_ASSIGN_OR_RETURN(const Dims limit, call.Ints("limit_indices"));
  SBP_ASSIGN_OR_RETURN(Dims strides, call.Ints("strides", Dims(shape.size(), 1)));
  if (start.size() != shape.size() || limit.size() != shape.size() || strides.size() != shape.size()) {
    return BadInput("expected a start, a limit and a stride for each dimension");
  }
  for (size_t i = 0; i < shape.size(); ++i) {
    if (start[i] < 0 || limit[i] < start[i] || limit[i] > shape[i] || strides[i] < 1) {
      return BadInput(
          StrCat("[", start[i], ", ", limit[i], ") by ", strides[i], " is no part of dimension ", i, " of ", shape[i]));
    }
  }
  if (std::ranges::all_of(strides, [](int64_t stride) { return stride == 1; })) {
    return std::vector{call.writer.Sliced(call.operands[0], start, limit)};
  }
  Attributes attributes;
  attributes.Set("start_indices", start);
  attributes.Set("limit_indices", limit);
  attributes.Set("strides", std::move(strides));
  return call.writer.Add("slice", {{"x", call.Full(0)}}, std::move(attributes), call.results);
}

Result<std::vector<ValueRef>> WriteDynamicSlice(const FormCall& call) {
  SBP_ASSIGN_OR_RETURN(const Dims sizes, call.Ints("slice_sizes"));
  SBP_ASSIGN_OR_RETURN(const BlockPlaces places, PlacesOfBlock(call, 1, sizes));
  const Shape& shape = call.operands[0]->type.shape;
  if (places.computed.empty() && call.results[0].num_elements() == 1) {
    if (const std::optional<int64_t> number = KnownElement(*call.operands[0], places.known)) {
      const ValueRef known = Writer::Known(*number, call.results[0].dtype);
      return std::vector{call.results[0].rank() == 0 ? known : call.writer.Broadcast(known, {}, call.results[0])};
    }
  }
  Dims limit = SumOf(places.known, sizes);
  for (const size_t dim : places.computed) limit[dim] = shape[dim];
  ValueRef value = call.writer.Sliced(call.operands[0], places.known, limit);
  for (const size_t dim : places.computed) {
    value = GatheredAlong(call, value, dim, IndicesFrom(call, call.operands[1 + dim], sizes[dim], shape[dim]));
  }
  return std::vector{value};
}

Result<std::vector<ValueRef>> WriteDynamicUpdateSlice(const FormCall& call) {
  const ValueRef &value = call.operands[0], &update = call.operands[1];
  if (value->type.dtype != update->type.dtype) return BadInput("the update is of another type");
  SBP_ASSIGN_OR_RETURN(const BlockPlaces places, PlacesOfBlock(call, 2, update->type.shape));
  Dims limit = SumOf(places.known, update->type.shape);
  for (const size_t dim : places.computed) limit[dim] = value->type.shape[dim];
  if (places.computed.empty()) return std::vector{call.writer.Updated(value, update, places.known)};
  const ValueRef block = WrittenAt(call, call.writer.Sliced(value, places.known, limit), update, places.computed);
  return std::vector{call.writer.Updated(value, block, places.known)};
}

}  // namespace sbp::stablehlo
