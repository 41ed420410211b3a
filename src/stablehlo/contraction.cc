// dot_general and reductions.
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
#include "stablehlo/dims.h"
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

namespace {

// The comparison of the region's arguments `left` and `right`, as it stands.
std::string Compared(const FormCall& call, const Region& region, const Operation& op, size_t left, size_t right) {
  const bool is_of_both = op.name == "stablehlo.compare" && op.operands.size() == 2 &&
                          op.operands[0].name == region.arguments[left].name &&
                          op.operands[1].name == region.arguments[right].name;
  const auto direction = op.attributes.find("comparison_direction");
  if (!is_of_both || direction == op.attributes.end() || direction->second.kind != Attribute::Kind::kDialect) return "";
  return FormCall{op, {}, {}, call.text, call.writer}.Word("comparison_direction");
}

bool IsOp(const Operation& op, std::string_view name, const std::vector<std::string_view>& operands) {
  return op.name == name && std::ranges::equal(op.operands, operands, {}, &ValueName::name);
}

// How JAX lowers argmax and argmin: the greater of two values, or the one that is no number, with its index, the lower
// of equals. "GT", "LT", or "" if the region is something else.
std::string SelectorOf(const FormCall& call, const Region& region) {
  static constexpr size_t kOps = 10;
  const std::vector<Operation>& ops = region.operations;
  if (region.arguments.size() != 4 || ops.size() != kOps) return "";
  std::array<std::string_view, kOps> made;
  for (size_t i = 0; i < kOps; ++i) made[i] = ops[i].results.empty() ? "" : ops[i].results[0].first;
  std::array<std::string_view, 4> argument;
  for (size_t i = 0; i < argument.size(); ++i) argument[i] = region.arguments[i].name;
  const std::string order = Compared(call, region, ops[0], 0, 2);
  const bool is_selector =
      (order == "GT" || order == "LT") && Compared(call, region, ops[1], 0, 0) == "NE" &&
      IsOp(ops[2], "stablehlo.or", {made[0], made[1]}) && Compared(call, region, ops[3], 0, 2) == "EQ" &&
      Compared(call, region, ops[4], 1, 3) == "LT" && IsOp(ops[5], "stablehlo.and", {made[3], made[4]}) &&
      IsOp(ops[6], "stablehlo.or", {made[2], made[5]}) &&
      IsOp(ops[7], "stablehlo.select", {made[2], argument[0], argument[2]}) &&
      IsOp(ops[8], "stablehlo.select", {made[6], argument[1], argument[3]}) &&
      IsOp(ops[9], "stablehlo.return", {made[7], made[8]});
  return is_selector ? order : "";
}

Result<std::vector<ValueRef>> WriteArgReduce(const FormCall& call, const Dims& dims) {
  const std::string order = SelectorOf(call, call.op.regions[0]);
  const bool is_max = order == "GT";
  if (order.empty() || dims.size() != 1 || call.operands[1]->iota != dims[0] ||
      call.operands[0]->type.shape != call.operands[1]->type.shape ||
      !IsNeutral(*call.operands[2], is_max ? "maximum" : "minimum")) {
    return BadInput("of reductions of two operands only argmax and argmin are read");
  }
  Attributes attributes;
  attributes.Set("axis", dims[0]);
  return call.writer.Add(is_max ? "argmax" : "argmin", {{"x", call.Full(0)}}, std::move(attributes), call.results);
}

}  // namespace

Result<std::vector<ValueRef>> WriteReduce(const FormCall& call) {
  if (call.op.regions.size() == 1 && call.operands.size() == 4 && call.results.size() == 2) {
    SBP_ASSIGN_OR_RETURN(const Dims of_both, call.Ints("dimensions"));
    SBP_RETURN_IF_ERROR(CheckDimsOf(call.operands[0]->type, of_both));
    return WriteArgReduce(call, of_both);
  }
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

}  // namespace sbp::stablehlo
