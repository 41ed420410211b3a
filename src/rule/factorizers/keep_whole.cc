// Ops that keep their operand's shape and need some of its dimensions whole: softmax, norms along an axis.
#include "base/text.h"
#include "rule/factorizers/composite.h"

namespace sbp {

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
  const int rank = context.rank(0);
  context.SetResult(0, context.shape(0));
  const std::vector<FactorId> factors = FactorPerDim(context, 0);
  for (int dim = 0; dim < rank; ++dim) {
    if (factors[dim] >= 0) PutResult(context, 0, dim, factors[dim]);
  }
  for (int64_t axis : axes) {
    SBP_ASSIGN_OR_RETURN(const int dim, NormalizeAxis(context, axis, rank));
    if (factors[dim] >= 0) context.map().factors[factors[dim]].whole = true;
  }
  return OkStatus();
}

}  // namespace sbp
