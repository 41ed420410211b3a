// MatMulNBits: weights of few bits, quantised in blocks along k.
//
// a [..., k q j], weights [n, k q, bytes], scales [n, k q] or flat [n k q], zero points packed several to a byte: [n,
// k] or flat [n k]. q: blocks that share a byte of zero points; j: elements of a block.
#include <cstdint>
#include <string_view>

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

struct BlockFactors {
  FactorId n = -1, k = -1, q = -1, j = -1;
};

Status ExpectElements(FactorizerContext& context, size_t operand, int64_t count, std::string_view meaning) {
  if (!context.has(operand) || context.type(operand).num_elements() == count) return OkStatus();
  return context.Error(StrCat(OperandName(context, operand), " must have ", count, " elements (", meaning, "), but is ",
                              ToString(context.type(operand))));
}

// Per column and block: two dimensions, or one.
void PutPerBlock(FactorizerContext& context, size_t operand, const BlockFactors& f, FactorId inner) {
  if (!context.has(operand)) return;
  if (context.rank(operand) == 1) SetOperandDim(context, operand, 0, {f.n, f.k, inner});
  if (context.rank(operand) != 2) return;
  SetOperandDim(context, operand, 0, {f.n});
  SetOperandDim(context, operand, 1, {f.k, inner});
}

}  // namespace

Status FactorizeBlockQuantizedMatMul(FactorizerContext& context) {
  const size_t a = context.operand("A"), b = context.operand("B"), scales = context.operand("scales");
  const size_t zero_points = context.operand("zero_points"), bias = context.operand("bias");
  const int64_t k = context.Int("K"), n = context.Int("N"), bits = context.Int("bits", 4);
  const int64_t block = context.Int("block_size");
  const int rank = context.rank(a);
  if (rank < 1) return context.Error("A must have at least one dimension");
  if (block <= 0 || bits <= 0 || bits > 8) return context.Error("block_size must be positive and bits in 1..8");
  SBP_RETURN_IF_ERROR(ExpectDim(context, a, rank - 1, k, "attribute K"));
  if (context.rank(b) < 1) return context.Error("B must have at least one dimension");
  SBP_RETURN_IF_ERROR(ExpectDim(context, b, 0, n, "attribute N"));

  Shape shape = context.shape(a);
  shape.back() = n;
  context.SetResult(0, shape);
  FactorMap& map = context.map();
  for (int dim = 0; dim + 1 < rank; ++dim) {
    const FactorId row = map.AddFactor(LetterName(dim), shape[dim]);
    map.factors[row].from_ellipsis = true;
    SetOperandDim(context, a, dim, {row});
    SetResultDim(context, 0, dim, {row});
  }
  const int64_t blocks = CeilDiv(k, block);
  const bool packed = context.has(zero_points) && !IsFloat(context.type(zero_points).dtype);
  const int64_t per_byte = packed ? 8 / bits : 1;
  SBP_RETURN_IF_ERROR(ExpectElements(context, scales, SaturatingMul(n, blocks), "one for each block"));
  SBP_RETURN_IF_ERROR(ExpectElements(context, zero_points, SaturatingMul(n, CeilDiv(blocks, per_byte)),
                                     "each column's in whole bytes"));
  SBP_RETURN_IF_ERROR(ExpectElements(context, bias, n, "one for each column"));
  const bool splits = k % block == 0 && blocks % per_byte == 0 && !context.has(context.operand("g_idx"));
  BlockFactors f;
  f.n = map.AddFactor("n", n);
  f.k = map.AddFactor("k", blocks / (splits ? per_byte : 1));
  f.q = map.AddFactor("q", splits ? per_byte : 1);
  f.j = map.AddFactor("j", block);
  map.factors[f.k].whole = !splits;
  map.factors[f.q].whole = map.factors[f.j].whole = true;
  SetResultDim(context, 0, rank - 1, {f.n});
  SetOperandDim(context, a, rank - 1, {f.k, f.q, f.j});
  SetOperandDim(context, b, 0, {f.n});
  if (context.rank(b) > 1) SetOperandDim(context, b, 1, {f.k, f.q});
  PutPerBlock(context, scales, f, f.q);
  PutPerBlock(context, zero_points, f, packed ? -1 : f.q);
  if (context.has(zero_points) && packed && !splits && context.rank(zero_points) == 1 &&
      context.shape(zero_points)[0] == SaturatingMul(n, CeilDiv(blocks, 8 / bits))) {
    // Each column's zero points fill whole bytes, so columns still split.
    const FactorId bytes = map.AddFactor("z", CeilDiv(blocks, 8 / bits));
    map.factors[bytes].whole = true;
    SetDim(map.operands[zero_points], 0, {f.n, bytes});
  }
  if (context.has(bias)) SetOperandDim(context, bias, context.rank(bias) - 1, {f.n});
  ReduceBySum(context, f.k);
  if (!splits) map.notes.push_back("k does not split into whole blocks and bytes of zero points");
  context.out().flops = 2.0 * static_cast<double>(context.type(a).num_elements()) * static_cast<double>(n);
  return OkStatus();
}

}  // namespace sbp
