// reduce_window and select_and_scatter, as pools of ONNX, whose windows slide over all but two dimensions, and
// running sums.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/checked_math.h"
#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "sbp/shard_math.h"
#include "stablehlo/dims.h"
#include "stablehlo/forms.h"
#include "stablehlo/syntax.h"
#include "stablehlo/values.h"

namespace sbp::stablehlo {
namespace {

constexpr int64_t kMaxPool = int64_t{1} << 30;
constexpr size_t kMaxSlid = 3;  // dimensions that a pool slides over

// Of each dimension of the operand.
struct Windows {
  Dims sizes, strides, dilations, between, low, high;

  bool IsTrivial(size_t dim) const {
    return sizes[dim] == 1 && strides[dim] == 1 && low[dim] == 0 && high[dim] == 0 && between[dim] == 0;
  }
};

Result<Dims> WindowAttribute(const FormCall& call, std::string_view name, size_t rank, int64_t fallback) {
  SBP_ASSIGN_OR_RETURN(Dims values, call.Ints(name, Dims(rank, 1)));
  const auto is_out = [&](int64_t value) { return value < 1 || value > kMaxPool; };
  if (values.size() != rank || std::ranges::any_of(values, is_out)) {
    return BadInput(StrCat("expected ", rank, " positive numbers of ", name));
  }
  for (int64_t& value : values) value -= 1 - fallback;
  return values;
}

Result<Windows> ReadWindows(const FormCall& call, const TensorType& data, const TensorType& result) {
  Windows windows;
  const size_t rank = data.shape.size();
  SBP_ASSIGN_OR_RETURN(windows.sizes, WindowAttribute(call, "window_dimensions", rank, 1));
  SBP_ASSIGN_OR_RETURN(windows.strides, WindowAttribute(call, "window_strides", rank, 1));
  SBP_ASSIGN_OR_RETURN(windows.dilations, WindowAttribute(call, "window_dilations", rank, 1));
  SBP_ASSIGN_OR_RETURN(windows.between, WindowAttribute(call, "base_dilations", rank, 0));
  SBP_ASSIGN_OR_RETURN(const Dims padding, call.Ints("padding", Dims(2 * rank, 0)));
  if (padding.size() != 2 * rank) return BadInput(StrCat("expected ", 2 * rank, " borders"));
  if (result.shape.size() != rank) return BadInput("expected a result of as many dimensions as the operand");
  for (size_t i = 0; i < rank; ++i) {
    windows.low.push_back(padding[2 * i]);
    windows.high.push_back(padding[2 * i + 1]);
    if (std::max(std::abs(windows.low[i]), std::abs(windows.high[i])) > kMaxPool || data.shape[i] < 1 ||
        data.shape[i] > kMaxPool) {
      return BadInput("sizes or borders are out of range");
    }
    const int64_t held = (data.shape[i] - 1) * (windows.between[i] + 1) + 1 + windows.low[i] + windows.high[i];
    const int64_t room = held - (windows.sizes[i] - 1) * windows.dilations[i] - 1;
    if (result.shape[i] != (room < 0 ? 0 : room / windows.strides[i] + 1)) {
      return BadInput(StrCat("the windows make another size of dimension ", i, " than the result has"));
    }
  }
  return windows;
}

// As pools want a tensor: two dimensions over which no window slides, then the others. Where there are not two, of
// size 1.
struct PoolOrder {
  Dims order;          // of the tensor's dimensions
  size_t missing = 0;  // of the two

