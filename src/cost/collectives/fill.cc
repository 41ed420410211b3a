#include "cluster/collective_kind.h"
#include "cost/collective.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

bool FillLegal(const NdSbp& from, const NdSbp& to, int axis) {
  return from[axis].is_broadcast() && to[axis].is_partial();
}
// Rank 0 keeps what it has, the others write neutral elements.
double FillSeconds(const CollectiveCall& call) { return TouchSeconds(call, call.bytes); }

}  // namespace

CollectiveRow FillCollective() {
  return {.kind = CollectiveKind::kFill,
          .doc = "B -> P: rank 0 keeps the values, the others take 0 or 1; all keep a maximum or minimum",
          .local = true,
          .legal = FillLegal,
          .wire_bytes = NothingSent,
          .seconds = FillSeconds,
          .colours = {"#FFFFFF", "#C9A36B", "#4A4F59"}};
}

}  // namespace sbp
