// Losses of a class index against scores [n, classes, d1, ...].
#include <string>

#include "base/status.h"
#include "base/text.h"
#include "rule/factor_map.h"
#include "rule/factorizer.h"
#include "rule/factorizers/composite.h"
#include "rule/factorizers/layout.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

// The first three arguments: scores, class indices, and perhaps a weight of each class.
struct LossOperands {
  explicit LossOperands(const FactorizerContext& context)
      : scores(context.int_arguments.at(0)),
        labels(context.int_arguments.at(1)),
        weights(context.int_arguments.at(2)) {}
  size_t scores, labels, weights;
};

Status CheckOperands(FactorizerContext& context, const LossOperands& at) {
  const int rank = context.rank(at.scores);
  if (rank < 1) return context.Error("operand 0 must have a dimension of classes");
  SBP_RETURN_IF_ERROR(ExpectRank(context, at.labels, rank - 1));
  for (int dim = 0; dim + 1 < rank; ++dim) {
    SBP_RETURN_IF_ERROR(
        ExpectDim(context, at.labels, dim, context.shape(at.scores)[dim == 0 ? 0 : dim + 1], "as in the scores"));
  }
  if (!context.has(at.weights)) return OkStatus();
  SBP_RETURN_IF_ERROR(ExpectRank(context, at.weights, 1));
  return ExpectDim(context, at.weights, 0, context.shape(at.scores)[rank == 1 ? 0 : 1], "classes");
}

}  // namespace

// @class_loss(scores, labels, weights): picks the target's entry, so classes may be split with targets of other ranks
// masked.
// @class_loss(..., softmax): normalises over the classes first, so they stay whole; a second result is shaped like the
// scores.
Status FactorizeClassLoss(FactorizerContext& context) {
  const LossOperands at(context);
  SBP_RETURN_IF_ERROR(CheckOperands(context, at));
  const bool softmax = context.name_arguments.size() > 3;
  const bool weighted = context.has(at.weights);
  const std::string reduction = context.String("reduction", "mean");
  if (reduction != "none" && reduction != "sum" && reduction != "mean") {
    return context.Error(StrCat("reduction must be \"none\", \"sum\" or \"mean\", not ", Quote(reduction)));
  }
  const int rank = context.rank(at.scores);
  const int class_dim = rank == 1 ? 0 : 1;
  // A mean over an unknown number of targets cannot be put together from parts.
  const bool open_mean = reduction == "mean" && (weighted || context.HasAttribute("ignore_index"));
  context.SetResult(0, reduction == "none" ? context.shape(at.labels) : Shape{});
  if (context.num_results() > 1) context.SetResult(1, context.shape(at.scores));

  FactorMap& map = context.map();
  for (int dim = 0; dim < rank; ++dim) {
    const bool classes = dim == class_dim;
    const FactorId f = map.AddFactor(classes    ? "c"
                                     : dim == 0 ? "n"
                                                : LetterName(dim + 1),
                                     context.shape(at.scores)[dim]);
    SetOperandDim(context, at.scores, dim, {f});
    if (context.num_results() > 1) SetResultDim(context, 1, dim, {f});
    if (classes) {
      map.factors[f].whole = softmax || reduction == "mean";
      map.factors[f].masked = !map.factors[f].whole;
      if (weighted) SetOperandDim(context, at.weights, 0, {f});
      if (map.factors[f].masked) ReduceBySum(context, f);
      continue;
    }
    const int own = dim == 0 ? 0 : dim - 1;
    SetOperandDim(context, at.labels, own, {f});
    if (reduction == "none") {
      SetResultDim(context, 0, own, {f});
      continue;
    }
    map.factors[f].whole = open_mean;
    map.factors[f].aware = reduction == "mean";
    ReduceBySum(context, f);
  }
  if (open_mean) map.notes.push_back("the mean divides by what all targets together weigh");
  if (softmax) map.notes.push_back("the softmax runs over all classes");
  if (!softmax && reduction == "mean") map.notes.push_back("a mean over picked classes is not masked");
  return OkStatus();
}

}  // namespace sbp
