// Kernel groups: sets of ops that run as one kernel, as plain data. fusion/ finds them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace sbp {

enum class GroupKind : uint8_t {
  kLight,              // element-wise ops, moves and reductions over rows
  kEpilogue,           // a contraction and light ops behind it
  kAttention,          // scores, softmax and context: no scores in memory
  kAttentionBackward,  // the derivatives of that, scores computed again
};
std::string_view GroupKindName(GroupKind kind);  // "light", "epilogue", "attention", "attention backward"

struct KernelGroup {
  GroupKind kind = GroupKind::kLight;
  std::vector<OpId> ops;  // ascending; two or more
  friend bool operator==(const KernelGroup&, const KernelGroup&) = default;
};

struct KernelGroups {
  std::vector<KernelGroup> groups;  // by their first ops
  std::vector<int32_t> of_op;       // per op: index into groups; -1: a kernel of its own, or none
  // Per tensor: read by ops of its producer's group only (for attention, of its backward's, too), or by kernels that
  // make it anew (graph/made_anew.h), so that it is never in memory unless a plan cuts the group there.
  std::vector<bool> inside;
  // Per op: runs no kernel (views, and moves that neighbours absorb), so that its result lies in its operand's memory.
  std::vector<bool> no_kernel;
  friend bool operator==(const KernelGroups&, const KernelGroups&) = default;

  bool empty() const { return of_op.empty(); }
  const KernelGroup* of(OpId op) const {
    return op.index() < of_op.size() && of_op[op.index()] >= 0 ? &groups[of_op[op.index()]] : nullptr;
  }
  bool is_inside(TensorId tensor) const { return tensor.index() < inside.size() && inside[tensor.index()]; }
  bool runs_no_kernel(OpId op) const { return op.index() < no_kernel.size() && no_kernel[op.index()]; }
};

// What running in a group spares one op.
struct OpFusion {
  enum class End : uint8_t {
    kOutside,   // in memory
    kInside,    // the other end is in the group
    kRepeated,  // an operand that an earlier op of the group reads from memory
  };
  std::vector<End> operands, results;  // per operand (captures included) and result
  bool no_kernel = false;              // a view, or a move that its neighbours absorb
  bool anchor = false;                 // no light op
  bool in_attention = false;           // its products run at the rate of attention kernels
  bool in_backward = false;            // ... of the backward pass
  bool in_masked = false;              // ... that read a mask
  bool launches = true;                // false: its group's first kernel op does
  // Per operand: it joins the op to a part of its kernel that nothing before joins to it: cut there, that part is a
  // kernel of its own and the op begins another. Empty: at none.
  std::vector<bool> joins;
  double flop_factor = 1;  // what it computes again beside its own
  friend bool operator==(const OpFusion&, const OpFusion&) = default;
};

}  // namespace sbp
