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

Cause ForwardPass::WhyUnknown(TensorId id) const {
  const ForwardPass* pass = this;
  for (;;) {
    const Tensor& tensor = pass->graph_.tensor(id);
    if (tensor.role == TensorRole::kInput) {
      if (pass->outer_ == nullptr) {
        if (tensor.type.rank() <= 1) return {tensor.name, ""};
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
    const EvaluatorRow* row = pass->evaluators_[op.type];
    const std::string place = pass->Place(op);
    if (row == nullptr || HasSubgraphs(op)) return {"", StrCat(place, " computes it only when it runs")};
    const auto unknown = std::ranges::find_if(
        op.inputs, [&](TensorId operand) { return operand.valid() && pass->values_[operand.index()] == nullptr; });
    if (unknown == op.inputs.end() || !row->needs_values) return {"", StrCat(place, " could not be folded")};
    id = *unknown;
  }
}

}  // namespace sbp
