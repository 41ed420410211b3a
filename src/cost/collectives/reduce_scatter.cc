#include "cluster/collective_kind.h"
#include "cost/collective.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

constexpr int kScatterRounds = 1;

bool ScatterLegal(const NdSbp& from, const NdSbp& to, int axis) {
  return from[axis].is_partial() && to[axis].is_split() && IsInnermostSplit(to, axis, to[axis].dim());
}
double ScatterBytes(double ranks, double bytes) { return bytes * (ranks - 1) / ranks; }
double ScatterSeconds(const CollectiveCall& call) {
  return RingSeconds(call, kScatterRounds, ScatterBytes(static_cast<double>(call.ranks), call.bytes));
}

}  // namespace

CollectiveRow ReduceScatterCollective() {
  return {.kind = CollectiveKind::kReduceScatter,
          .doc = "P -> S(i): every rank gets its part of the combined values",
          .legal = ScatterLegal,
          .wire_bytes = ScatterBytes,
          .seconds = ScatterSeconds,
          .rounds = kScatterRounds,
          .colours = {"#D96F0E", "#994C05", "#FFFFFF"}};
}

}  // namespace sbp
