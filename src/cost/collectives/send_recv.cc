#include "cluster/cluster.h"
#include "cluster/collective_kind.h"
#include "cost/collective.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

bool NoLayoutAlone(const NdSbp& /*from*/, const NdSbp& /*to*/, int /*axis*/) { return false; }
double SendBytes(double /*ranks*/, double bytes) { return bytes; }
double SendSeconds(const CollectiveCall& call) {
  const LinkSpec& link = call.group.nodes > 1 ? call.cluster.inter_node : call.cluster.intra_node;
  return call.cluster.device.launch_seconds.value + link.latency_seconds.value + call.bytes / LinkRate(link);
}

}  // namespace

CollectiveRow SendRecvCollective() {
  return {.kind = CollectiveKind::kSendRecv,
          .doc = "to other devices, or neighbours' elements: each rank sends what another one needs",
          .point_to_point = true,
          .legal = NoLayoutAlone,
          .wire_bytes = SendBytes,
          .seconds = SendSeconds,
          .colours = {"#0F7F78", "#08514D", "#FFFFFF"}};
}

}  // namespace sbp
