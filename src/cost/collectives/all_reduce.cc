#include "cluster/collective_kind.h"
#include "cost/collective.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

constexpr int kReduceRounds = 2;

bool ReduceLegal(const NdSbp& from, const NdSbp& to, int axis) {
  return from[axis].is_partial() && to[axis].is_broadcast();
}
double ReduceBytes(double ranks, double bytes) { return 2 * bytes * (ranks - 1) / ranks; }
double ReduceSeconds(const CollectiveCall& call) {
  return RingSeconds(call, kReduceRounds, ReduceBytes(static_cast<double>(call.ranks), call.bytes));
}

}  // namespace

CollectiveRow AllReduceCollective() {
  return {.kind = CollectiveKind::kAllReduce,
          .doc = "P -> B: every rank gets the combined values",
          .legal = ReduceLegal,
          .wire_bytes = ReduceBytes,
          .seconds = ReduceSeconds,
          .rounds = kReduceRounds,
          .colours = {"#CC3333", "#8F1F1F", "#FFFFFF"}};
}

}  // namespace sbp
