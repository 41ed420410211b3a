#include "rule/factorizers/reshape.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "base/checked_math.h"
#include "base/status.h"
#include "base/text.h"
#include "rule/factor_map.h"
#include "rule/factorizer.h"
#include "rule/factorizers/structural.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

// The dimensions of one side that matter: those of size 1 carry nothing and may stand anywhere.
struct Side {
  std::vector<int64_t> sizes;
  std::vector<DimFactors*> dims;

  Side(const Shape& shape, TensorFactors& factors) {
    for (size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] == 1) continue;
      sizes.push_back(shape[d]);
      dims.push_back(&factors[d]);
    }
  }
};

// Factors that no other tensor carries: never split, but they make their dimension a compound one.
void CarryAlone(FactorizerContext& context, DimFactors& dim, int64_t size) {
  const FactorId f = NewFactor(context, size);
  if (f == kNoFactor) return;
  context.map().factors[f].whole = true;
  dim.push_back(f);
}

// One group: the shortest runs of dimensions of both sides, from i and j on, with equal products.
void FactorGroup(FactorizerContext& context, Side& in, size_t& i, Side& out, size_t& j) {
  size_t in_end = i + 1, out_end = j + 1;
  int64_t in_product = in.sizes[i], out_product = out.sizes[j];
  while (in_product != out_product) {
    if (in_product < out_product) {
      in_product = SaturatingMul(in_product, in.sizes[in_end++]);
    } else {
      out_product = SaturatingMul(out_product, out.sizes[out_end++]);
    }
  }
  int64_t a = in.sizes[i], b = out.sizes[j];
  while (i < in_end && j < out_end) {
    const int64_t common = std::gcd(a, b);
    const FactorId f = NewFactor(context, common);
    Carry(*in.dims[i], {f});
    Carry(*out.dims[j], {f});
    a /= common;
    b /= common;
    if (a > 1 && b > 1) break;  // the sizes do not nest: what follows has no common split points
    if (a == 1 && ++i < in_end) a = in.sizes[i];
    if (b == 1 && ++j < out_end) b = out.sizes[j];
  }
  for (; i < in_end; ++i, a = i < in_end ? in.sizes[i] : 1) CarryAlone(context, *in.dims[i], a);
  for (; j < out_end; ++j, b = j < out_end ? out.sizes[j] : 1) CarryAlone(context, *out.dims[j], b);
}

// The shape that a Reshape of `operand` asks for; 0 copies a dimension, -1 takes what is left.
Result<Shape> ReshapeTarget(const FactorizerContext& context, size_t operand, std::vector<int64_t> target) {
  const Shape& in = context.shape(operand);
  SBP_ASSIGN_OR_RETURN(const int64_t count, CountElements(context, in));
  const bool allow_zero = context.Int("allowzero") != 0;
  const std::string asked = StrCat("[", Join(target, ","), "]");
  int free_dim = -1;
  for (size_t d = 0; d < target.size(); ++d) {
    if (target[d] == 0 && !allow_zero) {
      if (d >= in.size()) {
        return context.Error(StrCat("shape ", asked, " copies dimension ", d, " of ", ToString(context.type(operand))));
      }
      target[d] = in[d];
    } else if (target[d] == -1) {
      if (free_dim >= 0) return context.Error(StrCat("shape ", asked, " has more than one -1"));
      free_dim = static_cast<int>(d);
    } else if (target[d] < -1) {
      return context.Error(StrCat("shape ", asked, " has a size below -1"));
    }
  }
  if (free_dim >= 0) {
    target[free_dim] = 1;
    SBP_ASSIGN_OR_RETURN(const int64_t rest, CountElements(context, target));
    target[free_dim] = rest == 0 ? 0 : count / rest;
  }
  SBP_ASSIGN_OR_RETURN(const int64_t target_count, CountElements(context, target));
  if (target_count != count) {
    return context.Error(
        StrCat("shape ", asked, " does not hold the ", count, " elements of ", ToString(context.type(operand))));
  }
  return Shape(target);
}

