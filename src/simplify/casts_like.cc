// CastLike reads no more of its second operand than the type: a Cast says so itself, and nothing need be where that is.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "graph/simplified.h"
#include "simplify/graph_edit.h"
#include "simplify/simplify.h"

namespace sbp::simplify {

bool CastsLike(Graph& graph, const std::vector<bool>&) {
  GraphEdit edit(graph);
  for (size_t o = 0; o < graph.ops.size(); ++o) {
    const Op& op = graph.ops[o];
    if (graph.type_of(op) != "CastLike" || op.inputs.size() != 2 || !op.signature_pin.empty()) continue;
    Attributes attributes = *op.attributes;
    attributes.Set("to", static_cast<int64_t>(graph.tensor(op.inputs[1]).type.dtype));
    Op cast = edit.MakeOp(op, "Cast", op.name, {op.inputs[0]});
    cast.attributes = std::make_shared<const Attributes>(std::move(attributes));
    cast.outputs = op.outputs;
    cast.metadata.emplace_back(kSimplifiedFrom, op.name);
    edit.Remove(o);
    edit.Insert(o, std::move(cast));
  }
  edit.Finish();
  return edit.changed();
}

}  // namespace sbp::simplify
