// What drawings and tables ask of a plan. A bare graph is a plan without records: every answer then is "unknown". Ids
// that are out of range (a plan file nobody checked) also read as unknown, so that rendering never crashes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "graph/sections.h"
#include "plan/plan.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {

bool IsBareGraph(const Plan& plan);

// The decision on an op, or nullptr.
const DecisionRecord* DecisionOf(const Plan& plan, uint32_t op);

// The layout in which an operand (`output` false) or a result stands in the op's signature, or nullptr.
const NdSbp* LayoutIn(const Plan& plan, uint32_t op, size_t position, bool output);

// The layout that the producer of a tensor writes (inputs and parameters: in which they start), or nullptr.
const NdSbp* SourceLayout(const Plan& plan, TensorId tensor);

// Which transition feeds a use, if any.
class TransitionIndex {
 public:
  explicit TransitionIndex(const Plan& plan);
  // Index into Plan::transitions, or -1.
  int32_t Feeding(uint32_t op, size_t operand) const;
  // Transitions of a tensor, in order.
  std::span<const uint32_t> Of(TensorId tensor) const;

 private:
  std::unordered_map<uint64_t, int32_t> by_use_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> by_tensor_;
};

// What a plan's parts cost in a whole step, in which each micro-batch runs most of them again.
class StepCosts {
 public:
  explicit StepCosts(const Plan& plan);
  int64_t runs_of_op(uint32_t op) const { return runs_.of(OpId(op)); }
  int64_t runs_of_transition(uint32_t transition) const { return transition_runs_[transition]; }
  // Seconds of all runs in a step; an op's own, without its collectives; 0 for ops without a decision.
  double OpSeconds(uint32_t op) const;
  double TransitionSeconds(uint32_t transition) const;
  // What kernel groups lose that a transition cuts: it counts as compute.
  double CutSeconds(uint32_t transition) const;
  // The op whose time a transition is: that which reads it first; where only the caller does, that which wrote it.
  // None for what is not of the graph.
  OpId ForWhom(uint32_t transition) const;

 private:
  const Plan& plan_;
  StepRuns runs_;
  std::vector<int64_t> transition_runs_;
};

// How far the work of an op is divided over the mesh.
enum class Sharing : uint8_t { kUnknown, kAllAxes, kSomeAxes, kReplicated };
Sharing SharingOf(const Plan& plan, uint32_t op);

// Equal for ops of equal type, attributes, operand and result types, decision, and transitions on the operands.
std::vector<uint64_t> HashOps(const Plan& plan);

// Nodes that a drawing has for each op: its collectives come with it.
std::vector<uint32_t> OpWeights(const Plan& plan);

// Text. ---------------------------------------------------------------------------------------------------------------
std::string FormatShape(const Shape& shape);               // "[8,1024]"
std::string NameTail(std::string_view name);               // after the last '/'
std::string Shorten(std::string_view text, size_t limit);  // "beginning..end"
// "[8,1024] → [4,1024]", or only the shape where the layout does not change it or is unknown.
std::string GlobalToLocal(const Plan& plan, TensorId tensor, const NdSbp* layout);
// "9 MatMul, 6 Add, 3 others": the commonest types first.
std::string CountTypes(const Plan& plan, std::span<const uint32_t> ops, size_t limit);
// One line for one plan: "data=2,model=4 · greedy (bytes) · 8xH100", and "step 3.1 ms · sum of prices 3.3 ms = ...".
std::string PlanHeadline(const Plan& plan);
// The model's name, the headline with the number of ops, and the costs of a plan.
// `step`: RenderOptions::step_seconds.
std::vector<std::string> TitleOf(const Plan& plan, std::optional<double> step = std::nullopt);
std::string PlanCosts(const Plan& plan, std::optional<double> step);
// A plan's warnings, and tensors that every device holds whole for lack of a legal split.
std::vector<std::string> WarningsOf(const Plan& plan);
// "does not fit: 90.0 GB more than a device has"; "" where they do, or where it is not known.
std::string DoesNotFit(int64_t peak_bytes, int64_t device_bytes);
// "4 × 58.3 us"; "58.3 us" of what runs once or takes no time.
std::string FormatRuns(int64_t runs, double seconds);

}  // namespace sbp
