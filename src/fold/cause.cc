// ForwardPass::WhyUnknown: from a value back to what it follows from.
#include "fold/cause.h"

#include <algorithm>

#include "base/text.h"
#include "fold/forward.h"

namespace sbp {

void ForwardPass::SetOuter(const ForwardPass& outer, std::vector<TensorId> sources) {
  outer_ = &outer;
  sources_ = std::move(sources);
}

// Of an op whose operands are known.
std::string ForwardPass::WhyNotFolded(const Op& op, const FoldableOp& row) const {
  for (const TensorId id : op.outputs) {
    if (!id.valid() || graph_.tensor(id).type.num_elements() <= kMaxLiteralElements) continue;
    return StrCat(Quote(graph_.tensor(id).name), " is ", ToString(graph_.tensor(id).type), ", more than ",
                  kMaxLiteralElements, " elements");
  }
  std::string why;
  std::optional<FoldRequest> request = RequestFor(op, row);
  if (request) request->why = &why;
  if (request && context_.evaluator.Run(row, *request)) return "constants of the model in float are taken for weights";
  return why.empty() ? "its operands are not of a kind that is computed here" : why;
}

Cause ForwardPass::WhyUnknown(TensorId id) const {
  const ForwardPass* pass = this;
  const TensorId asked = outer_ == nullptr ? id : TensorId();
  for (;;) {
    const Tensor& tensor = pass->graph_.tensor(id);
    if (tensor.role == TensorRole::kInput) {
      if (pass->outer_ == nullptr) {
        // What --inputs gives is used where an op reads it, and else where it is one integer.
        const bool one =
            tensor.type.num_elements() == 1 && (IsInteger(tensor.type.dtype) || tensor.type.dtype == DType::kBool);
        if (tensor.type.rank() <= 1 && (one || id == asked)) return {tensor.name, ""};
        return {"", StrCat("it follows from the data of input ", Quote(tensor.name))};
      }
      const auto at = static_cast<size_t>(std::ranges::find(pass->graph_.inputs, id) - pass->graph_.inputs.begin());
      if (at >= pass->sources_.size() || !pass->sources_[at].valid())
        return {"", StrCat(Quote(tensor.name), " changes from trip to trip")};
      id = pass->sources_[at];
      pass = pass->outer_;
      continue;
    }
    if (tensor.role == TensorRole::kParameter && tensor.data && !tensor.data->location.empty()) {
      return {"", StrCat("the value of ", Quote(tensor.name), " is in external file ", Quote(tensor.data->location),
                         tensor.type.num_elements() > kMaxExternalElements
                             ? ", and too large to be read"
                             : ", which is absent, too short, or outside the model's folder")};
    }
    if (tensor.role == TensorRole::kParameter) return {"", StrCat("the model holds no value of ", Quote(tensor.name))};
    if (!tensor.producer.valid() || tensor.producer.index() >= pass->done_.size()) return {};
    const Op& op = pass->done_[tensor.producer.index()];
    const FoldableOp* row = pass->foldable_[op.type];
    const std::string place = pass->Place(op);
    if (row == nullptr || HasSubgraphs(op)) return {"", StrCat(place, " computes it only when it runs")};
    const auto unknown = std::ranges::find_if(
        op.inputs, [&](TensorId operand) { return operand.valid() && pass->values_[operand.index()] == nullptr; });
    if (unknown == op.inputs.end() || !row->needs_values)
      return {"", StrCat(place, " could not be folded: ", pass->WhyNotFolded(op, *row))};
    id = *unknown;
  }
}

}  // namespace sbp
