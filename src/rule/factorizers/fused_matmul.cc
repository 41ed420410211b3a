// Products of matrices whose operands are transposed on demand.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "rule/factor_map.h"
#include "rule/factorizer.h"
#include "rule/factorizers/composite.h"
#include "rule/factorizers/layout.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

// Where the dimensions of one operand are; m or n is `outer`. -1: absent (a vector).
struct MatrixDims {
  int outer = -1;
  int inner = -1;
  std::vector<int> batch;
};

// Of operand a (outer m, inner k) or b (outer n, inner k). `batch_inside`: the batch stands between the first dimension
// and the last instead of before both.
MatrixDims LocateDims(int rank, bool outer_last, bool batch_inside) {
  MatrixDims dims;
  if (rank == 1) {
    dims.inner = 0;
    return dims;
  }
  const int first = batch_inside ? 0 : rank - 2;
  dims.outer = outer_last ? rank - 1 : first;
  dims.inner = outer_last ? first : rank - 1;
  for (int i = 0; i < rank; ++i) {
    if (i != first && i != rank - 1) dims.batch.push_back(i);
  }
  return dims;
}

struct MatMulFactors {
  std::vector<FactorId> batch;  // in the result's order
  FactorId m = -1, n = -1, k = -1;
};

struct Matrices {
  size_t a{}, b{};
  bool transpose_a = false, transpose_b = false, batch_inside_a = false, batch_inside_b = false;
};

// Batch dimensions broadcast from the right.
Result<Shape> BroadcastBatch(FactorizerContext& context, const Shape& a, const Shape& b) {
  Shape shape(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t x = i < shape.size() - a.size() ? 1 : a[i - (shape.size() - a.size())];
    const int64_t y = i < shape.size() - b.size() ? 1 : b[i - (shape.size() - b.size())];
    if (x != y && x != 1 && y != 1)
      return context.Error(StrCat("batch dimensions ", x, " and ", y, " do not broadcast"));
    shape[i] = x == 1 ? y : x;
  }
  return shape;
}

Shape SizesOf(const Shape& shape, const std::vector<int>& dims) {
  Shape sizes;
  for (int dim : dims) sizes.push_back(shape[dim]);
  return sizes;
}

void PutBatch(FactorizerContext& context, size_t operand, const std::vector<int>& dims, const MatMulFactors& f) {
  for (size_t i = 0; i < dims.size(); ++i) {
    const FactorId factor = f.batch[f.batch.size() - dims.size() + i];
    if (context.shape(operand)[dims[i]] == context.map().factors[factor].size) {
      SetOperandDim(context, operand, dims[i], {factor});
    }
  }
}

// Infers the product's shape and gives both operands and the result their factors; k is not yet reduced.
Result<MatMulFactors> PutMatMul(FactorizerContext& context, const Matrices& matrices) {
  const Shape a = context.shape(matrices.a), b = context.shape(matrices.b);
  if (a.empty() || b.empty()) return context.Error("both matrices must have at least one dimension");
  const MatrixDims da = LocateDims(context.rank(matrices.a), matrices.transpose_a, matrices.batch_inside_a);
  const MatrixDims db = LocateDims(context.rank(matrices.b), !matrices.transpose_b, matrices.batch_inside_b);
  if (a[da.inner] != b[db.inner]) {
    return context.Error(StrCat("the inner dimensions differ: ", OperandName(context, matrices.a), " is ",
                                ToString(context.type(matrices.a)), ", ", OperandName(context, matrices.b), " is ",
                                ToString(context.type(matrices.b))));
  }
  SBP_ASSIGN_OR_RETURN(Shape shape, BroadcastBatch(context, SizesOf(a, da.batch), SizesOf(b, db.batch)));
  MatMulFactors f;
  FactorMap& map = context.map();
  for (size_t i = 0; i < shape.size(); ++i) {
    f.batch.push_back(map.AddFactor(StrCat("b", i), shape[i]));
    map.factors[f.batch.back()].from_ellipsis = true;
  }
  if (da.outer >= 0) f.m = map.AddFactor("m", a[da.outer]);
  if (db.outer >= 0) f.n = map.AddFactor("n", b[db.outer]);
  f.k = map.AddFactor("k", a[da.inner]);
  PutBatch(context, matrices.a, da.batch, f);
  PutBatch(context, matrices.b, db.batch, f);
  if (f.m >= 0) SetOperandDim(context, matrices.a, da.outer, {f.m});
  if (f.n >= 0) SetOperandDim(context, matrices.b, db.outer, {f.n});
  SetOperandDim(context, matrices.a, da.inner, {f.k});
  SetOperandDim(context, matrices.b, db.inner, {f.k});

  std::vector<FactorId> result = f.batch;
  for (FactorId outer : {f.m, f.n}) {
    if (outer < 0) continue;
    shape.push_back(map.factors[outer].size);
    result.push_back(outer);
  }
  context.SetResult(0, shape);
  for (size_t i = 0; i < result.size(); ++i) SetResultDim(context, 0, static_cast<int>(i), {result[i]});
  double flops = 2;
  for (const Factor& factor : map.factors) flops *= static_cast<double>(factor.size);
  context.out().flops = flops;
  return f;
}

}  // namespace

// @transposed_matmul: by the attributes transA, transB, transBatchA, transBatchB.
Status FactorizeTransposedMatMul(FactorizerContext& context) {
  Matrices matrices{.a = context.operand("A"), .b = context.operand("B")};
  matrices.transpose_a = context.Int("transA") != 0 && context.rank(matrices.a) > 1;
  matrices.transpose_b = context.Int("transB") != 0 && context.rank(matrices.b) > 1;
  matrices.batch_inside_a = context.Int("transBatchA") != 0;
  matrices.batch_inside_b = context.Int("transBatchB") != 0;
  SBP_ASSIGN_OR_RETURN(const MatMulFactors f, PutMatMul(context, matrices));
  ReduceBySum(context, f.k);
  return OkStatus();
}

}  // namespace sbp
