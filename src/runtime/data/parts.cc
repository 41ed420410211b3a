#include "runtime/data/parts.h"

#include <array>
#include <cstdint>
#include <utility>

#include "base/dtype.h"
#include "runtime/data/box.h"
#include "runtime/data/reduce.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {

TensorView PartView(DType dtype, const Shape& whole, const NdSbp& layout, const Mesh& mesh,
                    const std::vector<int64_t>& coordinates, std::byte* data) {
  TensorView view;
  view.dtype = dtype;
  view.data = data;
  view.whole = whole;
  view.ranges = LocalSlice(whole, layout, mesh, coordinates);
  for (const Range& range : view.ranges) view.shape.push_back(range.size());
  return view;
}

Status ChangeLocally(const TensorView& source, const NdSbp& from, const NdSbp& to,
                     const std::vector<int64_t>& coordinates, const TensorView& target, Space& space) {
  bool holds = true;  // of the ranks that share a sum, does this one hold the values?
  for (int axis = 0; axis < to.size(); ++axis) {
    if (from[axis] == to[axis] || !to[axis].is_partial() || IsIdempotent(to[axis].reduce_kind())) continue;
    SBP_RETURN_IF_ERROR(space.FillNeutral(target.dtype, to[axis].reduce_kind(), target.data, target.elements()));
    if (from[axis].is_broadcast() && coordinates[axis] != 0) holds = false;
  }
  if (!holds) return OkStatus();
  return space.CopyBox(target.dtype, Intersect(source.ranges, target.ranges), source.data, source.ranges, target.data,
                       target.ranges);
}

void ChangeLocally(const TensorView& source, const NdSbp& from, const NdSbp& to,
                   const std::vector<int64_t>& coordinates, const TensorView& target) {
  HostSpace here;
  (void)ChangeLocally(source, from, to, coordinates, target, here);  // cannot fail there
}

Result<std::vector<Value>> AssembleCopies(const std::vector<Value>& parts, const NdSbp& layout, const Mesh& mesh) {
  // Devices with equal coordinates on the axes of copies make one whole tensor.
  std::vector<std::vector<int64_t>> keys;
  std::vector<Value> copies;
  for (int64_t device = 0; device < mesh.num_devices(); ++device) {
    const TensorView& part = parts[device].view;
    if (part.whole != parts[0].view.whole || part.dtype != parts[0].view.dtype) {
      return RunFailed("devices disagree about its size");
    }
    const std::vector<int64_t> coordinates = mesh.Coordinates(device);
    std::vector<int64_t> key;
    bool first = true;  // of the ranks that share a sum
    ReduceKind kind = ReduceKind::kSum;
    bool partial = false;
    for (int axis = 0; axis < layout.size(); ++axis) {
      if (layout[axis].is_broadcast()) key.push_back(coordinates[axis]);
      if (!layout[axis].is_partial()) continue;
      partial = true;
      kind = layout[axis].reduce_kind();
      first = first && coordinates[axis] == 0;
    }
    size_t at = 0;
    while (at < keys.size() && keys[at] != key) ++at;
    if (at == keys.size()) {
      keys.push_back(key);
      SBP_ASSIGN_OR_RETURN(Value whole, MakeTensor(part.dtype, part.whole));
      copies.push_back(std::move(whole));
    }
    const TensorView& whole = copies[at].view;
    if (!partial || first) {
      CopyBox(part.dtype, part.ranges, part.data, part.ranges, whole.data, whole.ranges);
      continue;
    }
    SBP_RETURN_IF_ERROR(CanReduce(part.dtype, kind));
    // The same box of the whole, combined with this part and put back.
    SBP_ASSIGN_OR_RETURN(Value sum, MakeTensor(part.dtype, part.shape));
    CopyBox(part.dtype, part.ranges, whole.data, whole.ranges, sum.view.data, part.ranges);
    const std::array<const std::byte*, 2> sources = {sum.view.data, part.data};
    ReduceElements(part.dtype, kind, sources, sum.view.data, part.elements());
    CopyBox(part.dtype, part.ranges, sum.view.data, part.ranges, whole.data, whole.ranges);
  }
  return copies;
}

}  // namespace sbp
