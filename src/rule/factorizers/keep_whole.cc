// Ops that keep their operand's shape and need some of its dimensions whole: softmax, norms along an axis.
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "base/status.h"
#include "rule/factor_map.h"
#include "rule/factorizer.h"
#include "rule/factorizers/composite.h"

namespace sbp {
namespace {

Status KeepWhole(FactorizerContext& context, const std::vector<int>& dims) {
  context.SetResult(0, context.shape(kFirstOperand));
  const std::vector<FactorId> factors = FactorPerDim(context, kFirstOperand);
  for (int dim = 0; dim < context.rank(kFirstOperand); ++dim) {
    if (factors[dim] >= 0) PutResult(context, 0, dim, factors[dim]);
  }
  for (const int dim : dims) {
    if (factors[dim] >= 0) context.map().factors[factors[dim]].whole = true;
  }
  return OkStatus();
}

}  // namespace

// @keep_whole(axis): a number, or the name of an attribute that holds one axis or a list of them.
Status FactorizeKeepWhole(FactorizerContext& context) {
  std::vector<int64_t> axes;
  for (size_t i = 0; i < context.name_arguments.size(); ++i) {
    const std::string& name = context.name_arguments[i];
    if (const std::vector<int64_t> list = name.empty() ? std::vector<int64_t>{} : context.Ints(name); !list.empty()) {
      axes.insert(axes.end(), list.begin(), list.end());
    } else {
      axes.push_back(context.int_arguments[i]);
    }
  }
  std::vector<int> dims;
  for (const int64_t axis : axes) {
    SBP_ASSIGN_OR_RETURN(dims.emplace_back(), NormalizeAxis(context, axis, context.rank(kFirstOperand)));
  }
  return KeepWhole(context, dims);
}

// @keep_whole_from(axis): that dimension and all behind it.
Status FactorizeKeepWholeFrom(FactorizerContext& context) {
  if (context.int_arguments.size() != 1) return context.Error("expected one axis");
  SBP_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(context, context.int_arguments[0], context.rank(kFirstOperand)));
  std::vector<int> dims(context.rank(kFirstOperand) - axis);
  std::iota(dims.begin(), dims.end(), axis);
  return KeepWhole(context, dims);
}

}  // namespace sbp
