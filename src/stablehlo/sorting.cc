// sort by one operand, which others follow.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
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
#include "stablehlo/forms.h"
#include "stablehlo/syntax.h"
#include "stablehlo/values.h"

namespace sbp::stablehlo {
namespace {

// How a region compares: by which operand, "LT" or "GT".
struct SortOrder {
  size_t key = 0;
  std::string direction;
};

class Comparator {
 public:
  Comparator(const FormCall& call, const Region& region) : call_(call), region_(region) {}

  // Nothing: it is another comparison than of one operand's elements.
  std::optional<SortOrder> Read() const {
    if (region_.operations.empty() || region_.operations.back().operands.size() != 1) return std::nullopt;
    const Operation* compare = MadeBy(region_.operations.back().operands[0].name);
    if (compare == nullptr || compare->name != "stablehlo.compare" || compare->operands.size() != 2) {
      return std::nullopt;
    }
    const std::optional<size_t> left = Canonical(compare->operands[0].name, 0);
    const std::optional<size_t> right = Canonical(compare->operands[1].name, 0);
    SortOrder order{left.value_or(0) / 2, Word(*compare)};
    const bool is_of_one = left && right && *left % 2 == 0 && *right == *left + 1;
    const bool is_known = order.direction == "LT" || order.direction == "GT";
    return is_of_one && is_known ? std::optional(order) : std::nullopt;
  }

 private:
  const Operation* MadeBy(std::string_view name) const {
    for (const Operation& op : region_.operations) {
      if (op.results.size() == 1 && op.results[0].first == name) return &op;
    }
    return nullptr;
  }

  std::string Word(const Operation& compare) const {
    const auto given = compare.attributes.find("comparison_direction");
    const bool is_word = given != compare.attributes.end() && given->second.kind == Attribute::Kind::kDialect;
    return is_word ? FormCall{compare, {}, {}, call_.text, call_.writer}.Word("comparison_direction") : "";
  }

  // The value of a scalar constant of floats.
  std::optional<double> Number(std::string_view name) const {
    const Operation* op = MadeBy(name);
    if (op == nullptr || op->name != "stablehlo.constant") return std::nullopt;
    const auto value = op->attributes.find("value");
    if (value == op->attributes.end() || value->second.kind != Attribute::Kind::kDense) return std::nullopt;
    bool splat = false;
    const Result<Literal> literal = ReadDense(value->second, call_.text, &splat);
    if (!literal.ok() || literal->floats.size() != 1) return std::nullopt;
    return literal->floats.front();
  }

  // The argument, by its number; also where it is first made the one 0 and the one NaN, which sorting equates anyway.
  std::optional<size_t> Canonical(std::string_view name, int depth) const {
    constexpr int kSelects = 2;
    const auto argument = std::ranges::find(region_.arguments, name, &BlockArgument::name);
    if (argument != region_.arguments.end()) return static_cast<size_t>(argument - region_.arguments.begin());
    const Operation* select = MadeBy(name);
    if (depth >= kSelects || select == nullptr || select->name != "stablehlo.select" || select->operands.size() != 3) {
      return std::nullopt;
    }
    const std::optional<size_t> of = Canonical(select->operands[2].name, depth + 1);
    const Operation* test = MadeBy(select->operands[0].name);
    const std::optional<double> constant = Number(select->operands[1].name);
    if (!of || !constant || test == nullptr || test->name != "stablehlo.compare" || test->operands.size() != 2 ||
        test->operands[0].name != region_.arguments[*of].name) {
      return std::nullopt;
    }
    const std::string direction = Word(*test);
    const bool is_zero = direction == "EQ" && *constant == 0 && Number(test->operands[1].name) == 0.0;
    const bool is_nan = direction == "NE" && std::isnan(*constant) && test->operands[1].name == test->operands[0].name;
    return is_zero || is_nan ? of : std::nullopt;
  }

  const FormCall& call_;
  const Region& region_;
};

}  // namespace

Result<std::vector<ValueRef>> WriteSort(const FormCall& call) {
  const int64_t dim = call.Int("dimension", -1);
  const std::optional<SortOrder> order =
      call.op.regions.size() == 1 ? Comparator(call, call.op.regions[0]).Read() : std::nullopt;
  if (!order || order->key >= call.operands.size()) {
    return BadInput("only sorts by one operand, ascending or descending, are read");
  }
  const ValueRef& key = call.operands[order->key];
  for (const ValueRef& operand : call.operands) {
    if (operand->type.shape != key->type.shape) return BadInput("the operands differ in shape");
  }
  const int64_t axis = dim < 0 ? dim + key->type.rank() : dim;
  if (axis < 0 || axis >= key->type.rank()) return BadInput(StrCat("the operands have no dimension ", dim));
  Attributes attributes;
  attributes.Set("dimension", axis);
  attributes.Set("descending", int64_t{order->direction == "GT" ? 1 : 0});
  const auto is_count = [&](const ValueRef& operand) {
    return operand->iota == axis && IsInteger(operand->type.dtype);
  };
  const auto counts = std::ranges::find_if(call.operands, is_count);
  TensorType places = key->type;
  places.dtype = counts == call.operands.end() ? DType::kI32 : (*counts)->type.dtype;
  const std::vector<ValueRef> sorted =
      call.writer.Add("sort", {{"x", call.writer.Full(key)}}, std::move(attributes), {key->type, places});
  std::vector<ValueRef> results;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const ValueRef& operand = call.operands[i];
    if (operand == key || (is_count(operand) && operand->type.dtype == places.dtype)) {
      results.push_back(sorted[operand == key ? 0 : 1]);
      continue;
    }
    Attributes along;
    along.Set("axis", axis);
    results.push_back(call.writer.AddOne("gather_along", {{"operand", call.Full(i)}, {"indices", sorted[1]->tensor}},
                                         std::move(along), operand->type));
  }
  return results;
}

}  // namespace sbp::stablehlo
