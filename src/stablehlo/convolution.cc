// convolution, in the words of Conv and ConvTranspose: batch, channels and then space, samples as groups of channels.
#include <algorithm>
#include <cstddef>
#include <cstdint>
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
#include "stablehlo/cursor.h"
#include "stablehlo/dims.h"
#include "stablehlo/forms.h"
#include "stablehlo/syntax.h"
#include "stablehlo/values.h"

namespace sbp::stablehlo {
namespace {

constexpr int64_t kMaxWindow = int64_t{1} << 30;

struct Convolution {
  Dims data, kernel, result;  // their dimensions: batch, channels, space; of the kernel: output, input, space
  Dims strides, spread, dilations, low, high, turned;
  int64_t groups = 1, batch_groups = 1;

  size_t space() const { return data.size() - 2; }
};

// "[b, 0, 1, f]", whose letters are `first` and `second`, as dimensions: of these two, then of 0, 1, ...
Result<Dims> LabelledDims(Cursor& cursor, std::string_view first, std::string_view second) {
  std::vector<std::string> labels;
  SBP_RETURN_IF_ERROR(cursor.Expect("[", "of the labels of dimensions"));
  do labels.emplace_back(cursor.Word());
  while (cursor.Take(","));
  SBP_RETURN_IF_ERROR(cursor.Expect("]", "behind the labels of dimensions"));
  std::vector<std::string> wanted = {std::string(first), std::string(second)};
  for (size_t i = 2; i < labels.size(); ++i) wanted.push_back(StrCat(i - 2));
  Dims dims;
  for (const std::string& label : wanted) {
    const auto at = std::ranges::find(labels, label);
    if (at == labels.end() || wanted.size() != labels.size()) {
      return cursor.Error(StrCat("expected the labels ", Join(wanted, ", "), "; found ", Join(labels, ", ")));
    }
    dims.push_back(at - labels.begin());
  }
  return dims;
}

Status ReadDimensions(const FormCall& call, Convolution& conv) {
  const auto given = call.op.attributes.find("dimension_numbers");
  if (given == call.op.attributes.end() || given->second.kind != Attribute::Kind::kDialect) {
    return BadInput("expected dimension_numbers = #stablehlo.conv<...>");
  }
  Cursor cursor(call.text, given->second.begin, given->second.end);
  SBP_ASSIGN_OR_RETURN(conv.data, LabelledDims(cursor, "b", "f"));
  SBP_RETURN_IF_ERROR(cursor.Expect("x", "and the kernel's dimensions"));
  SBP_ASSIGN_OR_RETURN(conv.kernel, LabelledDims(cursor, "o", "i"));
  SBP_RETURN_IF_ERROR(cursor.Expect("->", "and the result's dimensions"));
  SBP_ASSIGN_OR_RETURN(conv.result, LabelledDims(cursor, "b", "f"));
  const auto rank = static_cast<size_t>(call.results[0].rank());
  if (conv.data.size() == call.operands[0]->type.shape.size() &&
      conv.kernel.size() == call.operands[1]->type.shape.size() && conv.result.size() == rank &&
      conv.data.size() == rank && conv.kernel.size() == rank && rank > 2) {
    return OkStatus();
  }
  return BadInput("expected operands and a result of as many dimensions as are labelled, one of them in space");
}

Result<Dims> SpatialAttribute(const FormCall& call, std::string_view name, size_t space, int64_t fallback) {
  SBP_ASSIGN_OR_RETURN(Dims values, call.Ints(name, Dims(space, fallback)));
  if (values.size() != space) return BadInput(StrCat("expected ", space, " numbers of ", name));
  const auto is_out = [&](int64_t value) { return value < fallback || value > kMaxWindow; };
  if (std::ranges::any_of(values, is_out)) return BadInput(StrCat(name, " is out of range"));
  return values;
}

// The result's sizes follow from the rest: are they those that it has?
Status CheckSizes(const FormCall& call, const Convolution& conv) {
  const Shape data = Picked(call.operands[0]->type.shape, conv.data);
  const Shape kernel = Picked(call.operands[1]->type.shape, conv.kernel);
  const int64_t groups = conv.groups, batches = conv.batch_groups;
  const bool fits = groups >= 1 && batches >= 1 && (groups == 1 || batches == 1) &&
                    data[1] == SaturatingMul(kernel[1], groups) && kernel[0] % groups == 0 &&
                    kernel[0] % batches == 0 && data[0] % batches == 0;
  if (!fits) return BadInput("the groups do not divide the channels");
  Shape made = {data[0] / batches, kernel[0]};
  for (size_t i = 0; i < conv.space(); ++i) {
    const int64_t size = data[i + 2], window = kernel[i + 2];
    if (size < 1 || size > kMaxWindow || window < 1 || window > kMaxWindow) return BadInput("sizes are out of range");
    const int64_t room = (size - 1) * conv.spread[i] + conv.low[i] + conv.high[i] - (window - 1) * conv.dilations[i];
    made.push_back(room < 0 ? 0 : room / conv.strides[i] + 1);
  }
  if (made == Picked(call.results[0].shape, conv.result)) return OkStatus();
  return BadInput(StrCat("the result has to be [", Join(made, ", "), "] of batch, channels and space"));
}

Result<Convolution> ReadConvolution(const FormCall& call) {
  Convolution conv;
  SBP_RETURN_IF_ERROR(ReadDimensions(call, conv));
  const size_t space = conv.space();
  SBP_ASSIGN_OR_RETURN(conv.strides, SpatialAttribute(call, "window_strides", space, 1));
  SBP_ASSIGN_OR_RETURN(conv.spread, SpatialAttribute(call, "lhs_dilation", space, 1));
  SBP_ASSIGN_OR_RETURN(conv.dilations, SpatialAttribute(call, "rhs_dilation", space, 1));
  SBP_ASSIGN_OR_RETURN(const Dims turned, SpatialAttribute(call, "window_reversal", space, 0));
  SBP_ASSIGN_OR_RETURN(const Dims padding, call.Ints("padding", Dims(2 * space, 0)));
  if (padding.size() != 2 * space) return BadInput(StrCat("expected ", 2 * space, " borders"));
  for (size_t i = 0; i < space; ++i) {
    if (std::max(std::abs(padding[2 * i]), std::abs(padding[2 * i + 1])) > kMaxWindow) {
      return BadInput("padding is out of range");
    }
    conv.low.push_back(padding[2 * i]);
    conv.high.push_back(padding[2 * i + 1]);
    if (turned[i] != 0) conv.turned.push_back(conv.kernel[i + 2]);
  }
  conv.groups = call.Int("feature_group_count", 1);
  conv.batch_groups = call.Int("batch_group_count", 1);
  SBP_RETURN_IF_ERROR(CheckSizes(call, conv));
  return conv;
}

ValueRef Zero(const FormCall& call, DType dtype) {
  Literal literal = IsFloat(dtype) ? Literal::Float(0, dtype) : Literal::Scalar(0, dtype);
  const TensorType type = literal.type;
  return call.writer.Constant(std::move(literal), type, false);
}

// [g a, b, ...] as [a, g b, ...], or with `outer_first` [g a, b, ...] as [g b, a, ...].
ValueRef Regrouped(const FormCall& call, const ValueRef& value, int64_t groups, bool outer_first) {
  const Shape& shape = value->type.shape;
  const Dims space(shape.begin() + 2, shape.end());
  const int64_t each = shape[0] / groups;
  const ValueRef apart = call.writer.Reshaped(value, Joined({groups, each, shape[1]}, space));
  Dims order = outer_first ? Dims{0, 2, 1} : Dims{1, 0, 2};
  for (size_t i = 0; i < space.size(); ++i) order.push_back(static_cast<int64_t>(i) + 3);
  const Dims front = outer_first ? Dims{groups * shape[1], each} : Dims{each, groups * shape[1]};
  return call.writer.Reshaped(call.writer.Transposed(apart, order), Joined(front, space));
}

Attributes WindowAttributes(const Convolution& conv, const Dims& strides, const Dims& low, const Dims& high,
                            int64_t groups) {
  Attributes attributes;
  attributes.Set("strides", strides);
  attributes.Set("pads", Joined(low, high));
  attributes.Set("dilations", conv.dilations);
  attributes.Set("group", groups);
  return attributes;
}

// Spread data and a kernel turned around: what the derivative of a convolution by its data is.
Result<ValueRef> TransposedConvolution(const FormCall& call, const Convolution& conv, const ValueRef& data,
                                       const ValueRef& kernel, const TensorType& result) {
  const Dims in_space(conv.kernel.begin() + 2, conv.kernel.end());
  const ValueRef plain = call.writer.Reversed(kernel, in_space);
  const bool is_grouped = conv.groups > 1;
  ValueRef weight =
      call.writer.Transposed(plain, is_grouped ? conv.kernel : Joined({conv.kernel[1], conv.kernel[0]}, in_space));
  if (is_grouped) weight = Regrouped(call, weight, conv.groups, true);
  Dims low, high, more, border, none(2, 0);
  TensorType type = result;
  for (size_t i = 0; i < conv.space(); ++i) {
    const int64_t reach = (kernel->type.shape[static_cast<size_t>(in_space[i])] - 1) * conv.dilations[i];
    low.push_back(std::max<int64_t>(reach - conv.low[i], 0));
    high.push_back(std::max<int64_t>(reach - conv.high[i], 0));
    more.push_back(std::max<int64_t>(conv.high[i] - reach, 0));
    border.push_back(std::max<int64_t>(conv.low[i] - reach, 0));  // which no window reaches
    type.shape[i + 2] -= border.back();
    if (type.shape[i + 2] < 1) return BadInput("borders leave nothing");
  }
  Attributes attributes = WindowAttributes(conv, conv.spread, low, high, conv.groups);
  attributes.Set("output_padding", more);
  const ValueRef made =
      call.writer.AddOne("transposed_convolution", {{"x", call.writer.Full(data)}, {"w", call.writer.Full(weight)}},
                         std::move(attributes), type);
  if (IsAll(border, 0)) return made;
  const Dims all(type.shape.size(), 0);
  return Padded(call, made, Zero(call, type.dtype), Joined(none, border), all, all);
}

}  // namespace

Result<std::vector<ValueRef>> WriteConvolution(const FormCall& call) {
  SBP_ASSIGN_OR_RETURN(const Convolution conv, ReadConvolution(call));
  ValueRef data = call.writer.Transposed(call.operands[0], conv.data);
  const ValueRef kernel = call.writer.Reversed(call.operands[1], conv.turned);
  TensorType type = call.results[0];
  type.shape = Picked(call.results[0].shape, conv.result);
  const Dims front(2, 0);
  const bool is_spread = !IsAll(conv.spread, 1);
  const bool is_turned = kernel->turned != nullptr && std::ranges::all_of(kernel->turned_dims, [&](int64_t dim) {
                           return dim != conv.kernel[0] && dim != conv.kernel[1];
                         });
  ValueRef made;
  if ((is_spread || is_turned) && IsAll(conv.strides, 1) && conv.batch_groups == 1 && IsFloat(type.dtype)) {
    SBP_ASSIGN_OR_RETURN(made, TransposedConvolution(call, conv, data, kernel, type));
  } else {
    // Borders that are negative, and what stands between neighbours, are made before.
    Dims cut_low = front, cut_high = front, between = front, low, high;
    for (size_t i = 0; i < conv.space(); ++i) {
      between.push_back(conv.spread[i] - 1);
      cut_low.push_back(std::min<int64_t>(conv.low[i], 0));
      cut_high.push_back(std::min<int64_t>(conv.high[i], 0));
      low.push_back(std::max<int64_t>(conv.low[i], 0));
      high.push_back(std::max<int64_t>(conv.high[i], 0));
    }
    if (is_spread || !IsAll(cut_low, 0) || !IsAll(cut_high, 0)) {
      SBP_ASSIGN_OR_RETURN(data, Padded(call, data, Zero(call, data->type.dtype), cut_low, cut_high, between));
    }
    if (conv.batch_groups > 1) data = Regrouped(call, data, conv.batch_groups, false);
    const ValueRef weight = call.writer.Transposed(kernel, conv.kernel);
    made = call.writer.AddOne("convolution", {{"x", call.writer.Full(data)}, {"w", call.writer.Full(weight)}},
                              WindowAttributes(conv, conv.strides, low, high, conv.groups * conv.batch_groups), type);
  }
  return std::vector{call.writer.Transposed(made, Inverse(conv.result))};
}

}  // namespace sbp::stablehlo
