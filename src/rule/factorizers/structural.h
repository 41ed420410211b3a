// Factorizers of the structural families of the ONNX standard. Each is a row of all_factorizers.cc, which says what it
// does; each reads its op's attributes and its operands by their ONNX names.
#pragma once

#include "base/status.h"
#include "rule/factorizer.h"

namespace sbp {

// gemm.cc, einsum.cc
Status FactorizeGemm(FactorizerContext& context);
Status FactorizeEinsum(FactorizerContext& context);

// reshape.cc, transpose.cc, expand.cc, column.cc
Status FactorizeReshape(FactorizerContext& context);
Status FactorizeFlatten(FactorizerContext& context);
Status FactorizeSqueeze(FactorizerContext& context);
Status FactorizeUnsqueeze(FactorizerContext& context);
Status FactorizeTranspose(FactorizerContext& context);
Status FactorizeExpand(FactorizerContext& context);
Status FactorizeTile(FactorizerContext& context);
Status FactorizeCenterCropPad(FactorizerContext& context);
Status FactorizeCol2Im(FactorizerContext& context);

// concat.cc, slice.cc
Status FactorizeConcat(FactorizerContext& context);
Status FactorizeQuantizedConcat(FactorizerContext& context);
Status FactorizeSplit(FactorizerContext& context);
Status FactorizeSlice(FactorizerContext& context);
Status FactorizePad(FactorizerContext& context);

// gather.cc, scatter.cc
Status FactorizeGather(FactorizerContext& context);
Status FactorizeGatherElements(FactorizerContext& context);
Status FactorizeGatherND(FactorizerContext& context);
Status FactorizeScatterElements(FactorizerContext& context);
Status FactorizeScatterND(FactorizerContext& context);
Status FactorizeTensorScatter(FactorizerContext& context);

// select.cc: results whose size depends on values, and orderings along an axis
Status FactorizeOneHot(FactorizerContext& context);
Status FactorizeCompress(FactorizerContext& context);
Status FactorizeNonZero(FactorizerContext& context);
Status FactorizeUnique(FactorizerContext& context);
Status FactorizeTopK(FactorizerContext& context);
Status FactorizeNonMaxSuppression(FactorizerContext& context);
Status FactorizeKeepWholeOperandAxis(FactorizerContext& context);
Status FactorizeReverseSequence(FactorizerContext& context);

// source.cc
Status FactorizeShape(FactorizerContext& context);
Status FactorizeSize(FactorizerContext& context);
Status FactorizeConstant(FactorizerContext& context);
Status FactorizeConstantOfShape(FactorizerContext& context);
Status FactorizeRange(FactorizerContext& context);
Status FactorizeRandom(FactorizerContext& context);
Status FactorizeLike(FactorizerContext& context);
Status FactorizeMultinomial(FactorizerContext& context);
Status FactorizeWindowFunction(FactorizerContext& context);
Status FactorizeMelWeightMatrix(FactorizerContext& context);
Status FactorizeAffineGrid(FactorizerContext& context);
Status FactorizeCast(FactorizerContext& context);
Status FactorizeDropout(FactorizerContext& context);

// reduce.cc
Status FactorizeReduce(FactorizerContext& context);
Status FactorizeArgReduce(FactorizerContext& context);

// conv.cc, deform_conv.cc, pool.cc, roi.cc, resize.cc
Status FactorizeConv(FactorizerContext& context);
Status FactorizeConvTranspose(FactorizerContext& context);
Status FactorizeDeformConv(FactorizerContext& context);
Status FactorizePool(FactorizerContext& context);
Status FactorizeGlobalPool(FactorizerContext& context);
Status FactorizeMaxUnpool(FactorizerContext& context);
Status FactorizeRoi(FactorizerContext& context);
Status FactorizeResize(FactorizerContext& context);
Status FactorizeUpsample(FactorizerContext& context);

}  // namespace sbp
