// What devices send each other in a step.
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "boxing/boxing.h"
#include "cluster/cluster.h"
#include "cluster/collective_kind.h"
#include "cost/traffic.h"
#include "graph/sections.h"
#include "page/sections.h"
#include "plan/plan.h"
#include "plan/transition_runs.h"
#include "sbp/mesh.h"

namespace sbp {
namespace {

Json LinkOf(const LinkSpec& link, double bytes) {
  return {{"name", link.name},
          {"bandwidth", link.bandwidth.value * link.efficiency.value},
          {"bandwidth_source", link.bandwidth.source},
          {"bytes", bytes}};
}

Json Entries(const Traffic& traffic, int64_t blocks) {
  Json entries = Json::array();
  for (size_t i = 0; i < traffic.bytes.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    if (traffic.bytes[i] > 0) entries.push_back({at / blocks, at % blocks, traffic.bytes[i]});
  }
  return entries;
}

}  // namespace

Json TrafficSection(const PageFacts& facts) {
  const Plan& plan = facts.plan;
  const DeviceBlocks blocks = BlocksOf(plan.mesh, plan.cluster);
  struct Sum {
    double bytes = 0, seconds = 0;
    int64_t count = 0;
  };
  std::map<std::pair<CollectiveKind, int>, Sum> sums;
  const std::vector<int64_t> runs = RunsOfTransitions(plan, StepRuns(plan.graph));
  for (size_t i = 0; i < plan.transitions.size(); ++i) {
    for (const BoxingStep& step : plan.transitions[i].steps) {
      if (step.wire_bytes <= 0 || step.axis >= plan.mesh.num_axes()) continue;
      Sum& sum = sums[{step.kind, step.axis}];
      const auto times = static_cast<double>(runs[i]);
      sum.bytes += times * step.wire_bytes;
      sum.seconds += times * step.seconds;
      sum.count += runs[i];
    }
  }
  Json flows = Json::array();
  double inside = 0, across = 0;
  for (const auto& [key, sum] : sums) {
    const Traffic traffic = TrafficOf(plan.mesh, plan.cluster, key.second, key.first, sum.bytes);
    inside += traffic.inside;
    across += traffic.across;
    flows.push_back({{"kind", static_cast<int>(key.first)},
                     {"axis", key.second},
                     {"peers", static_cast<int>(PeersOf(key.first))},
                     {"count", sum.count},
                     {"bytes", sum.bytes},
                     {"seconds", sum.seconds},
                     {"inside", traffic.inside},
                     {"across", traffic.across},
                     {"matrix", Entries(traffic, blocks.count)}});
  }
  return {{"devices", blocks.devices},
          {"per_block", blocks.per_block},
          {"blocks", blocks.count},
          {"devices_per_node", plan.cluster.devices_per_node},
          {"intra_node", LinkOf(plan.cluster.intra_node, inside)},
          {"inter_node", LinkOf(plan.cluster.inter_node, across)},
          {"flows", std::move(flows)}};
}

}  // namespace sbp
