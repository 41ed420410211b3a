// Groups while they grow: who is in which, and whether a group may take one more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "fusion/op_traits.h"
#include "graph/graph.h"
#include "graph/kernel_groups.h"
#include "graph/phases.h"
#include "graph/sections.h"
#include "rule/rule_set.h"

namespace sbp {

inline constexpr size_t kMostMerged = 64;  // ops of a kernel that is made of two, as TorchInductor bounds it
// Of a kernel's numbers: reading so few is no reason for another one.
inline constexpr int64_t kSmallPart = 1 << 10;

struct GroupDraft {
  GroupKind kind = GroupKind::kLight;
  int64_t space = 0;  // elements of the largest tensor
  int64_t rows = 0;   // that its reductions keep; 0: none reduces
  bool exponentiates = false, sums = false, joins = false;
  int32_t forward = -1;       // of kAttentionBackward: the group whose tensors it computes again
  std::vector<uint32_t> ops;  // in the order in which they joined
  uint32_t first = ~0u, last = 0;
};

class GroupDrafts {
 public:
  GroupDrafts(const Graph& graph, const RuleSet& rules);

  const Graph& graph() const { return graph_; }
  const UseTable& uses() const { return uses_; }
  std::vector<GroupDraft>& groups() { return groups_; }
  GroupDraft& at(int32_t group) { return groups_[group]; }
  const GroupDraft& at(int32_t group) const { return groups_[group]; }
  const OpTraits& traits(uint32_t op) const { return traits_[op]; }
  int32_t group(uint32_t op) const { return group_of_[op]; }
  // Runs no kernel: a view, or an absorbed move.
  bool is_free(uint32_t op) const { return free_[op]; }
  bool is_kept(TensorId tensor) const { return kept_[tensor.index()]; }  // an output, or a state's next value
  int64_t count(TensorId tensor) const { return graph_.tensor(tensor).type.num_elements(); }
  double& flop_factor(uint32_t op) { return flop_factor_[op]; }

  int32_t New(uint32_t op, GroupKind kind);
  void Put(uint32_t op, int32_t group);
  void TakeOut(uint32_t op);
  // Would the op, or one that it depends on, depend on the group through ops outside it? Also true where that would
  // take too long to say.
  bool ReentersGroup(uint32_t op, int32_t group);
  // Would both as one kernel depend on it through ops outside it? As above.
  bool ReentersBoth(int32_t group, int32_t other);
  // What `from` has belongs to `into`, which must not be it; `from` is left without ops.
  void Merge(int32_t into, int32_t from);
  // The largest of the op's tensors.
  int64_t SpaceOf(uint32_t op) const;
  int64_t runs(uint32_t op) const { return runs_.of(OpId(op)); }
  Phase phase(uint32_t op) const { return PhaseOf(graph_, graph_.ops[op]); }

 private:
  void FindFree();
  bool DependsOnGroups(const std::vector<uint32_t>& ops, int32_t group, int32_t other);

  const Graph& graph_;
  UseTable uses_;
  StepRuns runs_;
  std::vector<OpTraits> traits_;
  std::vector<bool> kept_, free_;
  std::vector<int32_t> group_of_;
  std::vector<double> flop_factor_;
  std::vector<GroupDraft> groups_;
  std::vector<uint32_t> op_seen_, group_seen_;  // in which look back
  uint32_t look_ = 0;
};

}  // namespace sbp
