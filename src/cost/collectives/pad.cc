#include "cluster/collective_kind.h"
#include "cost/collective.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

// Not to P(max) and P(min): their neutral elements are infinite, outside of the domain of ops that pass a maximum on (a
// square root).
bool PadLegal(const NdSbp& from, const NdSbp& to, int axis) {
  return from[axis].is_split() && to[axis].is_partial() && !IsIdempotent(to[axis].reduce_kind()) &&
         IsInnermostSplit(from, axis, from[axis].dim());
}
// Two kernels, as PyTorch's constant_pad_nd: all is filled, then the part is copied.
double PadSeconds(const CollectiveCall& call) {
  return TouchSeconds(call, call.bytes) + TouchSeconds(call, 2 * (call.bytes / static_cast<double>(call.ranks)));
}

}  // namespace

CollectiveRow PadCollective() {
  return {.kind = CollectiveKind::kPad,
          .doc = "S(i) -> P(sum), P(prod): 0 or 1 around each part",
          .local = true,
          .legal = PadLegal,
          .wire_bytes = NothingSent,
          .seconds = PadSeconds,
          .colours = {"#FFFFFF", "#6BA9A3", "#4A4F59"}};
}

}  // namespace sbp
