// Sequences and optionals. The type of a sequence of n tensors is the shape that holds them stacked, [n, ...]; where
// the tensors differ, the largest sizes, which is an upper bound.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/checked_math.h"
#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/tensor_type.h"
#include "rule/factorizer.h"
#include "rule/factorizers/composite.h"
#include "rule/factorizers/layout.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

void SetContainer(FactorizerContext& context, ValueKind kind, DType dtype, Shape shape) {
  context.SetResult(0, dtype, std::move(shape));
  context.out().results[0].kind = kind;
}

// Sizes that hold both; `bounded` is set when they differ. Different ranks: as many elements in one dimension.
Shape Enclose(const Shape& a, const Shape& b, bool& bounded) {
  if (a == b) return a;
  bounded = true;
  if (a.size() != b.size()) {
    int64_t x = 1, y = 1;
    for (int64_t size : a) x = SaturatingMul(x, size);
    for (int64_t size : b) y = SaturatingMul(y, size);
    return {std::max(x, y)};
  }
  Shape shape = a;
  for (size_t i = 0; i < shape.size(); ++i) shape[i] = std::max(a[i], b[i]);
  return shape;
}

Shape Stacked(int64_t count, const Shape& element) {
  Shape shape = {count};
  shape.insert(shape.end(), element.begin(), element.end());
  return shape;
}

Shape ElementOf(const TensorType& sequence) {
  return sequence.shape.empty() ? Shape{} : Shape(sequence.shape.begin() + 1, sequence.shape.end());
}

int64_t CountOf(const TensorType& sequence) { return sequence.shape.empty() ? 0 : sequence.shape[0]; }

void Bound(FactorizerContext& context, bool bounded) {
  if (!bounded) return;
  context.out().bounded = true;
  context.map().notes.push_back("the tensors of the sequence may be of different sizes");
}

Status Construct(FactorizerContext& context) {
  if (context.num_operands() == 0) return context.Error("needs at least one tensor");
  bool bounded = false;
  Shape element = context.shape(kFirstOperand);
  for (size_t i = 1; i < context.num_operands(); ++i) element = Enclose(element, context.shape(i), bounded);
  SetContainer(context, ValueKind::kSequence, context.type(kFirstOperand).dtype,
               Stacked(static_cast<int64_t>(context.num_operands()), element));
  Bound(context, bounded);
  return OkStatus();
}

Status Insert(FactorizerContext& context) {
  SBP_ASSIGN_OR_RETURN(const size_t input, context.Require("input_sequence"));
  SBP_ASSIGN_OR_RETURN(const size_t inserted, context.Require("tensor"));
  const TensorType &sequence = context.type(input), &tensor = context.type(inserted);
  bool bounded = false;
  const bool empty = CountOf(sequence) == 0;
  const Shape element = empty ? tensor.shape : Enclose(ElementOf(sequence), tensor.shape, bounded);
  SetContainer(context, ValueKind::kSequence, tensor.dtype, Stacked(SaturatingAdd(CountOf(sequence), 1), element));
  Bound(context, bounded);
  return OkStatus();
}

Status CutSequence(FactorizerContext& context) {
  SBP_ASSIGN_OR_RETURN(const size_t input, context.Require("input"));
  const size_t split = context.operand("split");
  const Shape& shape = context.shape(input);
  SBP_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(context, context.Int("axis"), context.rank(input)));
  bool bounded = false;
  Shape element = shape;
  int64_t count = shape[axis], largest = 1;
  const bool single = !context.has(split);
  if (!single) {
    SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> parts, context.ints(split));
    if (parts.empty() || *std::min_element(parts.begin(), parts.end()) <= 0) {
      return context.Error("split must be positive sizes");
    }
    const bool equal = context.rank(split) == 0;
    largest = std::min(*std::max_element(parts.begin(), parts.end()), shape[axis]);
    count = equal ? CeilDiv(shape[axis], parts[0]) : static_cast<int64_t>(parts.size());
    bounded = equal ? shape[axis] % parts[0] != 0 : *std::min_element(parts.begin(), parts.end()) != largest;
  }
  element[axis] = largest;
  if (single && context.Int("keepdims", 1) == 0) element.erase(element.begin() + axis);
  SetContainer(context, ValueKind::kSequence, context.type(input).dtype, Stacked(count, element));
  Bound(context, bounded);
  return OkStatus();
}

Status Join(FactorizerContext& context) {
  SBP_ASSIGN_OR_RETURN(const size_t input, context.Require("input_sequence"));
  const TensorType& sequence = context.type(input);
  Shape shape = ElementOf(sequence);
  const int64_t count = CountOf(sequence);
  const bool stack = context.Int("new_axis") != 0;
  SBP_ASSIGN_OR_RETURN(const int axis,
                       NormalizeAxis(context, context.Int("axis"), static_cast<int>(shape.size()) + (stack ? 1 : 0)));
  if (stack) {
    shape.insert(shape.begin() + axis, count);
  } else {
    shape[axis] = SaturatingMul(shape[axis], count);
  }
  context.SetResult(0, sequence.dtype, std::move(shape));
  return OkStatus();
}

}  // namespace

// @sequence(construct | empty | insert | erase | at | length | split | join). What the model states wins for tensors.
Status FactorizeSequence(FactorizerContext& context) {
  const std::string& what = context.name_arguments[0];
  if (what == "construct") return Construct(context);
  if (what == "insert") return Insert(context);
  if (what == "split") return CutSequence(context);
  if (what == "empty") {
    SetContainer(context, ValueKind::kSequence, static_cast<DType>(context.Int("dtype", 1)), {0});
    return OkStatus();
  }
  SBP_ASSIGN_OR_RETURN(const size_t input, context.Require("input_sequence"));
  const TensorType& sequence = context.type(input);
  if (what == "length") {
    context.SetResult(0, {});
    return OkStatus();
  }
  if (what == "erase") {
    SetContainer(context, ValueKind::kSequence, sequence.dtype,
                 Stacked(std::max<int64_t>(CountOf(sequence) - 1, 0), ElementOf(sequence)));
    return OkStatus();
  }
  if (const TensorType* stated = Stated(context, 0)) {
    context.SetResult(0, stated->dtype, stated->shape);
    return OkStatus();
  }
  if (what == "join") return Join(context);
  context.SetResult(0, sequence.dtype, ElementOf(sequence));
  return OkStatus();
}

// @optional(wrap | unwrap | has).
Status FactorizeOptional(FactorizerContext& context) {
  const std::string& what = context.name_arguments[0];
  const size_t input = context.operand("input");
  const bool present = context.has(input);
  if (what == "has") {
    context.SetResult(0, {});
  } else if (what == "wrap") {
    SetContainer(context, ValueKind::kOptional, present ? context.type(input).dtype : DType::kUndefined,
                 present ? context.shape(input) : Shape{});
  } else if (!present) {
    return context.Error("needs the operand \"input\"");
  } else {
    context.SetResult(0, context.type(input).dtype, context.shape(input));
    const auto& stated = context.query().stated;  // what was wrapped may be a sequence
    if (context.type(input).kind == ValueKind::kSequence) {
      context.out().results[0].kind = ValueKind::kSequence;
    } else if (!stated.empty()) {
      context.out().results[0].kind = stated[0].kind;
    }
  }
  return OkStatus();
}

}  // namespace sbp
