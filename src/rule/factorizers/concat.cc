// Concat and Split: the joined dimension stays whole (its parts come from different tensors), the others are shared.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <span>
#include <vector>

#include "base/checked_math.h"
#include "base/status.h"
#include "base/text.h"
#include "rule/factor_map.h"
#include "rule/factorizer.h"
#include "rule/factorizers/carry.h"
#include "rule/factorizers/structural.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

// Up to this many operands every set of partial operands is offered (P(max) passes with any of them); beyond, only all.
constexpr size_t kMaxOperandsForSubsets = 3;

void AddMonotoneSubsets(FactorizerContext& context, const std::vector<size_t>& operands) {
  if (operands.size() > kMaxOperandsForSubsets) {
    AddMonotone(context, operands);
    return;
  }
  for (unsigned set = (1u << operands.size()) - 1; set > 0; --set) {
    std::vector<size_t> members;
    for (size_t i = 0; i < operands.size(); ++i) {
      if ((set >> i) & 1) members.push_back(operands[i]);
    }
    AddMonotone(context, members);
  }
}

// The shape of these operands joined; checks that all dimensions but `axis` agree.
Result<Shape> JoinedShape(const FactorizerContext& context, std::span<const size_t> operands, int axis) {
  const size_t first = operands[0];
  Shape shape = context.shape(first);
  for (const size_t i : operands.subspan(1)) {
    const Shape& other = context.shape(i);
    bool fits = other.size() == shape.size();
    for (size_t d = 0; fits && d < shape.size(); ++d) fits = static_cast<int>(d) == axis || other[d] == shape[d];
    if (!fits) {
      return context.Error(StrCat("operands ", first, " ", ToString(context.type(first)), " and ", i, " ",
                                  ToString(context.type(i)), " differ in another dimension than ", axis));
    }
    shape[axis] = SaturatingAdd(shape[axis], other[axis]);
  }
  SBP_RETURN_IF_ERROR(CountElements(context, shape).status());
  return shape;
}

// Sizes of the parts of a dimension: told by an operand, else equal (the last one smaller).
Result<std::vector<int64_t>> PartSizes(const FactorizerContext& context, int64_t whole) {
  const size_t parts = context.num_results();
  if (const size_t split = context.operand("split"); context.has(split)) {
    SBP_ASSIGN_OR_RETURN(std::vector<int64_t> sizes, context.ints(split));
    int64_t sum = 0;
    bool valid = sizes.size() == parts;
    for (int64_t size : sizes) {
      valid &= size >= 0;
      sum = SaturatingAdd(sum, size);
    }
    if (!valid || sum != whole) {
      return context.Error(StrCat("split [", Join(sizes, ","), "] must be ", parts, " sizes that add up to ", whole));
    }
    return sizes;
  }
  const int64_t count = context.Int("num_outputs", static_cast<int64_t>(parts));
  if (count < static_cast<int64_t>(parts) || count <= 0) {
    return context.Error(StrCat("num_outputs is ", count, ", but there are ", parts, " results"));
  }
  const int64_t each = CeilDiv(whole, count);
  std::vector<int64_t> sizes(count, each);
  int64_t left = whole;
  for (int64_t& size : sizes) {
    size = std::min(size, left);
    left -= size;
  }
  return sizes;
}

// The joined operands and the result share all dimensions but the axis, and that one too where a single operand has
// elements along it. Gives these operands.
Result<std::vector<size_t>> JoinOperands(FactorizerContext& context, std::span<const size_t> operands) {
  if (operands.empty()) return context.Error("needs at least one operand");
  for (size_t i = 0; i < context.num_operands(); ++i) {
    if (!context.has(i)) return context.Error(StrCat("operand ", i, " is absent"));
  }
  const size_t first = operands[0];
  const int rank = context.rank(first);
  SBP_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(context, context.Int("axis"), rank));
  SBP_ASSIGN_OR_RETURN(Shape shape, JoinedShape(context, operands, axis));
  context.SetResult(0, std::move(shape));
  FactorMap& map = context.map();
  std::vector<size_t> filled;
  for (const size_t i : operands) {
    if (context.shape(i)[axis] > 0) filled.push_back(i);
  }
  for (int d = 0; d < rank; ++d) {
    if (d == axis) {
      if (filled.size() == 1) ShareDim(context, filled[0], d, 0, d);
      continue;
    }
    ShareDim(context, first, d, 0, d);
    for (const size_t i : operands.subspan(1)) CopyDim(map.operands[first][d], map.operands[i][d]);
  }
  if (filled.size() > 1)
    AddNote(context, StrCat("dimension ", axis, " joins several tensors: its parts would not line up"));
  return filled;
}

}  // namespace

Status FactorizeConcat(FactorizerContext& context) {
  std::vector<size_t> all(context.num_operands());
  std::iota(all.begin(), all.end(), kFirstOperand);
  SBP_ASSIGN_OR_RETURN(const std::vector<size_t> filled, JoinOperands(context, all));
  AddLinear(context, all);
  if (filled.size() < all.size()) {  // the others add nothing
    AddLinear(context, filled);
    std::set_difference(all.begin(), all.end(), filled.begin(), filled.end(), std::back_inserter(context.map().unused));
  }
  AddMonotoneSubsets(context, filled.empty() ? all : filled);  // of an empty tensor nothing is read
  return OkStatus();
}

// The result's scale and zero point, then each tensor with its own.
Status FactorizeQuantizedConcat(FactorizerContext& context) {
  const size_t first = context.operand("inputs[0]");
  if ((context.num_operands() - first) % 3 != 0) {
    return context.Error(StrCat("expected a scale and a zero point, and as many for each tensor, found ",
                                context.num_operands(), " operands"));
  }
  std::vector<size_t> tensors;
  for (size_t i = first; i < context.num_operands(); i += 3) tensors.push_back(i);
  return JoinOperands(context, tensors).status();
}

Status FactorizeSplit(FactorizerContext& context) {
  const size_t input = context.operand("input");
  const Shape& in = context.shape(input);
  SBP_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(context, context.Int("axis"), context.rank(input)));
  SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, PartSizes(context, in[axis]));
  for (size_t r = 0; r < context.num_results(); ++r) {
    Shape shape = in;
    shape[axis] = sizes[r];
    context.SetResult(r, std::move(shape));
  }
  FactorMap& map = context.map();
  for (int d = 0; d < context.rank(input); ++d) {
    if (d == axis && context.num_results() > 1) continue;
    if (d == axis && sizes[0] != in[axis]) continue;
    ShareDim(context, input, d, 0, d);
    for (size_t r = 1; r < context.num_results(); ++r) CopyDim(map.results[0][d], map.results[r][d]);
  }
  AddNote(context, StrCat("dimension ", axis, " is cut into several tensors: its parts would not line up"));
  return OkStatus();
}

}  // namespace sbp
