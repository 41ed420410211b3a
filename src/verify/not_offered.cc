#include "verify/not_offered.h"

#include <algorithm>

namespace sbp {
namespace {

struct Row {
  std::string_view op;
  std::string_view why;
};

constexpr std::string_view kOrder =
    "maxima pass through; nothing that reads maxima in parts makes this worth a candidate";
constexpr std::string_view kZeroPoint =
    "a sum in parts of small integers and their zero points together: no op writes one";
constexpr std::string_view kIdentity = "here the op changes nothing, and its rule does not tell that case apart";
constexpr Row kRows[] = {
    {"Cast", "right for numbers that the narrower type holds: others wrap around"},
    {"Clip", kIdentity},
    {"Col2Im", "right where no two blocks overlap: there nothing is added"},
    {"ConvInteger", kZeroPoint},
    {"DequantizeLinear", kZeroPoint},
    {"GridSample", kOrder},
    {"MatMulInteger", kZeroPoint},
    {"Max", kIdentity},
    {"ReduceSum", kIdentity},
    {"ai.onnx.ml::Scaler", "right for scales above 0"},
    {"ai.onnx.preview.training::Momentum", "each tensor is a factor of its own; an axis of the mesh splits one factor"},
    {"com.microsoft::FusedConv", kOrder},
    {"com.microsoft::MatMulIntegerToFloat", kZeroPoint},
    {"com.microsoft::QLinearSigmoid", "right by chance: nearly every result is the greatest number of its type"},
    {"sbp::AttentionScores", "right without a cap; the softmax that reads scores does not take them in parts"},
    {"sbp::CellActivation", "right for activations that grow: others may be asked for"},
};

}  // namespace

std::string_view WhyNotOffered(std::string_view op) {
  const auto* row = std::lower_bound(std::begin(kRows), std::end(kRows), op,
                                     [](const Row& r, std::string_view name) { return r.op < name; });
  return row != std::end(kRows) && row->op == op ? row->why : std::string_view();
}

}  // namespace sbp