Status CopyAs(FactorizerContext& context, size_t operand, Shape shape) {
  SBP_ASSIGN_OR_RETURN(const int64_t count, CountElements(context, context.shape(operand)));
  SBP_ASSIGN_OR_RETURN(const int64_t result_count, CountElements(context, shape));
  if (count != result_count) {
    return context.Error(
        StrCat(ToString(context.type(operand)), " does not have the elements of [", Join(shape, ","), "]"));
  }
  context.SetResult(0, std::move(shape));
  FactorReshape(context, operand, 0);
  return OkStatus();
}

// Axes as a set of positions below `rank`; each may be given once.
Result<std::vector<bool>> AxisSet(const FactorizerContext& context, const std::vector<int64_t>& axes, int rank) {
  std::vector<bool> set(rank, false);
  for (int64_t axis : axes) {
    SBP_ASSIGN_OR_RETURN(const int d, NormalizeAxis(context, axis, rank));
    if (set[d]) return context.Error(StrCat("axis ", axis, " is given twice"));
    set[d] = true;
  }
  return set;
}

}  // namespace

void FactorReshape(FactorizerContext& context, size_t operand, size_t result) {
  Side in(context.shape(operand), context.map().operands[operand]);
  Side out(context.out().results[result].shape, context.map().results[result]);
  const auto has_zero = [](const Side& side) {
    return std::find(side.sizes.begin(), side.sizes.end(), 0) != side.sizes.end();
  };
  if (has_zero(in) || has_zero(out)) {  // no elements: nothing that a split could gain
    return;
  }
  for (size_t i = 0, j = 0; i < in.sizes.size() && j < out.sizes.size();) FactorGroup(context, in, i, out, j);
}

Status FactorizeReshape(FactorizerContext& context) {
  const size_t data = context.operand("data"), shape = context.operand("shape");
  if (const auto known = KnownInts(context, shape)) {
    SBP_ASSIGN_OR_RETURN(Shape target, ReshapeTarget(context, data, *known));
    return CopyAs(context, data, std::move(target));
  }
  if (std::optional<Shape> stated = StatedShape(context, 0)) return CopyAs(context, data, std::move(*stated));
  return context.ints(shape).status();
}

Status FactorizeFlatten(FactorizerContext& context) {
  const size_t input = context.operand("input");
  const Shape& in = context.shape(input);
  const int rank = context.rank(input);
  int64_t axis = context.Int("axis", 1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) {
    return context.Error(
        StrCat("axis ", context.Int("axis", 1), " is out of range for ", ToString(context.type(input))));
  }
  SBP_ASSIGN_OR_RETURN(const int64_t rows, CountElements(context, Shape(in.begin(), in.begin() + axis)));
  SBP_ASSIGN_OR_RETURN(const int64_t columns, CountElements(context, Shape(in.begin() + axis, in.end())));
  return CopyAs(context, input, {rows, columns});
}

Status FactorizeSqueeze(FactorizerContext& context) {
  const size_t data = context.operand("data");
  const Shape& in = context.shape(data);
  std::vector<bool> dropped(in.size(), false);
  if (const size_t given = context.operand("axes"); context.has(given)) {
    SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, context.ints(given));
    SBP_ASSIGN_OR_RETURN(dropped, AxisSet(context, axes, context.rank(data)));
  } else {
    for (size_t d = 0; d < in.size(); ++d) dropped[d] = in[d] == 1;
  }
  Shape shape;
  for (size_t d = 0; d < in.size(); ++d) {
    if (!dropped[d]) {
      shape.push_back(in[d]);
    } else if (in[d] != 1) {
      return context.Error(StrCat("dimension ", d, " of ", ToString(context.type(data)), " is not 1"));
    }
  }
  return CopyAs(context, data, std::move(shape));
}

Status FactorizeUnsqueeze(FactorizerContext& context) {
  const size_t data = context.operand("data");
  SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, context.ints(context.operand("axes")));
  const size_t rank = context.shape(data).size() + axes.size();
  if (rank > static_cast<size_t>(kMaxRank)) return context.Error(StrCat("a result of ", rank, " dimensions"));
  SBP_ASSIGN_OR_RETURN(const std::vector<bool> added, AxisSet(context, axes, static_cast<int>(rank)));
  Shape shape;
  size_t next = 0;
  for (size_t d = 0; d < rank; ++d) shape.push_back(added[d] ? 1 : context.shape(data)[next++]);
  return CopyAs(context, data, std::move(shape));
}

}  // namespace sbp