  Shape ShapeOf(const Shape& shape) const { return Joined(Dims(missing, 1), Picked(shape, order)); }
  // How many dimensions stand behind the two.
  size_t Slid(size_t rank) const { return rank + missing - 2; }
  // Of the dimensions behind the two.
  Dims SlidOf(const Dims& values) const {
    const Dims all = Picked(values, order);
    return {all.begin() + static_cast<ptrdiff_t>(2 - missing), all.end()};
  }
};

PoolOrder OrderOf(const Windows& windows) {
  Dims still, slid;
  for (size_t i = 0; i < windows.sizes.size(); ++i) {
    (windows.IsTrivial(i) ? still : slid).push_back(static_cast<int64_t>(i));
  }
  PoolOrder order;
  order.missing = still.size() < 2 ? 2 - still.size() : 0;
  if (still.size() > 2) std::rotate(still.begin() + 1, still.end() - 1, still.end());  // the first and the last
  order.order = Joined(still, slid);
  return order;
}

ValueRef Ordered(const FormCall& call, const PoolOrder& order, const ValueRef& value) {
  return call.writer.Reshaped(call.writer.Transposed(value, order.order), order.ShapeOf(value->type.shape));
}

ValueRef Restored(const FormCall& call, const PoolOrder& order, const ValueRef& value) {
  const Shape& shape = value->type.shape;
  const ValueRef plain =
      call.writer.Reshaped(value, Shape(shape.begin() + static_cast<ptrdiff_t>(order.missing), shape.end()));
  return call.writer.Transposed(plain, Inverse(order.order));
}

// Running sums are windows as large as the dimension, all of which but one element stands before it or behind it.
// That dimension; -1: they are something else.
int RunningDim(const Windows& windows, const Shape& shape) {
  int running = -1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (windows.IsTrivial(i)) continue;
    const int64_t border = shape[i] - 1;
    const bool is_before = windows.low[i] == border && windows.high[i] == 0;
    const bool is_behind = windows.low[i] == 0 && windows.high[i] == border;
    const bool is_running = windows.sizes[i] == shape[i] && windows.strides[i] == 1 && windows.dilations[i] == 1 &&
                            windows.between[i] == 0 && (is_before || is_behind);
    if (!is_running || running >= 0) return -1;
    running = static_cast<int>(i);
  }
  return running;
}

// Windows of more dimensions than pools have are windows of these, one after the other.
std::vector<Windows> Stages(const Windows& windows) {
  const size_t rank = windows.sizes.size();
  Windows none;
  none.sizes = none.strides = none.dilations = Dims(rank, 1);
  none.between = none.low = none.high = Dims(rank, 0);
  Dims slid;
  for (size_t i = 0; i < rank; ++i) {
    if (!windows.IsTrivial(i)) slid.push_back(static_cast<int64_t>(i));
  }
  if (slid.empty()) return {};
  const size_t at_once = OrderOf(windows).Slid(rank) <= kMaxSlid ? slid.size() : 1;
  std::vector<Windows> stages;
  for (size_t i = 0; i < slid.size(); ++i) {
    if (i % at_once == 0) stages.push_back(none);
    const auto dim = static_cast<size_t>(slid[i]);
    Windows& stage = stages.back();
    stage.sizes[dim] = windows.sizes[dim];
    stage.strides[dim] = windows.strides[dim];
    stage.dilations[dim] = windows.dilations[dim];
    stage.low[dim] = windows.low[dim];
    stage.high[dim] = windows.high[dim];
  }
  return stages;
}

// Of data without negative borders.
Result<ValueRef> Pooled(const FormCall& call, const Windows& windows, const ValueRef& data,
                        const std::string& reducer) {
  const PoolOrder order = OrderOf(windows);
  if (order.Slid(data->type.shape.size()) > kMaxSlid) {
    return BadInput(StrCat("windows over a tensor of ", data->type.rank(), " dimensions are not read: at most 5"));
  }
  TensorType type = data->type;
  int64_t elements = 1;
  for (size_t i = 0; i < type.shape.size(); ++i) {
    const int64_t room =
        type.shape[i] + windows.low[i] + windows.high[i] - (windows.sizes[i] - 1) * windows.dilations[i] - 1;
    type.shape[i] = room < 0 ? 0 : room / windows.strides[i] + 1;
    elements = SaturatingMul(elements, windows.sizes[i]);
  }
  Attributes attributes;
  attributes.Set("reducer", reducer);
  attributes.Set("kernel_shape", order.SlidOf(windows.sizes));
  attributes.Set("strides", order.SlidOf(windows.strides));
  attributes.Set("pads", Joined(order.SlidOf(windows.low), order.SlidOf(windows.high)));
  attributes.Set("dilations", order.SlidOf(windows.dilations));
  attributes.Set("elements", elements);
  const ValueRef pooled = call.writer.AddOne("pool", {{"x", call.writer.Full(Ordered(call, order, data))}},
                                             std::move(attributes), {type.dtype, order.ShapeOf(type.shape)});
  return Restored(call, order, pooled);
}

std::string ComparisonOf(const FormCall& call, const Region& region) {
  if (region.arguments.size() != 2 || region.operations.size() != 2) return "";
  const Operation& op = region.operations[0];
  const Operation& end = region.operations[1];
  const bool is_compare = op.name == "stablehlo.compare" && op.operands.size() == 2 && op.results.size() == 1 &&
                          op.operands[0].name == region.arguments[0].name &&
                          op.operands[1].name == region.arguments[1].name && end.operands.size() == 1 &&
                          end.operands[0].name == op.results[0].first;
  return is_compare ? FormCall{op, {}, {}, call.text, call.writer}.Word("comparison_direction") : "";
}

ValueRef LeastOf(const FormCall& call, DType dtype) {
  Literal literal = IsFloat(dtype) ? Literal::Float(-std::numeric_limits<double>::infinity(), dtype)
                                   : Literal::Scalar(static_cast<int64_t>(LowestNumber(dtype)), dtype);
  const TensorType type = literal.type;
  return call.writer.Constant(std::move(literal), type, false);
}

}  // namespace

