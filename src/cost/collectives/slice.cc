#include "cluster/collective_kind.h"
#include "cost/collective.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

bool SliceLegal(const NdSbp& from, const NdSbp& to, int axis) {
  return from[axis].is_broadcast() && to[axis].is_split() && IsInnermostSplit(to, axis, to[axis].dim());
}
double SliceSeconds(const CollectiveCall& call) {  // the slice is read and written
  return TouchSeconds(call, 2 * (call.bytes / static_cast<double>(call.ranks)));
}

}  // namespace

CollectiveRow SliceCollective() {
  return {.kind = CollectiveKind::kSlice,
          .doc = "B -> S(i): every rank keeps its part",
          .local = true,
          .legal = SliceLegal,
          .wire_bytes = NothingSent,
          .seconds = SliceSeconds,
          .colours = {"#FFFFFF", "#9BA1AC", "#4A4F59"}};
}

}  // namespace sbp
