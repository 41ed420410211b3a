// Which ops run as one kernel where a compiler fuses (Execution::kFused), found once, before layouts are chosen.
//
// Ops are taken in the graph's order. A light op joins the group of the producer of an operand, the largest first,
// where
// * the group's kernel is light, or a contraction and the device takes epilogues;
// * no path leads from the group through other ops back into it, groups taken as wholes; of ops before the group, from
//   which only a group that begins there leads back, as far as a short look sees;
// * its elements are those of the group, or an even part of them (broadcast, reduced, a slice), and its reductions keep
//   the same rows, which are short enough for one block of a device;
// * a step runs it as often, in the same phase.
// Light groups of other operands that it reads then become one with that group, on the same terms, where one of both
// reads nothing but what the other does: that they began apart is an accident of spelling. So do, at the end, light
// groups that read one large tensor. Reductions of other dimensions than the last, as of gradients of biases, become
// one kernel with the element-wise ops of which they read. What takes no more bytes to make than to read is made anew
// by light kernels that read it, and not written for them. Views run no kernel, and neither do moves (transposes,
// broadcasts, slices) that only light ops or contractions read, or that follow a contraction: both address their
// operands as they lie; but convolutions by strides alone, so that what repeats elements or mixes dimensions is
// written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "graph/kernel_groups.h"
#include "rule/rule_set.h"

namespace sbp {

struct Fusion {
  KernelGroups groups;
  std::vector<OpFusion> kinds;    // distinct
  std::vector<uint32_t> kind_of;  // per op: index into kinds
  const OpFusion& of(OpId op) const { return kinds[kind_of[op.index()]]; }
};

struct FusionOptions {
  bool epilogue = false;  // contractions take light ops behind them into their kernel
  // Patterns of the scopes that a compiler sees (NamesScope), with all below them; ops elsewhere are kernels of their
  // own. None: it sees all.
  std::vector<std::string> scopes;
};

// `graph` is resolved. Deterministic; linear in ops but for a bounded look back per op.
Fusion FuseOps(const Graph& graph, const RuleSet& rules, const FusionOptions& options);
// Those patterns of the options that name no scope of the graph.
std::vector<std::string> ScopesNotFound(const Graph& graph, const FusionOptions& options);

}  // namespace sbp
