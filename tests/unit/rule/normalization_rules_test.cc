// Normalisations, softmax and losses.
#include <gtest/gtest.h>

#include "unit/rule/builtin_case.h"

namespace sbp {
namespace {

TEST(NormalizationRules, Layer) {
  ExpectAll({
      {"LayerNormalization",
       {"f32[4,6,8]", "f32[8]", "f32[8]"},
       "",
       1,
       "f32[4,6,8] | S(0), B, B -> S(0); S(1), B, B -> S(1); B, P(sum), P(sum) -> P(sum); B, B, P(max) -> P(max); B, "
       "B, P(min) -> P(min)"},
      {"LayerNormalization",
       {"f16[4,6,8]", "f16[6,8]", "-"},
       "axis=1",
       3,
       "f16[4,6,8], f32[4,1,1], f32[4,1,1] | S(0), B, B -> S(0), S(0), S(0); B, P(sum), B -> P(sum), B, B"},
      {"RMSNormalization",
       {"f16[4,6,8]", "f32[8]"},
       "",
       1,
       "f32[4,6,8] | S(0), B -> S(0); S(1), B -> S(1); B, P(sum) -> P(sum)"},
      {"SimplifiedLayerNormalization",
       {"f16[4,8]", "f16[8]"},
       "",
       2,
       "f16[4,8], f32[4,1] | S(0), B -> S(0), S(0); B, P(sum) -> P(sum), B"},
      {"LayerNormalization",
       {"f32[4,8]", "f32[6]"},
       "",
       1,
       "LayerNormalization(): operand 1 \"w\" must fit the normalised dimensions [8], but is f32[6]"},
      {"com.microsoft::SkipLayerNormalization",
       {"f32[4,6,8]", "f32[6,8]", "f32[8]", "f32[8]", "f32[8]"},
       "",
       4,
       "f32[4,6,8], f32[4,6,1], f32[4,6,1], f32[4,6,8] | S(0), B, B, B, B -> S(0), S(0), S(0), S(0); S(1), S(0), B, B, "
       "B -> S(1), S(1), S(1), S(1); B, B, P(sum), P(sum), B -> P(sum), B, B, B; B, B, B, P(max), B -> P(max), B, B, "
       "B; B, B, B, P(min), B -> P(min), B, B, B"},
      {"com.microsoft::SkipSimplifiedLayerNormalization",
       {"f16[4,6,8]", "f16[4,6,8]", "f16[8]"},
       "",
       4,
       "f16[4,6,8], f32[4,6,1], f32[4,6,1], f16[4,6,8] | S(0), S(0), B -> S(0), S(0), S(0), S(0); S(1), S(1), B -> "
       "S(1), S(1), S(1), S(1); B, B, P(sum) -> P(sum), B, B, B"},
      {"com.microsoft::EmbedLayerNormalization",
       {"i32[4,6]", "i32[4,6]", "f32[100,8]", "f32[6,8]", "f32[2,8]", "f32[8]", "f32[8]", "i32[4,6]"},
       "",
       2,
       "f32[4,6,8], i32[4] | S(0), S(0), B, B, B, B, B, S(0) -> S(0), S(0); S(1), S(1), B, B, B, B, B, B -> S(1), B; "
       "B, B, B, B, B, P(sum), P(sum), B -> P(sum), B; B, B, B, B, B, B, P(max), B -> P(max), B; B, B, B, B, B, B, "
       "P(min), B -> P(min), B"},
  });
}

TEST(NormalizationRules, Channels) {
  ExpectAll({
      {"GroupNormalization",
       {"f32[4,16,12]", "f32[16]", "f32[16]"},
       "num_groups=8",
       1,
       "f32[4,16,12] | S(0), B, B -> S(0); S(1), S(0), S(0) -> S(1); B, P(sum), P(sum) -> P(sum); B, B, P(max) -> "
       "P(max); B, B, P(min) -> P(min)"},
      {"GroupNormalization",
       {"f32[4,16,12]", "f32[8]", "f32[8]"},
       "num_groups=8",
       1,
       "f32[4,16,12] | S(0), B, B -> S(0); S(1), S(0), S(0) -> S(1); B, P(sum), P(sum) -> P(sum); B, B, P(max) -> "
       "P(max); B, B, P(min) -> P(min)"},
      {"GroupNormalization",
       {"f32[4,15,12]", "f32[15]", "f32[15]"},
       "num_groups=4",
       1,
       "GroupNormalization(): 15 channels do not divide into 4 groups"},
      {"GroupNormalization",
       {"f32[4,15,12]", "f32[15]", "f32[15]"},
       "num_groups=3",
       1,
       "f32[4,15,12] | S(0), B, B -> S(0); B, P(sum), P(sum) -> P(sum); B, B, P(max) -> P(max); B, B, P(min) -> "
       "P(min)"},
      {"InstanceNormalization",
       {"f32[4,8,12]", "f32[8]", "f32[8]"},
       "",
       1,
       "f32[4,8,12] | S(0), B, B -> S(0); S(1), S(0), S(0) -> S(1); B, P(sum), P(sum) -> P(sum); B, B, P(max) -> "
       "P(max); B, B, P(min) -> P(min)"},
      {"BatchNormalization",
       {"f32[4,8,6]", "f32[8]", "f32[8]", "f32[8]", "f32[8]"},
       "",
       1,
       "f32[4,8,6] | S(0), B, B, B, B -> S(0); S(1), S(0), S(0), S(0), S(0) -> S(1); S(2), B, B, B, B -> S(2); P(sum), "
       "B, P(sum), P(sum), B -> P(sum); B, P(sum), P(sum), B, B -> P(sum); B, B, P(max), B, B -> P(max); B, B, P(min), "
       "B, B -> P(min)"},
      {"BatchNormalization",
       {"f32[4,8,6]", "f32[8]", "f32[8]", "f32[8]", "f32[8]"},
       "training_mode=1",
       3,
       "f32[4,8,6], f32[8], f32[8] | S(1), S(0), S(0), S(0), S(0) -> S(1), S(0), S(0); B, P(sum), P(sum), B, B -> "
       "P(sum), B, B; B, B, P(max), B, B -> P(max), B, B; B, B, P(min), B, B -> P(min), B, B"},
      {"com.microsoft::GroupNorm",
       {"f32[2,4,4,8]", "f32[8]", "f32[8]"},
       "groups=4 activation=1",
       1,
       "f32[2,4,4,8] | S(0), B, B -> S(0); S(3), S(0), S(0) -> S(3)"},
      {"com.microsoft::SkipGroupNorm",
       {"f32[2,4,4,8]", "f32[8]", "f32[8]", "f32[2,8]", "f32[8]"},
       "groups=4 activation=0",
       2,
       "f32[2,4,4,8], f32[2,4,4,8] | S(0), B, B, S(0), B -> S(0), S(0); S(3), S(0), S(0), S(1), S(0) -> S(3), S(3); B, "
       "P(sum), P(sum), B, B -> P(sum), B; B, B, P(max), B, B -> P(max), B; B, B, P(min), B, B -> P(min), B"},
      {"LRN", {"f32[2,4,6,8]"}, "size=3", 1, "f32[2,4,6,8] | S(0) -> S(0); S(2) -> S(2); S(3) -> S(3)"},
  });
}

TEST(NormalizationRules, Axis) {
  ExpectAll({
      {"Softmax", {"f32[4,8,12]"}, "", 1, "f32[4,8,12] | S(0) -> S(0); S(1) -> S(1)"},
      {"Softmax", {"f32[4,8,12]"}, "axis=1", 1, "f32[4,8,12] | S(0) -> S(0); S(2) -> S(2)"},
      {"LogSoftmax", {"f32[8]"}, "", 1, "f32[8] | "},
      {"sbp::LogSoftmaxGrad", {"f32[4,8]", "f32[4,8]"}, "", 1, "f32[4,8] | S(0), S(0) -> S(0); P(sum), B -> P(sum)"},
      {"sbp::LogSoftmaxGrad",
       {"f32[4,8,6]", "f32[4,8,6]"},
       "axis=1",
       1,
       "f32[4,8,6] | S(0), S(0) -> S(0); S(2), S(2) -> S(2); P(sum), B -> P(sum)"},
      {"Hardmax", {"f32[4,8]"}, "axis=-2", 1, "f32[4,8] | S(1) -> S(1)"},
      {"LpNormalization", {"f32[4,8]"}, "", 1, "f32[4,8] | S(0) -> S(0)"},
      {"MeanVarianceNormalization", {"f32[2,4,6,8]"}, "", 1, "f32[2,4,6,8] | S(1) -> S(1)"},
      {"MeanVarianceNormalization", {"f32[2,4]"}, "axes=[1]", 1, "f32[2,4] | S(0) -> S(0)"},
      {"Softmax", {"f32[4]"}, "axis=3", 1, "Softmax(): axis 3 is not in [-1, 0]"},
  });
}

TEST(NormalizationRules, Losses) {
  ExpectAll({
      {"NegativeLogLikelihoodLoss",
       {"f32[8,12]", "i64[8]"},
       "reduction=none",
       1,
       "f32[8] | S(0), S(0) -> S(0); S(1), B -> P(sum); P(sum), B -> P(sum); P(max), B -> P(min); P(min), B -> P(max)"},
      {"NegativeLogLikelihoodLoss",
       {"f32[8,12]", "i64[8]", "f32[12]"},
       "reduction=none",
       1,
       "f32[8] | S(0), S(0), B -> S(0); S(1), B, S(0) -> P(sum); P(sum), B, B -> P(sum); B, B, P(sum) -> P(sum)"},
      {"NegativeLogLikelihoodLoss",
       {"f32[8,12]", "i64[8]"},
       "reduction=sum ignore_index=-100",
       1,
       "f32[] | S(0), S(0) -> P(sum); S(1), B -> P(sum); P(sum), B -> P(sum)"},
      {"NegativeLogLikelihoodLoss",
       {"f32[8,12,6]", "i64[8,6]"},
       "",
       1,
       "f32[] | S(0), S(0) -> P(sum); S(2), S(1) -> P(sum); P(sum), B -> P(sum)"},
      {"NegativeLogLikelihoodLoss", {"f32[8,12]", "i64[8]"}, "ignore_index=-100", 1, "f32[] | P(sum), B -> P(sum)"},
      {"SoftmaxCrossEntropyLoss",
       {"f32[8,12]", "i64[8]"},
       "reduction=sum",
       2,
       "f32[], f32[8,12] | S(0), S(0) -> P(sum), S(0)"},
      {"SoftmaxCrossEntropyLoss",
       {"f32[8,12]", "i64[8]", "f32[12]"},
       "reduction=none",
       1,
       "f32[8] | S(0), S(0), B -> S(0); B, B, P(sum) -> P(sum)"},
      {"SoftmaxCrossEntropyLoss", {"f32[8,12]", "i64[8]"}, "", 1, "f32[] | S(0), S(0) -> P(sum)"},
      {"SoftmaxCrossEntropyLoss", {"f32[8,12]", "i64[8]", "f32[12]"}, "", 1, "f32[] | "},
      {"SoftmaxCrossEntropyLoss",
       {"f32[8,12]", "i64[6]"},
       "",
       1,
       "SoftmaxCrossEntropyLoss(): dimension 0 of operand 1 \"labels\" must be 8 (as in the scores), but it is i64[6]"},
  });
}

}  // namespace
}  // namespace sbp
