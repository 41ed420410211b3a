#include "fold/control_sequence.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/text.h"
#include "fold/assumed.h"
#include "fold/pass_state.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"

namespace sbp {

Result<ControlResults> ResolveSequenceMap(PassState& pass, Op& op) {
  SBP_ASSIGN_OR_RETURN(const Subgraphs subgraphs, SubgraphsOf(pass, op));
  if (subgraphs.graphs.size() != 1 || op.inputs.empty() || subgraphs.formal != op.inputs.size() ||
      op.outputs.size() > subgraphs.graphs[0]->outputs.size()) {
    return BadInput(StrCat(PlaceOf(pass, op), ": its body does not fit its operands and results"));
  }
  std::vector<TensorType> types;
  std::vector<AssumedFlags> assumed;
  for (const TensorId id : op.inputs) {
    if (!id.valid()) return BadInput(StrCat(PlaceOf(pass, op), ": an operand is absent"));
    TensorType& type = types.emplace_back(pass.graph().tensor(id).type);
    AssumedFlags& flags = assumed.emplace_back(pass.assumptions().dims(id));
    if (type.kind != ValueKind::kSequence) continue;  // the same in every round
    type.kind = ValueKind::kTensor;
    if (!type.shape.empty()) type.shape.erase(type.shape.begin());
    if (!flags.empty()) flags.erase(flags.begin());
  }
  const TensorType& sequence = pass.graph().tensor(op.inputs[0]).type;
  if (sequence.kind != ValueKind::kSequence || sequence.shape.empty()) {
    return BadInput(StrCat(PlaceOf(pass, op), ": its first operand is no sequence"));
  }
  const int64_t count = sequence.shape[0];
  const AssumedFlags& of_sequence = pass.assumptions().dims(op.inputs[0]);
  const bool count_is_assumed = !of_sequence.empty() && of_sequence[0];
  SBP_ASSIGN_OR_RETURN(Body body, ResolveBody(pass, op, subgraphs, 0, types, assumed));
  ControlResults results;
  for (size_t r = 0; r < op.outputs.size(); ++r) {
    TensorType& type = results.types.emplace_back(body.results[r]);
    type.kind = ValueKind::kSequence;
    type.shape.insert(type.shape.begin(), count);
    AssumedFlags& flags = results.assumed.emplace_back(body.assumed[r]);
    flags.resize(type.shape.size() - 1);
    flags.insert(flags.begin(), count_is_assumed);
  }
  WarnKeptWhole(pass, op, StrCat(count_is_assumed ? "at most " : "", count, " steps"));
  std::vector<Body> bodies;
  bodies.push_back(std::move(body));
  ReplaceBodies(pass, op, subgraphs, std::move(bodies), count);
  return results;
}

}  // namespace sbp
