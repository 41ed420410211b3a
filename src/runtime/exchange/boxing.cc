#include "runtime/exchange/boxing.h"

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "cluster/collective_kind.h"
#include "runtime/data/box.h"
#include "runtime/data/reduce.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

Status CheckView(std::string_view name, const TensorView& view, const Box& box) {
  if (view.ranges == box && view.elements() == Elements(box)) return OkStatus();
  return Defect(StrCat(name, " holds ", ToString(view.ranges), ", its layout says ", ToString(box)));
}

Status CheckPair(const TensorView& source, const TensorView& target) {
  if (source.dtype != target.dtype || source.whole != target.whole) {
    return Defect("source and target of a boxing step are not parts of one tensor");
  }
  return OkStatus();
}

// The boxes of the devices that differ from `coordinates` on `axis` only, by rank of that group.
std::vector<Box> BoxesOfGroup(const Shape& whole, const NdSbp& layout, const Mesh& mesh, int axis,
                              std::vector<int64_t> coordinates) {
  std::vector<Box> boxes;
  for (coordinates[axis] = 0; coordinates[axis] < mesh.size(axis); ++coordinates[axis]) {
    boxes.push_back(LocalSlice(whole, layout, mesh, coordinates));
  }
  return boxes;
}

// B -> P, and S -> P: everything that this device does not hold becomes neutral.
Status MakePartial(ReduceKind kind, bool keeps, Space& space, const TensorView& source, const TensorView& target) {
  SBP_RETURN_IF_ERROR(CanReduce(source.dtype, kind));
  if (!keeps || source.ranges != target.ranges) {
    SBP_RETURN_IF_ERROR(space.FillNeutral(target.dtype, kind, target.data, target.elements()));
  }
  if (!keeps) return OkStatus();
  return space.CopyBox(source.dtype, source.ranges, source.data, source.ranges, target.data, target.ranges);
}

}  // namespace

Status RunBoxingStep(const BoxingStep& step, const Mesh& mesh, int64_t device, DeviceCommunicators& communicators,
                     Space& space, const TensorView& source, const TensorView& target) {
  SBP_RETURN_IF_ERROR(CheckPair(source, target));
  const std::vector<int64_t> at = mesh.Coordinates(device);
  SBP_RETURN_IF_ERROR(CheckView("the source", source, LocalSlice(source.whole, step.from, mesh, at)));
  SBP_RETURN_IF_ERROR(CheckView("the target", target, LocalSlice(source.whole, step.to, mesh, at)));
  const auto group_boxes = [&](const NdSbp& layout) { return BoxesOfGroup(source.whole, layout, mesh, step.axis, at); };
  const auto group = [&]() -> Communicator& { return *communicators.axes[step.axis]; };  // local kinds have none
  switch (step.kind) {
    case CollectiveKind::kAllGather:
      return group().AllGather(source, target, group_boxes(step.from));
    case CollectiveKind::kAllReduce:
      return group().AllReduce(step.from[step.axis].reduce_kind(), source, target);
    case CollectiveKind::kReduceScatter:
      return group().ReduceScatter(step.from[step.axis].reduce_kind(), source, target, group_boxes(step.to));
    case CollectiveKind::kAllToAll:
      return group().AllToAll(source, target, group_boxes(step.from), group_boxes(step.to));
    case CollectiveKind::kSlice:
      return space.CopyBox(source.dtype, target.ranges, source.data, source.ranges, target.data, target.ranges);
    case CollectiveKind::kFill:
      return MakePartial(step.to[step.axis].reduce_kind(),
                         at[step.axis] == 0 || IsIdempotent(step.to[step.axis].reduce_kind()), space, source, target);
    case CollectiveKind::kPad:
      return MakePartial(step.to[step.axis].reduce_kind(), true, space, source, target);
    case CollectiveKind::kSendRecv:
      return Redistribute(step.from, step.to, mesh, device, *communicators.all, source, target);
  }
  return Defect("unknown kind of boxing step");
}

Status Redistribute(const NdSbp& from, const NdSbp& to, const Mesh& mesh, int64_t device, Communicator& all,
                    const TensorView& source, const TensorView& target) {
  SBP_RETURN_IF_ERROR(CheckPair(source, target));
  if (from.has_partial() || to.has_partial()) return Defect("partial values cannot be moved by overlap");
  const std::vector<Box> held = BoxesOfMesh(source.whole, from, mesh), wanted = BoxesOfMesh(source.whole, to, mesh);
  SBP_RETURN_IF_ERROR(CheckView("the source", source, held[device]));
  SBP_RETURN_IF_ERROR(CheckView("the target", target, wanted[device]));
  return all.Exchange(source, target, held, wanted);
}

Status ExchangeHalo(const NdSbp& layout, const Mesh& mesh, const std::vector<Box>& wanted, Communicator& all,
                    const TensorView& source, const TensorView& target) {
  SBP_RETURN_IF_ERROR(CheckPair(source, target));
  if (layout.has_partial()) return Defect("partial values cannot be moved by overlap");
  const std::vector<Box> held = BoxesOfMesh(source.whole, layout, mesh);
  SBP_RETURN_IF_ERROR(CheckView("the source", source, held[all.rank()]));
  SBP_RETURN_IF_ERROR(CheckView("the target", target, wanted[all.rank()]));
  return all.Exchange(source, target, held, wanted);
}

}  // namespace sbp