Result<std::vector<ValueRef>> WriteReduceWindow(const FormCall& call) {
  const std::string reducer = call.op.regions.size() == 1 ? ReducerOf(call.op.regions[0]) : "";
  if (call.operands.size() != 2 || reducer.empty()) return BadInput("only windows of one operand by one op are read");
  ValueRef data = call.operands[0];
  SBP_ASSIGN_OR_RETURN(Windows windows, ReadWindows(call, data->type, call.results[0]));
  if (!IsNeutral(*call.operands[1], reducer)) {
    return BadInput(StrCat("windows by ", reducer, " that do not begin with its neutral number are not read"));
  }
  const int running = RunningDim(windows, data->type.shape);
  if (running >= 0 && (reducer == "add" || reducer == "multiply")) {
    Attributes attributes;
    attributes.Set("reducer", reducer);
    attributes.Set("axis", static_cast<int64_t>(running));
    attributes.Set("reverse", int64_t{windows.low[static_cast<size_t>(running)] == 0 ? 1 : 0});
    return call.writer.Add("cumulative", {{"x", call.Full(0)}}, std::move(attributes), call.results);
  }
  if ((reducer != "add" && reducer != "maximum" && reducer != "minimum") || data->type.dtype == DType::kBool) {
    return BadInput(StrCat("windows by ", reducer, " of ", DTypeName(data->type.dtype),
                           " are not read, but running products: expected add, maximum or minimum of numbers"));
  }
  Dims cut_low, cut_high;
  for (size_t i = 0; i < windows.low.size(); ++i) {
    cut_low.push_back(std::min<int64_t>(windows.low[i], 0));
    cut_high.push_back(std::min<int64_t>(windows.high[i], 0));
    windows.low[i] = std::max<int64_t>(windows.low[i], 0);
    windows.high[i] = std::max<int64_t>(windows.high[i], 0);
  }
  if (!IsAll(cut_low, 0) || !IsAll(cut_high, 0) || !IsAll(windows.between, 0)) {
    SBP_ASSIGN_OR_RETURN(data, Padded(call, data, call.operands[1], cut_low, cut_high, windows.between));
    std::ranges::fill(windows.between, 0);
  }
  for (const Windows& stage : Stages(windows)) {
    SBP_ASSIGN_OR_RETURN(data, Pooled(call, stage, data, reducer));
  }
  return std::vector{data};
}

Result<std::vector<ValueRef>> WriteSelectAndScatter(const FormCall& call) {
  const bool has_both = call.op.regions.size() == 2 && call.operands.size() == 3;
  const std::string chosen = has_both ? ComparisonOf(call, call.op.regions[0]) : "";
  const bool is_read = (chosen == "GE" || chosen == "LE") && ReducerOf(call.op.regions[1]) == "add" &&
                       IsNeutral(*call.operands[2], "add");
  if (!is_read) return BadInput("only selections of the greatest or least, whose values are added to 0, are read");
  const ValueRef &given = call.operands[0], &source = call.operands[1];
  SBP_ASSIGN_OR_RETURN(Windows windows, ReadWindows(call, given->type, source->type));
  if (std::ranges::any_of(Joined(windows.low, windows.high), [](int64_t border) { return border < 0; })) {
    return BadInput("negative borders are not read");
  }
  if (call.results[0].shape != given->type.shape) return BadInput("the result has another shape than the operand");
  ValueRef data = given;
  if (chosen == "LE") data = call.writer.AddOne("negate", {{"x", call.Full(0)}}, {}, data->type);
  const PoolOrder order = OrderOf(windows);
  const Dims none(windows.low.size(), 0);
  SBP_ASSIGN_OR_RETURN(data, Padded(call, data, LeastOf(call, data->type.dtype), windows.low, windows.high, none));
  const size_t slid = order.Slid(given->type.shape.size());
  if (slid == 0) return std::vector{source};
  if (slid > kMaxSlid) return BadInput("windows over more than three dimensions are not read");
  Attributes attributes;
  attributes.Set("kernel_shape", order.SlidOf(windows.sizes));
  attributes.Set("strides", order.SlidOf(windows.strides));
  const TensorType type{call.results[0].dtype, order.ShapeOf(data->type.shape)};
  const ValueRef written = call.writer.AddOne(
      "unpool",
      {{"x", call.writer.Full(Ordered(call, order, data))}, {"source", call.writer.Full(Ordered(call, order, source))}},
      std::move(attributes), type);
  Dims limit = given->type.shape;
  for (size_t i = 0; i < limit.size(); ++i) limit[i] += windows.low[i];
  const ValueRef restored = Restored(call, order, written);
  const bool is_whole = IsAll(windows.low, 0) && IsAll(windows.high, 0);
  return std::vector{is_whole ? restored : call.writer.Sliced(restored, windows.low, limit)};
}

}  // namespace sbp::stablehlo
