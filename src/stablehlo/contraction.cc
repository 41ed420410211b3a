// dot_general, reduce and gather.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "sbp/shard_math.h"
#include "stablehlo/forms.h"
#include "stablehlo/syntax.h"
#include "stablehlo/values.h"

namespace sbp::stablehlo {
namespace {

Status CheckDimsOf(const TensorType& type, const std::vector<int64_t>& dims) {
  for (const int64_t dim : dims) {
    if (dim < 0 || dim >= type.rank() || std::ranges::count(dims, dim) > 1) {
      return BadInput(StrCat("dimension ", dim, " is not one of ", type.rank(), ", or named twice"));
    }
  }
  return OkStatus();
}

bool Has(const std::vector<int64_t>& list, int64_t value) { return std::ranges::find(list, value) != list.end(); }

}  // namespace

Result<std::vector<ValueRef>> WriteDotGeneral(const FormCall& call) {
  SBP_ASSIGN_OR_RETURN(const DimensionNumbers numbers, DimensionNumbersOf(call, "dot_dimension_numbers"));
  const TensorType &lhs = call.operands[0]->type, &rhs = call.operands[1]->type;
  const auto &lhs_batch = numbers["lhs_batching_dimensions"], &rhs_batch = numbers["rhs_batching_dimensions"];
  const auto &lhs_sum = numbers["lhs_contracting_dimensions"], &rhs_sum = numbers["rhs_contracting_dimensions"];
  for (const auto* dims : {&lhs_batch, &lhs_sum}) SBP_RETURN_IF_ERROR(CheckDimsOf(lhs, *dims));
  for (const auto* dims : {&rhs_batch, &rhs_sum}) SBP_RETURN_IF_ERROR(CheckDimsOf(rhs, *dims));
  if (lhs_batch.size() != rhs_batch.size() || lhs_sum.size() != rhs_sum.size() || lhs.rank() + rhs.rank() > 26) {
    return BadInput("both operands need equally many batching and contracting dimensions, and 26 in all");
  }
  char next = 'a';
  std::string left(lhs.shape.size(), ' '), right(rhs.shape.size(), ' '), result;
  for (size_t i = 0; i < lhs_batch.size(); ++i) {
    left[static_cast<size_t>(lhs_batch[i])] = right[static_cast<size_t>(rhs_batch[i])] = next;
    result += next++;
  }
  for (size_t i = 0; i < lhs_sum.size(); ++i) {
    left[static_cast<size_t>(lhs_sum[i])] = right[static_cast<size_t>(rhs_sum[i])] = next++;
  }
  for (std::string* letters : {&left, &right}) {
    for (char& letter : *letters) {
      if (letter == ' ') result += letter = next++;
    }
  }
  const bool is_product = lhs_batch.empty() && lhs_sum.size() == 1 && lhs.rank() >= 2 && rhs.rank() == 2 &&
                          lhs_sum[0] == lhs.rank() - 1 && rhs_sum[0] == 0;
  Attributes attributes;
  attributes.Set("equation", StrCat(left, ",", right, "->", result));
  attributes.Set("product", int64_t{is_product ? 1 : 0});
  return call.writer.Add("dot_general", {{"lhs", call.Full(0)}, {"rhs", call.Full(1)}}, std::move(attributes),
                         call.results);
}

std::string ReducerOf(const Region& region) {
  if (region.arguments.size() != 2 || region.operations.size() != 2) return "";
  const Operation& op = region.operations[0];
  const Operation& end = region.operations[1];
  const bool is_of_arguments =
      op.operands.size() == 2 && op.results.size() == 1 && end.operands.size() == 1 &&
      end.operands[0].name == op.results[0].first &&
      ((op.operands[0].name == region.arguments[0].name && op.operands[1].name == region.arguments[1].name) ||
       (op.operands[0].name == region.arguments[1].name && op.operands[1].name == region.arguments[0].name));
  constexpr std::string_view kDialect = "stablehlo.";
  if (!is_of_arguments || !op.name.starts_with(kDialect)) return "";
  static constexpr std::array<std::string_view, 6> kReducers = {"add", "and", "maximum", "minimum", "multiply", "or"};
  const std::string name = op.name.substr(kDialect.size());
  return std::ranges::find(kReducers, name) == kReducers.end() ? "" : name;
}

bool IsNeutral(const Value& value, std::string_view reducer) {
  if (value.scalar == nullptr) return false;
  const Literal& literal = *value.scalar;
  const double number = literal.floats.empty() ? static_cast<double>(literal.ints.front()) : literal.floats.front();
  if (reducer == "add" || reducer == "or") return number == 0;
  if (reducer == "multiply" || reducer == "and") return number == 1;
  const bool is_max = reducer == "maximum";
  if (std::isinf(number)) return (number < 0) == is_max;
  return number == (is_max ? LowestNumber(literal.type.dtype) : HighestNumber(literal.type.dtype));
}

Result<std::vector<ValueRef>> WriteReduce(const FormCall& call) {
  const std::string reducer = call.op.regions.size() == 1 ? ReducerOf(call.op.regions[0]) : "";
  if (call.operands.size() != 2 || reducer.empty()) {
    return BadInput("only reductions of one operand by add, multiply, maximum, minimum, and, or are read");
  }
  SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, call.Ints("dimensions"));
  SBP_RETURN_IF_ERROR(CheckDimsOf(call.operands[0]->type, dims));
  if (!IsNeutral(*call.operands[1], reducer)) {
    return BadInput(StrCat("a reduction by ", reducer, " that does not begin with its neutral number is not read"));
  }
  if (dims.empty()) return std::vector{call.operands[0]};
  Attributes attributes;
  attributes.Set("dimensions", dims);
  attributes.Set("reducer", reducer);
  return call.writer.Add("reduce", {{"x", call.Full(0)}}, std::move(attributes), call.results);
}

