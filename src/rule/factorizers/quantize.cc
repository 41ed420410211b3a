// Quantising and dequantising: a scale for the tensor, for each slice of an axis, or for each block along it.
#include <cstdint>
#include <optional>
#include <vector>

#include "base/checked_math.h"
#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"
#include "rule/factor_map.h"
#include "rule/factorizer.h"
#include "rule/factorizers/composite.h"
#include "rule/factorizers/layout.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

// The arguments: x, its scale and its zero point.
struct QuantizeOperands {
  explicit QuantizeOperands(const FactorizerContext& context)
      : x(context.int_arguments.at(0)), scale(context.int_arguments.at(1)), zero_point(context.int_arguments.at(2)) {}
  size_t x, scale, zero_point;
};

struct AxisFactors {
  int axis = 0;
  std::vector<FactorId> dims;  // of x; the axis's own entry is -1 when it is cut into blocks
  FactorId block = -1, inner = -1;
};

// Scales and zero points follow x where they have its dimensions.
Status PutScale(FactorizerContext& context, const Shape& x, size_t operand, const AxisFactors& f, int64_t block_size) {
  if (!context.has(operand)) return OkStatus();
  if (block_size > 0) {
    SBP_RETURN_IF_ERROR(ExpectRank(context, operand, static_cast<int>(x.size())));
    for (int dim = 0; dim < static_cast<int>(x.size()); ++dim) {
      const bool blocked = dim == f.axis;
      SBP_RETURN_IF_ERROR(ExpectDim(context, operand, dim, blocked ? CeilDiv(x[dim], block_size) : x[dim],
                                    blocked ? "blocks" : "as in x"));
      SetOperandDim(context, operand, dim, {blocked ? f.block : f.dims[dim]});
    }
    return OkStatus();
  }
  if (context.type(operand).num_elements() == 1) return OkStatus();
  SBP_RETURN_IF_ERROR(ExpectRank(context, operand, 1));
  SBP_RETURN_IF_ERROR(ExpectDim(context, operand, 0, x[f.axis], "entries along the axis"));
  SetOperandDim(context, operand, 0, {f.dims[f.axis]});
  return OkStatus();
}

// x -> y element by element.
Status PutQuantized(FactorizerContext& context, const QuantizeOperands& at) {
  const Shape shape = context.shape(at.x);
  const int64_t block_size = context.Int("block_size");
  const bool per_tensor = context.type(at.scale).num_elements() == 1 && block_size == 0;
  AxisFactors f;
  if (!per_tensor) {
    SBP_ASSIGN_OR_RETURN(f.axis, NormalizeAxis(context, context.Int("axis", 1), context.rank(at.x)));
  }
  FactorMap& map = context.map();
  for (int dim = 0; dim < static_cast<int>(shape.size()); ++dim) {
    if (block_size > 0 && dim == f.axis && shape[dim] % block_size == 0) {
      f.dims.push_back(-1);
      f.block = map.AddFactor("k", shape[dim] / block_size);
      f.inner = map.AddFactor("j", block_size);
      map.factors[f.inner].whole = true;
      for (TensorFactors* x : {&map.operands[at.x], &map.results[0]}) SetDim(*x, dim, {f.block, f.inner});
      continue;
    }
    f.dims.push_back(map.AddFactor(LetterName(dim), shape[dim]));
    map.factors[f.dims.back()].whole = block_size > 0 && dim == f.axis;  // the last block is cut short
    for (TensorFactors* x : {&map.operands[at.x], &map.results[0]}) SetDim(*x, dim, {f.dims.back()});
  }
  SBP_RETURN_IF_ERROR(PutScale(context, shape, at.scale, f, block_size));
  return PutScale(context, shape, at.zero_point, f, block_size);
}

Status CheckOutputType(FactorizerContext& context, int64_t code) {
  if (code >= 0 && code <= static_cast<int64_t>(DType::kI2)) return OkStatus();
  return context.Error(StrCat("output_dtype ", code, " is no element type"));
}

}  // namespace

// The result's type is the zero point's, else what output_dtype says, else u8.
Status FactorizeQuantize(FactorizerContext& context) {
  const QuantizeOperands at(context);
  const int64_t code = context.Int("output_dtype");
  SBP_RETURN_IF_ERROR(CheckOutputType(context, code));
  DType type = code == 0 ? DType::kU8 : static_cast<DType>(code);
  if (context.has(at.zero_point)) type = context.type(at.zero_point).dtype;
  context.SetResult(0, type, context.shape(at.x));
  SBP_RETURN_IF_ERROR(PutQuantized(context, at));
  // Rounding and cutting off keep the order of values, if the scale is known to be positive.
  if (const std::optional<double> scale = KnownScalar(context, at.scale); scale && *scale > 0) {
    context.map().partials.push_back({PartialClause::Kind::kMonotone, {static_cast<int>(at.x)}, {}});
  }
  return OkStatus();
}

Status FactorizeDequantize(FactorizerContext& context) {
  const QuantizeOperands at(context);
  const int64_t code = context.Int("output_dtype");
  SBP_RETURN_IF_ERROR(CheckOutputType(context, code));
  context.SetResult(0, code == 0 ? context.type(at.scale).dtype : static_cast<DType>(code), context.shape(at.x));
  return PutQuantized(context, at);
}

}  // namespace sbp
