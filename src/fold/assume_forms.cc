#include "fold/assume_forms.h"

#include <string>
#include <utility>

#include "base/ids.h"
#include "base/text.h"
#include "graph/graph.h"

namespace sbp {

void AssumedForms::Take(Op& op) {
  if (pass_.values().origins().empty()) return;
  const std::string& type = pass_.graph().type_of(op);
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const TensorId id = op.inputs[i];
    if (!id.valid() || pass_.values().sources(id).empty() || !pass_.context().rules.ValueDecidesForm(type, i)) continue;
    pass_.UseValue(id);
    // Where data decide other elements, the value is no constant: it is read when running.
    if (!pass_.assumptions().Touches(id)) op.inputs[i] = ConstantOf(id);
  }
}

TensorId AssumedForms::ConstantOf(TensorId id) {
  const auto known = constants_.find(id);
  if (known != constants_.end()) return known->second;
  Tensor constant;
  constant.name = StrCat(pass_.graph().tensor(id).name, "/assumed");
  constant.type = pass_.graph().tensor(id).type;
  constant.role = TensorRole::kParameter;
  constant.literal = pass_.value(id);
  const TensorId added = pass_.AddTensor(std::move(constant));
  pass_.values().SetSameAs(added, id);
  constants_.emplace(id, added);
  return added;
}

}  // namespace sbp
