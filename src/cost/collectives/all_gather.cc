#include "cluster/collective_kind.h"
#include "cost/collective.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

constexpr int kGatherRounds = 1;

bool GatherLegal(const NdSbp& from, const NdSbp& to, int axis) {
  return from[axis].is_split() && to[axis].is_broadcast() && IsInnermostSplit(from, axis, from[axis].dim());
}
double GatherBytes(double ranks, double bytes) { return bytes * (ranks - 1) / ranks; }
double GatherSeconds(const CollectiveCall& call) {
  return RingSeconds(call, kGatherRounds, GatherBytes(static_cast<double>(call.ranks), call.bytes));
}

}  // namespace

CollectiveRow AllGatherCollective() {
  return {.kind = CollectiveKind::kAllGather,
          .doc = "S(i) -> B: every rank gets the parts of all",
          .legal = GatherLegal,
          .wire_bytes = GatherBytes,
          .seconds = GatherSeconds,
          .rounds = kGatherRounds,
          .colours = {"#2B6CD4", "#1B4A98", "#FFFFFF"}};
}

}  // namespace sbp
