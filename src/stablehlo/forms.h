// How ops of StableHLO are handed to the table (rules/stablehlo/): names for their operands, attributes that the
// language of expansions can read, one row an op. What the row of an op cannot say (dimension numbers, regions) is
// worked out here.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "graph/tensor_type.h"
#include "stablehlo/syntax.h"
#include "stablehlo/values.h"

namespace sbp::stablehlo {

struct FormCall {
  const Operation& op;
  const std::vector<ValueRef>& operands;
  std::vector<TensorType> results;
  std::string_view text;  // of the module
  Writer& writer;

  // The numbers of an attribute; `fallback` where it is not given. Error: it is no list of numbers.
  Result<std::vector<int64_t>> Ints(std::string_view name, std::vector<int64_t> fallback = {}) const;
  int64_t Int(std::string_view name, int64_t fallback) const;
  // "LT" of #stablehlo<comparison_direction LT>; "" if it is not given.
  std::string Word(std::string_view name) const;
  std::string Full(size_t operand) const { return writer.Full(operands[operand]); }
};
using Form = Result<std::vector<ValueRef>> (*)(const FormCall& call);

// Writes the op. Errors name no place. An op without a row is handed on as it stands, its operands x0, x1, ..., for
// rows of the user's.
Result<std::vector<ValueRef>> WriteForm(const FormCall& call);

// Lists of numbers and numbers of #stablehlo.gather<offset_dims = [2], index_vector_dim = 1>.
struct DimensionNumbers {
  std::map<std::string, std::vector<int64_t>, std::less<>> lists;
  const std::vector<int64_t>& operator[](std::string_view name) const;
  int64_t Number(std::string_view name, int64_t fallback) const;
};
Result<DimensionNumbers> DimensionNumbersOf(const FormCall& call, std::string_view attribute);

// The region's operation where it is one of two arguments: "add", "maximum", ...; "" if it is something else.
std::string ReducerOf(const Region& region);
// `reducer` of nothing: is the value that?
bool IsNeutral(const Value& value, std::string_view reducer);

// The value with borders of a scalar, which may be negative, and as many between neighbours.
Result<ValueRef> Padded(const FormCall& call, const ValueRef& value, const ValueRef& with,
                        const std::vector<int64_t>& low, const std::vector<int64_t>& high,
                        const std::vector<int64_t>& interior);

// Rows in files of their own.
Result<std::vector<ValueRef>> WriteConvolution(const FormCall& call);
Result<std::vector<ValueRef>> WriteDotGeneral(const FormCall& call);
Result<std::vector<ValueRef>> WriteDynamicSlice(const FormCall& call);
Result<std::vector<ValueRef>> WriteDynamicUpdateSlice(const FormCall& call);
Result<std::vector<ValueRef>> WriteGather(const FormCall& call);
Result<std::vector<ValueRef>> WritePad(const FormCall& call);
Result<std::vector<ValueRef>> WriteReduce(const FormCall& call);
Result<std::vector<ValueRef>> WriteReduceWindow(const FormCall& call);
Result<std::vector<ValueRef>> WriteScatter(const FormCall& call);
Result<std::vector<ValueRef>> WriteSelectAndScatter(const FormCall& call);
Result<std::vector<ValueRef>> WriteSlice(const FormCall& call);
Result<std::vector<ValueRef>> WriteSort(const FormCall& call);

}  // namespace sbp::stablehlo
