// The evaluators, by the file they stand in. The table is all_evaluators.cc.
#pragma once

#include <vector>

#include "fold/evaluate.h"

namespace sbp::evaluators {

#define SBP_EVALUATOR(name) bool name(const FoldRequest& request, std::vector<Literal>& results)
// evaluate_move.cc
SBP_EVALUATOR(Identity);
SBP_EVALUATOR(Reshape);
SBP_EVALUATOR(Flatten);
SBP_EVALUATOR(Squeeze);
SBP_EVALUATOR(Unsqueeze);
SBP_EVALUATOR(Transpose);
SBP_EVALUATOR(Expand);
SBP_EVALUATOR(Tile);
SBP_EVALUATOR(Concat);
SBP_EVALUATOR(Split);
SBP_EVALUATOR(Slice);
SBP_EVALUATOR(Gather);
SBP_EVALUATOR(GatherElements);
SBP_EVALUATOR(GatherND);
SBP_EVALUATOR(Where);
// evaluate_make.cc: results that are made from sizes, or written into
SBP_EVALUATOR(ShapeOf);
SBP_EVALUATOR(SequenceLength);
SBP_EVALUATOR(Size);
SBP_EVALUATOR(ConstantOfShape);
SBP_EVALUATOR(Range);
SBP_EVALUATOR(NonZero);
SBP_EVALUATOR(ScatterND);
SBP_EVALUATOR(ScatterElements);
// evaluate_math.cc: element by element
SBP_EVALUATOR(Add);
SBP_EVALUATOR(Subtract);
SBP_EVALUATOR(Multiply);
SBP_EVALUATOR(Divide);
SBP_EVALUATOR(Modulo);
SBP_EVALUATOR(Power);
SBP_EVALUATOR(Minimum);
SBP_EVALUATOR(Maximum);
SBP_EVALUATOR(Clip);
SBP_EVALUATOR(Equal);
SBP_EVALUATOR(Less);
SBP_EVALUATOR(LessOrEqual);
SBP_EVALUATOR(Greater);
SBP_EVALUATOR(GreaterOrEqual);
SBP_EVALUATOR(And);
SBP_EVALUATOR(Or);
SBP_EVALUATOR(Xor);
SBP_EVALUATOR(Not);
SBP_EVALUATOR(Negate);
SBP_EVALUATOR(Absolute);
SBP_EVALUATOR(Relu);
SBP_EVALUATOR(Sign);
SBP_EVALUATOR(Floor);
SBP_EVALUATOR(Ceil);
SBP_EVALUATOR(Round);
SBP_EVALUATOR(SquareRoot);
SBP_EVALUATOR(Reciprocal);
SBP_EVALUATOR(Exponential);
SBP_EVALUATOR(Logarithm);
SBP_EVALUATOR(IsNan);
SBP_EVALUATOR(IsInf);
SBP_EVALUATOR(Cast);
SBP_EVALUATOR(CastLike);
// evaluate_reduce.cc: along axes
SBP_EVALUATOR(ReduceSum);
SBP_EVALUATOR(ReduceProd);
SBP_EVALUATOR(ReduceMin);
SBP_EVALUATOR(ReduceMax);
SBP_EVALUATOR(ReduceMean);
SBP_EVALUATOR(ArgMax);
SBP_EVALUATOR(ArgMin);
SBP_EVALUATOR(CumSum);
#undef SBP_EVALUATOR

}  // namespace sbp::evaluators
