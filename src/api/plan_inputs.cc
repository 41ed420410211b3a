#include "api/plan_inputs.h"

#include <algorithm>
#include <string>

#include "api/tensors.h"
#include "base/text.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "runtime/data/value.h"
#include "runtime/run/tensor_store.h"

namespace sbp {

Status CheckAgainstAssumptions(const Graph& graph, const std::vector<TensorData>& given) {
  for (const Assumption& assumption : graph.assumptions) {
    const auto data = std::ranges::find(given, assumption.input, &TensorData::name);
    if (data == given.end()) continue;
    const LiteralRef value = SmallValue(*data);
    if (value != nullptr && Agrees(assumption, *value)) continue;
    const TensorType& wanted = assumption.value->type;
    const bool same_type = value != nullptr && value->type == wanted;
    const std::string found =
        same_type ? ToString(Assumption{assumption.input, value, assumption.elements}) : ToString(data->type);
    return BadInput(StrCat("--inputs: input ", Quote(assumption.input), " is ", found, "; the plan was made for ",
                           same_type ? "" : ToString(wanted) + " ", ToString(assumption),
                           ", which decided sizes or branches of its graph: plan again with these --inputs"));
  }
  return OkStatus();
}

Status CheckTypes(const Graph& graph, const std::vector<TensorData>& given) {
  TensorStore store(graph, graph, 0, nullptr);
  return store.Give(given).WithContext("--inputs");
}

Result<std::vector<TensorData>> AssumedInputs(const Graph& graph, const std::vector<TensorData>& given) {
  std::vector<TensorData> assumed;
  for (const Assumption& assumption : graph.assumptions) {
    if (std::ranges::find(given, assumption.input, &TensorData::name) != given.end()) continue;
    SBP_ASSIGN_OR_RETURN(const Value value, MakeTensor(*assumption.value));
    assumed.push_back(DataFromValue(assumption.input, value));
  }
  return assumed;
}

}  // namespace sbp
