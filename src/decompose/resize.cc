// Resize: dimension after dimension, each output element a weighted sum of input elements at positions that are known:
// gathered neighbour by neighbour, or repeated where nothing is mixed. Positions and weights as in ONNX's definition.
#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/resample.h"
#include "base/status.h"
#include "base/text.h"
#include "decompose/expansion_builder.h"
#include "decompose/expansions.h"
#include "graph/literal.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

// A constant that lies along dimension `dim` of a tensor of this rank.
template <typename T>
Shape ShapeAlong(const std::vector<T>& values, int dim, size_t rank) {
  Shape shape(rank - static_cast<size_t>(dim), 1);
  shape[0] = static_cast<int64_t>(values.size());
  return shape;
}

// Each element as often as the next: dimensions (elements, copies), so that elements can be split.
TensorId Repeat(ExpansionBuilder& builder, TensorId x, const ResizedDim& dim) {
  Shape apart = builder.shape(x), copied = apart, joined = apart;
  apart.insert(apart.begin() + dim.dim + 1, 1);
  copied.insert(copied.begin() + dim.dim + 1, dim.out / dim.in);
  joined[dim.dim] = dim.out;
  const TensorId elements = builder.Call("Reshape", {x, builder.Ints(apart)});
  return builder.Call("Reshape", {builder.Call("Expand", {elements, builder.Ints(copied)}), builder.Ints(joined)});
}

bool Repeats(const ResizeTaps& taps, const ResizedDim& dim) {
  if (taps.count != 1 || dim.in == 0 || dim.out % dim.in != 0) return false;
  for (int64_t o = 0; o < dim.out; ++o) {
    if (taps.index[o] != o / (dim.out / dim.in)) return false;
  }
  return true;
}

TensorId ResizeDim(ExpansionBuilder& builder, TensorId x, const ResizedDim& dim, const ResizeTaps& taps) {
  if (Repeats(taps, dim)) return Repeat(builder, x, dim);
  TensorId sum;
  for (size_t k = 0; k < taps.count; ++k) {
    std::vector<int64_t> index;
    Literal weight;
    for (size_t o = 0; o < static_cast<size_t>(dim.out); ++o) {
      index.push_back(taps.index[o * taps.count + k]);
      weight.floats.push_back(taps.weight[o * taps.count + k]);
    }
    TensorId value = builder.Call("Gather", {x, builder.Ints(index)}, {{"axis", int64_t{dim.dim}}});
    if (taps.count > 1) {
      weight.type = {builder.type(x).dtype, ShapeAlong(index, dim.dim, builder.shape(x).size())};
      value = builder.Call("Mul", {value, builder.Constant(std::move(weight))});
    }
    sum = k == 0 ? value : builder.Call("Add", {sum, value});
  }
  return sum;
}

std::vector<double> Numbers(const ExpansionBuilder& builder, std::string_view operand) {
  const TensorId id = builder.Operand(operand);
  const Literal* literal = id.valid() ? builder.value(id) : nullptr;
  if (literal == nullptr) return {};
  if (!literal->is_integral()) return literal->floats;
  return std::vector<double>(literal->ints.begin(), literal->ints.end());
}

Result<ResizeQuestion> QuestionOf(const ExpansionBuilder& builder) {
  ResizeQuestion question;
  question.mode = builder.TextAttribute("mode");
  question.where = builder.TextAttribute("coordinate_transformation_mode");
  question.nearest = builder.TextAttribute("nearest_mode");
  question.policy = builder.TextAttribute("keep_aspect_ratio_policy");
  question.cubic = builder.FloatAttribute("cubic_coeff_a");
  question.antialias = builder.IntAttribute("antialias") != 0;
  question.exclude_outside = builder.IntAttribute("exclude_outside") != 0;
  question.in = builder.shape(builder.Operand("X"));
  question.out = builder.instance().results[0].shape;
  question.axes = builder.IntsAttribute("axes");
  question.has_axes = builder.Attribute("axes") != nullptr;
  question.scales = Numbers(builder, "scales");
  question.sizes = Numbers(builder, "sizes");
  question.roi = Numbers(builder, "roi");
  if (question.mode != "nearest" && question.mode != "linear" && question.mode != "cubic") {
    return BadInput(StrCat("no mode ", Quote(question.mode)));
  }
  const size_t resized = question.has_axes ? question.axes.size() : question.in.size();
  if (question.crops() && question.roi.size() != 2 * resized) return BadInput("the value of \"roi\" must be known");
  return question;
}

// What lies outside the input has the extrapolation's value.
TensorId Extrapolate(ExpansionBuilder& builder, TensorId y, const ResizedDim& dim, const ResizeTaps& taps) {
  if (std::find(taps.outside.begin(), taps.outside.end(), true) == taps.outside.end()) return y;
  Literal outside;
  outside.ints.assign(taps.outside.begin(), taps.outside.end());
  outside.type = {DType::kBool, ShapeAlong(taps.outside, dim.dim, builder.shape(y).size())};
  const TensorId value = builder.Number(builder.FloatAttribute("extrapolation_value"), builder.type(y).dtype);
  return builder.Call("Where", {builder.Constant(std::move(outside)), value, y});
}

}  // namespace

Status ExpandResize(ExpansionBuilder& builder) {
  SBP_ASSIGN_OR_RETURN(const ResizeQuestion question, QuestionOf(builder));
  const std::vector<ResizedDim> dims = FindResizedDims(question);
  const TensorId x = builder.Operand("X");
  const DType type = builder.type(x).dtype;
  TensorId y = x;
  if (question.mode != "nearest" && !IsFloat(type)) {
    y = builder.Call("Cast", {y}, {{"to", static_cast<int64_t>(DTypeBits(type) > 16 ? DType::kF64 : DType::kF32)}});
  }
  std::vector<ResizeTaps> taps;
  for (const ResizedDim& dim : dims) {
    taps.push_back(FindResizeTaps(question, dim));
    y = ResizeDim(builder, y, dim, taps.back());
    SBP_RETURN_IF_ERROR(builder.status());
  }
  for (size_t i = 0; i < dims.size(); ++i) y = Extrapolate(builder, y, dims[i], taps[i]);
  builder.SetResult(0, builder.Call("Cast", {y}, {{"to", static_cast<int64_t>(type)}}));
  return builder.status();
}

}  // namespace sbp
