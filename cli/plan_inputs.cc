#include "cli/plan_inputs.h"

#include <algorithm>

#include "base/text.h"
#include "cli/run_data.h"
#include "runtime/run/tensor_store.h"

namespace sbp {

Status CheckAgainstAssumptions(const Graph& graph, const std::vector<TensorData>& given) {
  for (const Assumption& assumption : graph.assumptions) {
    const auto data = std::ranges::find(given, assumption.input, &TensorData::name);
    if (data == given.end()) continue;
    const LiteralRef value = SmallValue(*data);
    if (value != nullptr && Agrees(assumption, *value)) continue;
    std::string found = ToString(data->type);
    if (value != nullptr && value->type.shape == assumption.value->type.shape)
      found = ToString(Assumption{assumption.input, value, assumption.elements});
    return BadInput(StrCat("--inputs: input ", Quote(assumption.input), " is ", found, "; the plan was made for ",
                           ToString(assumption),
                           ", which decided sizes or branches of its graph: plan again with these --inputs"));
  }
  return OkStatus();
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
