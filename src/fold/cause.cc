#include "fold/cause.h"

#include <algorithm>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/text.h"
#include "fold/fold_op.h"
#include "fold/foldable.h"
#include "fold/open_graph.h"
#include "graph/graph.h"
#include "graph/literal.h"

namespace sbp {

Cause WhyUnknown(const PassState& asked_of, TensorId id) {
  const PassState* pass = &asked_of;
  const TensorId asked = pass->outer() == nullptr ? id : TensorId();
  for (;;) {
    const Tensor& tensor = pass->graph().tensor(id);
    if (tensor.role == TensorRole::kInput) {
      if (pass->outer() == nullptr) {
        // What --inputs gives is used where an op reads it, and else where it is one integer.
        const bool one =
            tensor.type.num_elements() == 1 && (IsInteger(tensor.type.dtype) || tensor.type.dtype == DType::kBool);
        if (tensor.type.rank() <= 1 && (one || id == asked)) return {tensor.name, ""};
        return {"", StrCat("it follows from the data of input ", Quote(tensor.name))};
      }
      const auto at = static_cast<size_t>(std::ranges::find(pass->graph().inputs, id) - pass->graph().inputs.begin());
      if (at >= pass->outer_sources().size() || !pass->outer_sources()[at].valid())
        return {"", StrCat(Quote(tensor.name), " changes from trip to trip")};
      id = pass->outer_sources()[at];
      pass = pass->outer();
      continue;
    }
    if (tensor.role == TensorRole::kParameter && tensor.data && !tensor.data->location.empty()) {
      return {"", StrCat("the value of ", Quote(tensor.name), " is in external file ", Quote(tensor.data->location),
                         tensor.type.num_elements() > kMaxExternalElements
                             ? ", and too large to be read"
                             : ", which is absent, too short, or outside the model's folder")};
    }
    if (tensor.role == TensorRole::kParameter) return {"", StrCat("the model holds no value of ", Quote(tensor.name))};
    const Op* op = pass->open().ProducerOf(id);
    if (op == nullptr) return {};
    const FoldableOp* row = pass->open().FoldableOf(*op);
    const std::string place = pass->open().Place(*op);
    if (row == nullptr || HasSubgraphs(*op)) return {"", StrCat(place, " computes it only when it runs")};
    const auto unknown = std::ranges::find_if(
        op->inputs, [&](TensorId operand) { return operand.valid() && pass->value(operand) == nullptr; });
    if (unknown == op->inputs.end() || !row->needs_values)
      return {"", StrCat(place, " could not be folded: ", WhyNotFolded(*pass, *op, *row))};
    id = *unknown;
  }
}

}  // namespace sbp
