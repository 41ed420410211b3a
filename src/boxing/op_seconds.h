// Seconds of one op under one candidate: the roofline of its share of the work, and the exchange of halos. Shared by
// strategies, the evaluator and the independent checker, so that they cannot disagree about a constant.
#pragma once

#include "cluster/cluster.h"
#include "cost/cost.h"
#include "graph/kernel_groups.h"
#include "rule/candidates.h"
#include "rule/factor_map.h"
#include "sbp/mesh.h"

namespace sbp {

// What the busiest device computes and touches: its share of the flops; its parts of the operands (those that are only
// looked at for their shape excepted) and of the results, once each. The element type is that of the first float
// operand, else of the first operand, else of the first result.
Work WorkOf(const RuleInstance& instance, const Candidate& candidate, const Mesh& mesh);

// No candidate of the op takes fewer seconds: a device has at least its even part of the flops and of every tensor.
// `fusion`: null in eager execution, else what its kernel group spares the op.
double LeastOpSeconds(const RuleInstance& instance, const Mesh& mesh, const Cluster& cluster,
                      const OpFusion* fusion = nullptr);

// Where a halo's neighbour may be: the group of the mesh that spans most nodes; one rank a node where all are on one.
GroupShape WidestGroup(const Cluster& cluster, const Mesh& mesh);

// Seconds of that work, and of sending the candidate's halo elements to a neighbour.
//
// In a kernel group (`fusion`), as long as no plan cuts it: of an anchor, max(flops, bytes that are outside); of a
// light op, max(flops - inside, outside), in seconds each, so that what the group spares is what its ends are worth;
// and a launch where the op is the group's first. No kernel: nothing.
double OpSeconds(const RuleInstance& instance, const Candidate& candidate, const Mesh& mesh, const Cluster& cluster,
                 const OpFusion* fusion = nullptr);

// What one end of a tensor inside a group adds where its two ends lie differently, so that the group is cut there: the
// traffic that was spared, and the launch of the kernel that then begins (`operand` ends only). Beside a move that runs
// no kernel it is what its neighbours in the group write and read. The sum over an op's ends, and its OpSeconds, are
// never more than its seconds in eager execution. 0 for ends that are outside, and for ops that take nothing there.
double CutSeconds(const RuleInstance& instance, const Candidate& candidate, const Mesh& mesh, const Cluster& cluster,
                  const OpFusion& fusion, bool is_result, size_t slot);

}  // namespace sbp
