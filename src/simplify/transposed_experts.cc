// Matrices of experts that are transposed for their product, as callers of torch's _grouped_mm write it, where that is
// a view: the product reads them as they lie, so that they are neither copied nor held twice.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "simplify/graph_edit.h"
#include "simplify/simplify.h"

namespace sbp::simplify {
namespace {

const std::vector<int64_t> kTransposed = {0, 2, 1};

// What the tensor is the transposition of, matrix by matrix; invalid: of nothing.
TensorId TransposedFrom(const GraphEdit& edit, TensorId id) {
  const Op* move = edit.Producer(id);
  if (move == nullptr || edit.graph().type_of(*move) != "Transpose") return {};
  const std::vector<int64_t>* perm = move->attributes->Ints("perm");
  const bool is_free = move->signature_pin.empty() && !edit.IsKept(id);
  return is_free && perm != nullptr && *perm == kTransposed ? move->inputs[0] : TensorId();
}

}  // namespace

bool TransposedExperts(Graph& graph, const std::vector<bool>& /*computed*/) {
  GraphEdit edit(graph);
  const size_t count = graph.ops.size();
  for (size_t o = 0; o < count; ++o) {
    const Op& op = graph.ops[o];
    if (graph.type_of(op) != "sbp::GroupedMatMul" || !op.signature_pin.empty()) continue;
    const TensorId matrices = TransposedFrom(edit, op.inputs[1]);
    if (!matrices.valid()) continue;
    Attributes attributes = *op.attributes;
    attributes.Set("transB", int64_t{op.attributes->Int("transB", 0) == 0});
    Op product = edit.MakeOp(op, "sbp::GroupedMatMul", op.name, {op.inputs[0], matrices, op.inputs[2]});
    product.outputs = op.outputs;
    product.attributes = std::make_shared<const Attributes>(std::move(attributes));
    edit.Remove(o);
    edit.Insert(o, std::move(product));
  }
  edit.Finish();
  return edit.changed();
}

}  // namespace sbp::simplify
