// Concat and Split: the joined dimension stays whole (its parts come from different tensors), the others are shared.
#include "base/checked_math.h"
#include "base/text.h"
#include "rule/factorizers/carry.h"
#include "rule/factorizers/structural.h"

namespace sbp {
namespace {

// Up to this many operands every set of partial operands is offered (P(max) passes with any of them); beyond, only all.
constexpr size_t kMaxOperandsForSubsets = 3;

void AddMonotoneSubsets(FactorizerContext& context, const std::vector<int>& operands) {
  if (operands.size() > kMaxOperandsForSubsets) {
    AddMonotone(context, operands);
    return;
  }
  for (unsigned set = (1u << operands.size()) - 1; set > 0; --set) {
    std::vector<int> members;
    for (size_t i = 0; i < operands.size(); ++i) {
      if ((set >> i) & 1) members.push_back(operands[i]);
    }
    AddMonotone(context, members);
  }
}

// The result's shape; checks that all dimensions but `axis` agree.
Result<Shape> JoinedShape(const FactorizerContext& context, int axis) {
  Shape shape = context.shape(0);
  for (size_t i = 1; i < context.num_operands(); ++i) {
    const Shape& other = context.shape(i);
    bool fits = other.size() == shape.size();
    for (size_t d = 0; fits && d < shape.size(); ++d) fits = static_cast<int>(d) == axis || other[d] == shape[d];
    if (!fits) {
      return context.Error(StrCat("operands 0 ", ToString(context.type(0)), " and ", i, " ", ToString(context.type(i)),
                                  " differ in another dimension than ", axis));
    }
    shape[axis] = SaturatingAdd(shape[axis], other[axis]);
  }
  SBP_RETURN_IF_ERROR(CountElements(context, shape).status());
  return shape;
}

// Sizes of the parts of a dimension: told by the second operand, else equal (the last one smaller).
Result<std::vector<int64_t>> PartSizes(const FactorizerContext& context, int64_t whole) {
  const size_t parts = context.num_results();
  if (context.num_operands() > 1 && context.has(1)) {
    SBP_ASSIGN_OR_RETURN(std::vector<int64_t> sizes, context.ints(1));
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

}  // namespace

Status FactorizeConcat(FactorizerContext& context) {
  if (context.num_operands() == 0) return context.Error("needs at least one operand");
  for (size_t i = 0; i < context.num_operands(); ++i) {
    if (!context.has(i)) return context.Error(StrCat("operand ", i, " is absent"));
  }
  const int rank = context.rank(0);
  SBP_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(context, context.Int("axis"), rank));
  SBP_ASSIGN_OR_RETURN(Shape shape, JoinedShape(context, axis));
  context.SetResult(0, std::move(shape));
  FactorMap& map = context.map();
  std::vector<int> all, filled;  // all operands; those with elements along the axis: the others add nothing
  for (size_t i = 0; i < context.num_operands(); ++i) {
    all.push_back(static_cast<int>(i));
    if (context.shape(i)[axis] > 0) filled.push_back(static_cast<int>(i));
  }
  for (int d = 0; d < rank; ++d) {
    if (d == axis) {
      if (filled.size() == 1) ShareDim(context, filled[0], d, 0, d);
      continue;
    }
    ShareDim(context, 0, d, 0, d);
    for (size_t i = 1; i < context.num_operands(); ++i) CopyDim(map.operands[0][d], map.operands[i][d]);
  }
  AddLinear(context, all);
  if (filled.size() < all.size()) {
    AddLinear(context, filled);
    for (int i : all) {
      if (context.shape(i)[axis] == 0) map.unused.push_back(i);
    }
  }
  AddMonotoneSubsets(context, filled.empty() ? all : filled);  // of an empty tensor nothing is read
  if (filled.size() > 1)
    AddNote(context, StrCat("dimension ", axis, " joins several tensors: its parts would not line up"));
  return OkStatus();
}

Status FactorizeSplit(FactorizerContext& context) {
  const Shape& in = context.shape(0);
  SBP_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(context, context.Int("axis"), context.rank(0)));
  SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, PartSizes(context, in[axis]));
  for (size_t r = 0; r < context.num_results(); ++r) {
    Shape shape = in;
    shape[axis] = sizes[r];
    context.SetResult(r, std::move(shape));
  }
  FactorMap& map = context.map();
  for (int d = 0; d < context.rank(0); ++d) {
    if (d == axis && context.num_results() > 1) continue;
    if (d == axis && sizes[0] != in[axis]) continue;
    ShareDim(context, 0, d, 0, d);
    for (size_t r = 1; r < context.num_results(); ++r) CopyDim(map.results[0][d], map.results[r][d]);
  }
  AddNote(context, StrCat("dimension ", axis, " is cut into several tensors: its parts would not line up"));
  return OkStatus();
}

}  // namespace sbp