// Whole slices at places along one dimension: rows of an embedding.
Result<std::vector<ValueRef>> WriteGather(const FormCall& call) {
  SBP_ASSIGN_OR_RETURN(const DimensionNumbers numbers, DimensionNumbersOf(call, "dimension_numbers"));
  SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, call.Ints("slice_sizes"));
  const TensorType &data = call.operands[0]->type, &indices = call.operands[1]->type;
  const auto &collapsed = numbers["collapsed_slice_dims"], &map = numbers["start_index_map"],
             &offsets = numbers["offset_dims"];
  const int64_t vector = numbers.Number("index_vector_dim", 0);
  const bool is_rows = collapsed.size() == 1 && map == collapsed && numbers["operand_batching_dims"].empty() &&
                       vector == indices.rank() - 1 && indices.rank() > 0 && indices.shape.back() == 1 && map[0] >= 0 &&
                       map[0] < data.rank() && sizes.size() == data.shape.size();
  if (!is_rows) return BadInput("only gathers of whole slices along one dimension are read");
  const int64_t axis = map[0];
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != (static_cast<int64_t>(i) == axis ? 1 : data.shape[i])) {
      return BadInput("only gathers of whole slices along one dimension are read");
    }
  }
  // Gather puts the dimensions of the indices where the axis was.
  for (int64_t i = 0; i < data.rank() - 1; ++i) {
    const int64_t expected = i < axis ? i : i + indices.rank() - 1;
    if (!Has(offsets, expected)) return BadInput("only gathers whose slices stay in place are read");
  }
  Shape shape = indices.shape;
  shape.pop_back();
  const ValueRef places = call.writer.Reshaped(call.operands[1], shape);
  Attributes attributes;
  attributes.Set("axis", axis);
  return call.writer.Add("gather", {{"operand", call.Full(0)}, {"indices", call.writer.Full(places)}},
                         std::move(attributes), call.results);
}

}  // namespace sbp::stablehlo
