// Where inputs and parameters start.
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "problem/problem.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"
#include "strategy/strategy.h"

namespace sbp {
namespace {

// S(0) on the outermost axis of size above 1, B on the others; B everywhere where dimension 0 is too small for it.
NdSbp BatchSplit(const TensorType& type, const Mesh& mesh) {
  NdSbp layout(mesh.num_axes());
  for (int axis = 0; axis < mesh.num_axes(); ++axis) {
    if (mesh.size(axis) == 1) continue;
    if (type.rank() > 0 && type.shape[0] >= mesh.size(axis)) layout[axis] = Sbp::Split(0);
    break;
  }
  return layout;
}

}  // namespace

std::vector<NdSbp> InitialSourceLayouts(const Problem& problem) {
  const Graph& graph = *problem.graph;
  const bool one_device = problem.mesh.num_devices() == 1;
  std::vector<NdSbp> layouts(graph.tensors.size(), NdSbp(problem.mesh.num_axes()));
  std::vector<bool> tied(graph.tensors.size(), false);
  for (const Tie& tie : graph.ties) tied[tie.input.index()] = true;
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    const Tensor& tensor = graph.tensors[t];
    if (tensor.role == TensorRole::kActivation) continue;
    const auto pin = problem.pins.tensors.find(TensorId(t));
    if (pin != problem.pins.tensors.end()) {
      layouts[t] = pin->second.layout;
    } else if (one_device) {
      layouts[t] = OneDeviceLayout(tensor.type, problem.mesh);
    } else if (tensor.role == TensorRole::kInput && !tied[t] && tensor.type.kind == ValueKind::kTensor) {
      const NdSbp split = BatchSplit(tensor.type, problem.mesh);
      if (ValidateLayout(tensor.type.shape, split, problem.mesh, problem.even_only).ok()) layouts[t] = split;
    }
  }
  return layouts;
}

}  // namespace sbp
