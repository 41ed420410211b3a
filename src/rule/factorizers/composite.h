// Factorizers of elementwise ops, normalisations, losses, attention, recurrent cells, quantised and fused ops,
// sequences. Each is a row of all_factorizers.cc, which says what it does; each reads its op's attributes by their
// names and its operands by theirs.
#pragma once

#include "base/status.h"
#include "rule/factorizer.h"

namespace sbp {

// broadcast.cc, fold.cc, product.cc
Status FactorizeFold(FactorizerContext& context);
Status FactorizeClip(FactorizerContext& context);
Status FactorizeWhere(FactorizerContext& context);
Status FactorizeProduct(FactorizerContext& context);
Status FactorizeQuotient(FactorizerContext& context);
Status FactorizePower(FactorizerContext& context);

// keep_whole.cc, normalised.cc, channel_normalised.cc, class_loss.cc
Status FactorizeKeepWhole(FactorizerContext& context);
Status FactorizeKeepWholeFrom(FactorizerContext& context);
Status FactorizeNormalised(FactorizerContext& context);
Status FactorizeSkipNormalised(FactorizerContext& context);
Status FactorizeEmbedNormalised(FactorizerContext& context);
Status FactorizeChannelNormalised(FactorizerContext& context);
Status FactorizeSkipChannelNormalised(FactorizerContext& context);
Status FactorizeBatchNormalised(FactorizerContext& context);
Status FactorizeClassLoss(FactorizerContext& context);

// attention.cc, rotary.cc, microsoft_attention.cc, recurrent.cc
Status FactorizeAttention(FactorizerContext& context);
Status FactorizeRotary(FactorizerContext& context);
Status FactorizeRotaryCached(FactorizerContext& context);
Status FactorizeMultiHeadAttention(FactorizerContext& context);
Status FactorizeFusedAttention(FactorizerContext& context);
Status FactorizeGroupQueryAttention(FactorizerContext& context);
Status FactorizeRecurrent(FactorizerContext& context);
Status FactorizeDynamicRecurrent(FactorizerContext& context);

// quantize.cc, fused_matmul.cc, block_quantized_matmul.cc, experts.cc
Status FactorizeQuantize(FactorizerContext& context);
Status FactorizeDequantize(FactorizerContext& context);
Status FactorizeTransposedMatMul(FactorizerContext& context);
Status FactorizeBlockQuantizedMatMul(FactorizerContext& context);
Status FactorizeExperts(FactorizerContext& context);

// fourier.cc, sequence.cc, stated.cc, update.cc
Status FactorizeFourier(FactorizerContext& context);
Status FactorizeFrames(FactorizerContext& context);
Status FactorizeSequence(FactorizerContext& context);
Status FactorizeOptional(FactorizerContext& context);
Status FactorizeStated(FactorizerContext& context);
Status FactorizeGradient(FactorizerContext& context);
Status FactorizeAtMost(FactorizerContext& context);
Status FactorizeStringSplit(FactorizerContext& context);
Status FactorizeNgrams(FactorizerContext& context);
Status FactorizeUpdate(FactorizerContext& context);

}  // namespace sbp
