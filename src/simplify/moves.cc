#include "simplify/moves.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "base/checked_math.h"
#include "base/ids.h"
#include "graph/strided_ints.h"
#include "graph/tensor_type.h"
#include "sbp/shard_math.h"
#include "simplify/strided.h"

namespace sbp {
namespace {

using Index = std::vector<int64_t>;

Index Unravel(int64_t flat, const Shape& shape) {
  Index index(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    index[d] = flat % shape[d];
    flat /= shape[d];
  }
  return index;
}

int64_t Ravel(const Index& index, const Shape& shape) {
  int64_t flat = 0;
  for (size_t d = 0; d < shape.size(); ++d) flat = flat * shape[d] + index[d];
  return flat;
}

// One op on concrete shapes.
struct MoveCall {
  const Graph& graph;
  const Op& op;
  size_t result;

  const Shape& in() const { return graph.tensor(op.inputs[0]).type.shape; }
  const Shape& out() const { return graph.tensor(op.outputs[result]).type.shape; }
  // The integers of an operand; nothing where it is absent or not known.
  const std::vector<int64_t>* ints(size_t operand) const {
    if (operand >= op.inputs.size() || !op.inputs[operand].valid()) return nullptr;
    const Tensor& tensor = graph.tensor(op.inputs[operand]);
    const bool known = tensor.role == TensorRole::kParameter && tensor.literal != nullptr;
    return known && tensor.literal->is_integral() ? &tensor.literal->ints : nullptr;
  }
  std::optional<size_t> Axis(int64_t axis) const {
    const auto rank = static_cast<int64_t>(in().size());
    if (axis < -rank || axis >= rank) return std::nullopt;
    return static_cast<size_t>(axis < 0 ? axis + rank : axis);
  }
  std::optional<size_t> AxisAttribute() const { return Axis(op.attributes->Int("axis", 0)); }
};

// A box of the operand: along each dimension so many elements are left out before it. Nothing: no box.
using Starts = std::optional<Index>;

Starts StartsOfSlice(const MoveCall& call) {
  const std::vector<int64_t>*starts = call.ints(1), *ends = call.ints(2), *axes = call.ints(3), *steps = call.ints(4);
  if (starts == nullptr || ends == nullptr || starts->size() != ends->size()) return std::nullopt;
  const auto given = [&](size_t operand) { return operand < call.op.inputs.size() && call.op.inputs[operand].valid(); };
  if ((given(3) && axes == nullptr) || (given(4) && steps == nullptr)) return std::nullopt;
  if (steps != nullptr && std::ranges::any_of(*steps, [](int64_t step) { return step != 1; })) return std::nullopt;
  if (axes != nullptr && axes->size() != starts->size()) return std::nullopt;
  Index before(call.in().size(), 0);
  for (size_t i = 0; i < starts->size(); ++i) {
    const std::optional<size_t> d = call.Axis(axes == nullptr ? static_cast<int64_t>(i) : (*axes)[i]);
    if (!d) return std::nullopt;
    const int64_t size = call.in()[*d], start = (*starts)[i];
    before[*d] = std::clamp<int64_t>(start < 0 ? start + size : start, 0, size);
  }
  return before;
}

Starts StartsOfSplit(const MoveCall& call) {
  const std::optional<size_t> axis = call.AxisAttribute();
  if (!axis) return std::nullopt;
  const std::vector<int64_t>* sizes = call.ints(1);
  if (sizes == nullptr && call.op.inputs.size() > 1 && call.op.inputs[1].valid()) return std::nullopt;
  const auto parts = static_cast<int64_t>(call.op.outputs.size());
  Index before(call.in().size(), 0);
  for (size_t i = 0; i < call.result; ++i) {
    if (sizes != nullptr && i >= sizes->size()) return std::nullopt;
    before[*axis] += sizes != nullptr ? (*sizes)[i] : (call.in()[*axis] + parts - 1) / parts;
  }
  return before;
}

// Of a Gather at one place, or at neighbouring ones.
Starts StartsOfGather(const MoveCall& call) {
  const std::optional<size_t> axis = call.AxisAttribute();
  const std::vector<int64_t>* indices = call.ints(1);
  if (!axis || indices == nullptr || indices->empty()) return std::nullopt;
  if (call.graph.tensor(call.op.inputs[1]).type.rank() > 1) return std::nullopt;
  const int64_t size = call.in()[*axis];
  const auto place = [&](size_t i) { return (*indices)[i] < 0 ? (*indices)[i] + size : (*indices)[i]; };
  for (size_t i = 0; i < indices->size(); ++i) {
    if (place(i) < 0 || place(i) >= size || place(i) != place(0) + static_cast<int64_t>(i)) return std::nullopt;
  }
  Index before(call.in().size(), 0);
  before[*axis] = place(0);
  return before;
}

// Of a Gather from a flat operand at places on a grid: as_strided, as exporters write it.
std::optional<StridedInts> PlacesOfGather(const MoveCall& call) {
  if (call.in().size() != 1 || call.op.inputs.size() != 2 || call.AxisAttribute() != 0) return std::nullopt;
  std::optional<StridedInts> places = StridesOf(call.graph, call.op.inputs[1]);
  if (!places || places->offset < 0) return std::nullopt;
  int64_t last = places->offset;
  for (size_t d = 0; d < places->strides.size(); ++d) {
    if (places->strides[d] < 0) return std::nullopt;  // backwards: no view
    last = SaturatingAdd(last, SaturatingMul(places->strides[d], call.out()[d] - 1));
  }
  if (last >= call.in()[0]) return std::nullopt;
  return places;
}

bool IsKnownGather(const MoveCall& call) { return StartsOfGather(call) || PlacesOfGather(call); }
bool IsAlways(const MoveCall& call) { return call.op.inputs.size() == 1 || call.ints(1) != nullptr; }
bool IsPermuted(const MoveCall& call) {
  const std::vector<int64_t>* perm = call.op.attributes->Ints("perm");
  return perm == nullptr || perm->size() == call.in().size();
}
template <Starts (*starts)(const MoveCall&)>
bool HasStarts(const MoveCall& call) {
  return starts(call).has_value();
}

std::vector<int> PermOf(const MoveCall& call) {
  std::vector<int> perm;
  const std::vector<int64_t>* given = call.op.attributes->Ints("perm");
  const auto rank = static_cast<int>(call.in().size());
  for (int d = 0; d < rank; ++d) {
    perm.push_back(given == nullptr ? rank - 1 - d : static_cast<int>((*given)[static_cast<size_t>(d)]));
  }
  return perm;
}

bool ViewAsShape(const MoveCall& call, ElementView& view) { return view.Reshape(call.out()); }
bool ViewTransposed(const MoveCall& call, ElementView& view) {
  view.Transpose(PermOf(call));
  return true;
}
bool ViewExpanded(const MoveCall& call, ElementView& view) { return view.Expand(call.out()); }

// The sizes of the box in the operand's rank: a Gather at one place drops the dimension.
Shape BoxOf(const MoveCall& call) {
  Shape box = call.out();
  if (box.size() < call.in().size()) box.insert(box.begin() + static_cast<int64_t>(*call.AxisAttribute()), 1);
  return box;
}
template <Starts (*starts)(const MoveCall&)>
bool ViewBox(const MoveCall& call, ElementView& view) {
  const Index before = *starts(call);
  const Shape box = BoxOf(call);
  for (size_t d = 0; d < box.size(); ++d) {
    if (box[d] != call.in()[d] && !view.Slice(d, before[d], box[d])) return false;
  }
  return view.Reshape(call.out());
}

bool ViewGathered(const MoveCall& call, ElementView& view) {
  if (StartsOfGather(call)) return ViewBox<StartsOfGather>(call, view);
  const StridedInts places = *PlacesOfGather(call);
  return view.Pick(call.out(), places.strides, places.offset) && view.Reshape(call.out());
}

int64_t SourceSame(const MoveCall&, int64_t index) { return index; }
int64_t SourceTransposed(const MoveCall& call, int64_t index) {
  const Index out = Unravel(index, call.out());
  const std::vector<int> perm = PermOf(call);
  Index in(out.size());
  for (size_t d = 0; d < out.size(); ++d) in[static_cast<size_t>(perm[d])] = out[d];
  return Ravel(in, call.in());
}
int64_t SourceExpanded(const MoveCall& call, int64_t index) {
  const Index out = Unravel(index, call.out());
  const size_t more = out.size() - call.in().size();
  Index in;
  for (size_t d = 0; d < call.in().size(); ++d) in.push_back(call.in()[d] == 1 ? 0 : out[d + more]);
  return Ravel(in, call.in());
}
template <Starts (*starts)(const MoveCall&)>
int64_t SourceInBox(const MoveCall& call, int64_t index) {
  Index in = Unravel(index, call.out());
  if (in.size() < call.in().size()) in.insert(in.begin() + static_cast<int64_t>(*call.AxisAttribute()), 0);
  const Index before = *starts(call);
  for (size_t d = 0; d < in.size(); ++d) in[d] += before[d];
  return Ravel(in, call.in());
}

int64_t SourceGathered(const MoveCall& call, int64_t index) {
  if (StartsOfGather(call)) return SourceInBox<StartsOfGather>(call, index);
  const StridedInts places = *PlacesOfGather(call);
  const Index out = Unravel(index, call.out());
  int64_t place = places.offset;
  for (size_t d = 0; d < out.size(); ++d) place += out[d] * places.strides[d];
  return place;
}

struct MoveRow {
  std::string_view op;
  bool takes_part;
  bool (*is_known)(const MoveCall&);
  bool (*view)(const MoveCall&, ElementView&);
  int64_t (*source)(const MoveCall&, int64_t);
};
constexpr MoveRow kMoves[] = {
    {"Expand", false, IsAlways, ViewExpanded, SourceExpanded},
    {"Flatten", false, IsAlways, ViewAsShape, SourceSame},
    {"Gather", true, IsKnownGather, ViewGathered, SourceGathered},
    {"Identity", false, IsAlways, ViewAsShape, SourceSame},
    {"Reshape", false, IsAlways, ViewAsShape, SourceSame},
    {"Slice", true, HasStarts<StartsOfSlice>, ViewBox<StartsOfSlice>, SourceInBox<StartsOfSlice>},
    {"Split", true, HasStarts<StartsOfSplit>, ViewBox<StartsOfSplit>, SourceInBox<StartsOfSplit>},
    {"Squeeze", false, IsAlways, ViewAsShape, SourceSame},
    {"Transpose", false, IsPermuted, ViewTransposed, SourceTransposed},
    {"Unsqueeze", false, IsAlways, ViewAsShape, SourceSame},
};

const MoveRow* FindMove(const Graph& graph, const Op& op) {
  const auto row = std::ranges::find(kMoves, std::string_view(graph.type_of(op)), &MoveRow::op);
  return row == std::end(kMoves) ? nullptr : row;
}

bool IsFilledTensor(const TensorType& type) {
  return type.kind == ValueKind::kTensor && type.is_static() && type.num_elements() > 0;
}

}  // namespace

const Op* ProducerOf(const Graph& graph, TensorId tensor) {
  const OpId producer = graph.tensor(tensor).producer;
  return producer.valid() ? &graph.op(producer) : nullptr;
}

bool IsComputed(const std::vector<bool>& computed, TensorId tensor) {
  return tensor.index() < computed.size() && computed[tensor.index()];
}

bool IsMove(const Graph& graph, const Op& op, size_t result) {
  const MoveRow* row = FindMove(graph, op);
  if (row == nullptr || op.inputs.empty() || !op.inputs[0].valid() || !op.captures.empty()) return false;
  if (result >= op.outputs.size() || !op.outputs[result].valid()) return false;
  if (!IsFilledTensor(graph.tensor(op.inputs[0]).type)) return false;
  return IsFilledTensor(graph.tensor(op.outputs[result]).type) && row->is_known({graph, op, result});
}

bool ApplyMove(const Graph& graph, const Op& op, size_t result, ElementView& view) {
  return FindMove(graph, op)->view({graph, op, result}, view);
}

bool TakesPart(const Graph& graph, const Op& op) {
  const MoveRow* row = FindMove(graph, op);
  return row != nullptr && row->takes_part;
}

bool PicksPlaces(const Graph& graph, const Op& op) {
  return graph.type_of(op) == "Gather" && graph.tensor(op.inputs[1]).type.rank() > 1;
}

int64_t SourceOf(const Graph& graph, const Op& op, size_t result, int64_t index) {
  return FindMove(graph, op)->source({graph, op, result}, index);
}

bool SameMoves(const Graph& graph, const Route& a, const Route& b, const Shape& result) {
  constexpr int64_t kAll = 512, kSample = 61;  // a prime, so that the sample meets all rows and columns
  int64_t count = 1;
  for (const int64_t size : result) count *= size;
  const int64_t looked_at = count <= kAll ? count : kSample;
  const auto follow = [&](const Route& route, int64_t index) {
    for (const auto& [op, output] : route) index = SourceOf(graph, *op, output, index);
    return index;
  };
  for (int64_t i = 0; i < looked_at; ++i) {
    const int64_t index = looked_at == count ? i : i == 0 ? count - 1 : count / kSample * i + i % 7;
    if (follow(a, index) != follow(b, index)) return false;
  }
  return true;
}

}  // namespace sbp
