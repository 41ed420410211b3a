#include <algorithm>
#include <span>
#include <string_view>

#include "fold/foldable.h"
#include "fold/leave.h"

namespace sbp {
namespace {

using enum Elements;
constexpr int kAll = FoldableOp::kAll;
constexpr std::string_view kIndex = "an index is out of range";

// By name: FindFoldableOp searches it.
constexpr FoldableOp kFoldable[] = {
    {"Abs"},
    {"Add", 2},
    {"And", 2},
    {"ArgMax", 1, kCombined},
    {"ArgMin", 1, kCombined},
    {"Cast", 1, kConverted, 1, true, LeaveBeyondIntegers},
    {"CastLike", 2, kComputed, 0, true, LeaveBeyondIntegers},
    {"Ceil"},
    {"Clip"},
    {"Concat", kAll, kMoved, kAll},
    {"ConstantOfShape"},
    {"CumSum", 2, kComputed, 0, true, LeaveFloats},
    {"Div", 2, kComputed, 0, true, LeaveUndefinedQuotient},
    {"Equal", 2},
    {"Exp"},
    {"Expand", 2, kMoved, 1},
    {"Flatten", 1, kMoved, 1},
    {"Floor"},
    {"Gather", 2, kMoved, 1, true, nullptr, kIndex},
    {"GatherElements", 2, kMoved, 1, true, nullptr, kIndex},
    {"GatherND", 2, kMoved, 1, true, nullptr, kIndex},
    {"Greater", 2},
    {"GreaterOrEqual", 2},
    {"Identity", 1, kMoved, 1},
    {"IsInf"},
    {"IsNaN"},
    {"Less", 2},
    {"LessOrEqual", 2},
    {"Log"},
    {"Max", kAll},
    {"Min", kAll},
    {"Mod", 2, kComputed, 0, true, LeaveUndefinedRemainder},
    {"Mul", 2},
    {"Neg"},
    {"NonZero"},
    {"Not"},
    {"Or", 2},
    {"Pow", 2, kComputed, 0, true, LeaveUndefinedPower},
    {"Range", 3, kComputed, 0, true, LeaveUndefinedRange},
    {"Reciprocal"},
    {"ReduceMax", 1, kCombined},
    {"ReduceMean", 1, kCombined, 0, true, LeaveIntegers},
    {"ReduceMin", 1, kCombined},
    {"ReduceProd", 1, kCombined},
    {"ReduceSum", 1, kCombined},
    {"Relu"},
    {"Reshape", 2, kMoved, 1},
    {"Round"},
    {"ScatterElements", 3, kComputed, 0, true, nullptr, kIndex},
    {"ScatterND", 3, kComputed, 0, true, nullptr, kIndex},
    {"SequenceLength", 1, kMoved, 1, false, nullptr, "", 0},
    {"Shape", 1, kMoved, 1, false},
    {"Sign"},
    {"Size", 1, kComputed, 0, false, LeaveUncountable},
    {"Slice", 3, kMoved, 1},
    {"Split", 1, kMoved, 1},
    {"Sqrt"},
    {"Squeeze", 1, kMoved, 1},
    {"Sub", 2},
    {"Tile", 2, kMoved, 1},
    {"Transpose", 1, kMoved, 1},
    {"Unsqueeze", 2, kMoved, 1},
    {"Where", 3, kMoved, 0b110},
    {"Xor", 2},
    {"sbp::StopGradient", 1, kMoved, 1},
};
static_assert(std::ranges::is_sorted(kFoldable, {}, &FoldableOp::op));

}  // namespace

std::span<const FoldableOp> AllFoldableOps() { return kFoldable; }

const FoldableOp* FindFoldableOp(std::string_view op) {
  const auto* row = std::ranges::lower_bound(kFoldable, op, {}, &FoldableOp::op);
  return row != std::end(kFoldable) && row->op == op ? row : nullptr;
}

}  // namespace sbp
