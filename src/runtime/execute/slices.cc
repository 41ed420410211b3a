// Cutting and joining whole tensors along one dimension: what loops and sequences do.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "graph/tensor_type.h"
#include "kernel/view.h"
#include "runtime/data/box.h"
#include "runtime/data/value.h"
#include "runtime/execute/special_ops.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

Box WholeBox(const Shape& shape) {
  Box box;
  for (const int64_t size : shape) box.push_back({0, size});
  return box;
}

// An axis in 0 .. rank - 1, counted from the end when negative.
Result<int64_t> AxisIn(int64_t axis, size_t rank) {
  const auto n = static_cast<int64_t>(rank);
  if (axis < -n || axis >= n) return RunFailed(StrCat("axis ", axis, " of a tensor of rank ", n));
  return axis < 0 ? axis + n : axis;
}

// As `shape`, in the same memory.
Value Reshaped(Value value, Shape shape) {
  value.view = WholeView(value.view.dtype, std::move(shape), value.view.data);
  return value;
}

}  // namespace

Result<Value> SliceAlong(const Value& value, int64_t axis, int64_t begin, int64_t end) {
  SBP_ASSIGN_OR_RETURN(axis, AxisIn(axis, value.view.shape.size()));
  Shape shape = value.view.shape;
  if (begin < 0 || end > shape[axis] || begin > end) {
    return RunFailed(StrCat("[", begin, ", ", end, ") of a dimension of ", shape[axis]));
  }
  shape[axis] = end - begin;
  SBP_ASSIGN_OR_RETURN(Value part, MakeTensor(value.view.dtype, shape));
  Box box = WholeBox(value.view.shape);
  box[axis] = {begin, end};
  CopyBox(value.view.dtype, box, value.view.data, WholeBox(value.view.shape), part.view.data, box);
  return part;
}

Result<Value> TakeAlong(const Value& value, int64_t axis, int64_t index) {
  SBP_ASSIGN_OR_RETURN(axis, AxisIn(axis, value.view.shape.size()));
  SBP_ASSIGN_OR_RETURN(Value part, SliceAlong(value, axis, index, index + 1));
  Shape shape = part.view.shape;
  shape.erase(shape.begin() + axis);
  return Reshaped(std::move(part), std::move(shape));
}

Result<Value> ConcatAlong(const std::vector<Value>& values, int64_t axis) {
  if (values.empty()) return RunFailed("nothing to join");
  Shape whole = values[0].view.shape;
  SBP_ASSIGN_OR_RETURN(axis, AxisIn(axis, whole.size()));
  whole[axis] = 0;
  for (const Value& value : values) {
    Shape shape = value.view.shape;
    if (shape.size() == whole.size()) {
      const int64_t size = shape[axis];
      shape[axis] = whole[axis];
      if (shape == whole && value.view.dtype == values[0].view.dtype) {
        whole[axis] += size;
        continue;
      }
    }
    return RunFailed(StrCat("tensors of different shapes or types cannot be joined: ",
                            ToString(TensorType{values[0].view.dtype, values[0].view.shape}), " and ",
                            ToString(TensorType{value.view.dtype, value.view.shape})));
  }
  SBP_ASSIGN_OR_RETURN(Value joined, MakeTensor(values[0].view.dtype, whole));
  int64_t at = 0;
  for (const Value& value : values) {
    Box box = WholeBox(value.view.shape);
    box[axis] = {at, at + value.view.shape[axis]};
    at = box[axis].end;
    CopyBox(value.view.dtype, box, value.view.data, box, joined.view.data, WholeBox(whole));
  }
  return joined;
}

Result<Value> StackAlong(const std::vector<Value>& values, int64_t axis) {
  if (values.empty()) return RunFailed("nothing to stack");
  SBP_ASSIGN_OR_RETURN(axis, AxisIn(axis, values[0].view.shape.size() + 1));
  std::vector<Value> raised;
  for (const Value& value : values) {
    Shape shape = value.view.shape;
    if (static_cast<size_t>(axis) > shape.size()) return RunFailed("tensors of different ranks cannot be stacked");
    shape.insert(shape.begin() + axis, 1);
    raised.push_back(Reshaped(value, std::move(shape)));
  }
  return ConcatAlong(raised, axis);
}

}  // namespace sbp
