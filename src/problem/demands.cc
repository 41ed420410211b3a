#include "problem/demands.h"

#include <limits>
#include <vector>

#include "base/ids.h"
#include "base/text.h"
#include "graph/tensor_type.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

constexpr size_t kMaxEnds = 64;  // more are cut down to those that treat all axes alike

// The layouts that `from` may become, one axis after the other; those with B come first.
void AddEnds(const Mesh& mesh, const NdSbp& from, int rank, NdSbp& layout, int axis, std::vector<NdSbp>& ends) {
  if (axis == from.size()) {
    ends.push_back(layout);
    return;
  }
  layout[axis] = from[axis];
  if (from[axis].is_split()) return AddEnds(mesh, from, rank, layout, axis + 1, ends);
  layout[axis] = Sbp::Broadcast();
  AddEnds(mesh, from, rank, layout, axis + 1, ends);
  for (int d = 0; d < rank && mesh.size(axis) > 1; ++d) {
    layout[axis] = Sbp::Split(d);
    AddEnds(mesh, from, rank, layout, axis + 1, ends);
  }
  layout[axis] = Sbp::Broadcast();
}

std::vector<NdSbp> EndsFrom(const TensorType& type, const Mesh& mesh, const NdSbp& from) {
  size_t count = 1;
  for (int axis = 0; axis < from.size(); ++axis) {
    if (!from[axis].is_split() && count <= kMaxEnds) count *= static_cast<size_t>(type.rank()) + 1;
  }
  std::vector<NdSbp> ends;
  NdSbp layout(from.size());
  if (count <= kMaxEnds) {
    AddEnds(mesh, from, type.rank(), layout, 0, ends);
    return ends;
  }
  // P to one layout everywhere; then B too.
  for (const bool all : {false, true}) {
    for (int d = -1; d < type.rank(); ++d) {
      layout = from;
      for (int axis = 0; axis < from.size(); ++axis) {
        if (from[axis].is_split() || (from[axis].is_broadcast() && !all)) continue;
        layout[axis] = d < 0 || mesh.size(axis) == 1 ? Sbp::Broadcast() : Sbp::Split(d);
      }
      ends.push_back(layout);
    }
  }
  return ends;
}

Status PartialOutput(const Tensor& tensor, const TensorPin& pin) {
  return NoPlan(StrCat("the pin ", pin.text, " leaves the graph output ", Quote(tensor.name),
                       " partial; outputs never end so: --outputs any allows it, and ", tensor.name, "<-",
                       ToString(pin.layout), " pins what its producer writes"));
}

}  // namespace

Result<Demands> Demands::Of(const Graph& graph, const Mesh& mesh, const Pins& pins, OutputPolicy policy) {
  Demands demands;
  demands.standing_ = pins.lies;
  const EndRule by_policy = {policy == OutputPolicy::kWhole ? EndRule::Kind::kWhole : EndRule::Kind::kNotPartial};
  for (const TensorId output : graph.outputs) {
    const Tensor& tensor = graph.tensor(output);
    if (policy == OutputPolicy::kAny || mesh.num_devices() == 1 || tensor.type.kind != ValueKind::kTensor) continue;
    const TensorPin* pin = demands.standing(output);
    if (pin == nullptr) {
      demands.ends_[output] = by_policy;
    } else if (pin->layout.has_partial()) {
      return PartialOutput(tensor, *pin);
    }
  }
  for (const Tie& tie : graph.ties) demands.ends_[tie.output] = {EndRule::Kind::kTied, tie.input};
  return demands;
}

CheapestEnd FindCheapestEnd(const TensorType& type, const NdSbp& from, BoxingTable& boxing) {
  if (!from.has_partial()) return {from, 0};
  CheapestEnd best{from, std::numeric_limits<double>::infinity()};
  for (const NdSbp& layout : EndsFrom(type, boxing.mesh(), from)) {
    const double seconds = boxing.Price(type, from, layout).seconds;
    if (seconds < best.seconds) best = {layout, seconds};
  }
  return best;
}

}  // namespace sbp
