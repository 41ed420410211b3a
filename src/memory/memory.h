// Memory of one device over a step: tensor lifetimes in execution order, boxing buffers included.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "graph/tensor_type.h"
#include "plan/plan.h"
#include "rule/in_place.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"

namespace sbp {

// Bytes of the largest local part.
int64_t LocalBytes(const TensorType& type, const NdSbp& sbp, const Mesh& mesh);

// When things happen in a step: each op has a position, and each boxing step one of its own, before the op that reads
// its result first (at the end, where none does), or earlier: before Transition::ahead_of. A transition that no op
// reads runs with the first one that starts from it.
struct StepOrder {
  std::vector<uint32_t> ops;          // position of each op
  std::vector<uint32_t> transitions;  // position of each transition's first step; the others follow
  std::vector<OpId> op_at;            // per position: the op that runs or is prepared (the last op at the end)
  std::vector<uint32_t> in_order;     // transitions as they run
};
StepOrder OrderOfStep(const Plan& plan);

// A buffer and the interval of positions [first, last] in which it is alive.
struct Lifetime {
  int64_t bytes = 0;
  uint32_t first = 0, last = 0;
  TensorId tensor;
  int32_t transition = -1;          // index into Plan::transitions; -1: the tensor in its own layout
  const char* kind = "activation";  // "parameter", "input", "activation", "boxing"
};

// Every buffer of a step: parameters live throughout (also inputs and outputs: their owner keeps them); an activation
// from its producer to its last reader, op or boxing step; a boxed copy from the last step of its transition to its
// last reader; what is held (graph/held.h) until that op; what a step before the last one writes, until the next step
// has read it. Where an op writes in place (Plan::in_place), the buffer that it overwrites ends before the op; an input
// or parameter goes on, and the result takes nothing. In fused execution neither does what is inside a kernel group and
// not boxed, nor the result of an op without a kernel, whose operand lives as long. Reads graph, kernel groups,
// layouts, transitions and in-place writes of the plan only.
std::vector<Lifetime> Lifetimes(const Plan& plan, const StepOrder& order);

// What the step can write in place: per result the first operand of `pairs` (of an op) whose buffer the op is the last
// to use, of as many bytes and split alike; each buffer once. An input or parameter, and what the caller of the step
// sees in the end, are overwritten only by the result that a tie makes their next value, where that lies as they do.
// Elsewhere the pair must be element-wise. Reads what Lifetimes reads, without Plan::in_place.
using PairsOfOp = std::function<std::span<const InPlacePair>(OpId)>;
std::vector<InPlaceWrite> FindInPlace(const Plan& plan, const StepOrder& order, const PairsOfOp& pairs);
// Sets them in the plan, in place of those that it had; returns Lifetimes with them.
std::vector<Lifetime> WriteInPlace(Plan& plan, const StepOrder& order, const PairsOfOp& pairs);

// The first position at which these buffers take most together.
uint32_t PeakPosition(const StepOrder& order, const std::vector<Lifetime>& lifetimes);

// Per op the most bytes that these buffers take while it runs or is prepared; what is boxed at the end counts as the
// last op's. Saturates.
std::vector<int64_t> MostHeldByOp(const StepOrder& order, const std::vector<Lifetime>& lifetimes);

// The peak of these buffers and its largest holders, workspace not among them. Linear in buffers.
MemorySummary PeakMemory(const Plan& plan, const StepOrder& order, const std::vector<Lifetime>& lifetimes);

}  // namespace sbp
