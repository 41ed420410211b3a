// The table of collectives: what each does to one axis of a layout.
#include "boxing/boxing.h"
#include "boxing/collectives.h"

namespace sbp {
namespace {

constexpr CollectiveRow kCollectives[] = {
    {CollectiveKind::kAllGather, "all-gather", "S(i) -> B: every rank gets the parts of all", AllGatherLegal},
    {CollectiveKind::kAllReduce, "all-reduce", "P -> B: every rank gets the combined values", AllReduceLegal},
    {CollectiveKind::kReduceScatter, "reduce-scatter", "P -> S(i): every rank gets its part of the combined values",
     ReduceScatterLegal},
    {CollectiveKind::kAllToAll, "all-to-all", "S(i) -> S(j): every rank sends each other one a piece of its part",
     AllToAllLegal},
    {CollectiveKind::kSlice, "slice", "B -> S(i): every rank keeps its part", SliceLegal},
    {CollectiveKind::kFill, "fill",
     "B -> P: rank 0 keeps the values, the others take 0 or 1; all keep a maximum or minimum", FillLegal},
    {CollectiveKind::kPad, "pad", "S(i) -> P(sum), P(prod): 0 or 1 around each part", PadLegal},
};

}  // namespace

std::span<const CollectiveRow> AllCollectives() { return kCollectives; }

bool IsInnermostSplit(const NdSbp& sbp, int axis, int dim) {
  for (int inner = axis + 1; inner < sbp.size(); ++inner) {
    if (sbp[inner].is_split(dim)) return false;
  }
  return true;
}

bool AllGatherLegal(const NdSbp& from, const NdSbp& to, int axis) {
  return from[axis].is_split() && to[axis].is_broadcast() && IsInnermostSplit(from, axis, from[axis].dim());
}

bool AllReduceLegal(const NdSbp& from, const NdSbp& to, int axis) {
  return from[axis].is_partial() && to[axis].is_broadcast();
}

bool ReduceScatterLegal(const NdSbp& from, const NdSbp& to, int axis) {
  return from[axis].is_partial() && to[axis].is_split() && IsInnermostSplit(to, axis, to[axis].dim());
}

bool AllToAllLegal(const NdSbp& from, const NdSbp& to, int axis) {
  return from[axis].is_split() && to[axis].is_split() && from[axis] != to[axis] &&
         IsInnermostSplit(from, axis, from[axis].dim()) && IsInnermostSplit(to, axis, to[axis].dim());
}

bool SliceLegal(const NdSbp& from, const NdSbp& to, int axis) {
  return from[axis].is_broadcast() && to[axis].is_split() && IsInnermostSplit(to, axis, to[axis].dim());
}

bool FillLegal(const NdSbp& from, const NdSbp& to, int axis) {
  return from[axis].is_broadcast() && to[axis].is_partial();
}

bool PadLegal(const NdSbp& from, const NdSbp& to, int axis) {
  return from[axis].is_split() && to[axis].is_partial() && !IsIdempotent(to[axis].reduce_kind()) &&
         IsInnermostSplit(from, axis, from[axis].dim());
}

}  // namespace sbp
