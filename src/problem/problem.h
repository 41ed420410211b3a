// Problem: what strategies see. Nodes with candidates, tensors with types and users, prices on demand; no rules files,
// no clocks, no command line.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "boxing/boxing.h"
#include "cluster/cluster.h"
#include "fusion/kernel_groups.h"
#include "graph/graph.h"
#include "graph/kernel_groups.h"
#include "graph/sections.h"
#include "graph/tensor_type.h"
#include "naming/module_names.h"
#include "plan/pins.h"
#include "plan/plan.h"
#include "problem/demands.h"
#include "rule/candidates.h"
#include "rule/in_place.h"
#include "rule/rule_set.h"
#include "sbp/layout_rows.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/signature.h"

namespace sbp {

// The distinct layouts of one operand or result over an op's candidates: a transition is priced once per entry, not
// once per candidate.
struct SlotLayouts {
  std::vector<NdSbp> layouts;          // in order of first appearance
  std::vector<uint32_t> of_candidate;  // per candidate: index into `layouts`
};

// The slots of one side of an op. Those that lie alike in every candidate share an entry.
class SlotList {
 public:
  SlotList() = default;
  SlotList(std::vector<SlotLayouts> rows, LayoutRows::Table row_of)
      : rows_(std::move(rows)), row_of_(std::move(row_of)) {}
  size_t size() const { return row_of_ ? row_of_->size() : rows_.size(); }
  bool empty() const { return size() == 0; }
  const SlotLayouts& operator[](size_t slot) const { return rows_[row(slot)]; }
  size_t row(size_t slot) const { return row_of_ ? (*row_of_)[slot] : slot; }

 private:
  std::vector<SlotLayouts> rows_;
  LayoutRows::Table row_of_;  // none: a row per slot
};

// What ops of equal type, attributes, operand and result types, and values that their rule reads, have in common; where
// execution is fused, also alike in what their kernel groups spare them.
struct OpClass {
  OpId first;  // the first op of the class
  CandidateListRef list;
  SlotList operands, results;
  std::vector<InPlacePair> in_place;
  uint32_t fusion = 0;                  // index into Fusion::kinds, where execution is fused
  mutable std::vector<double> seconds;  // cache of Problem::OnceSeconds; NaN: not yet priced
};

// Not thread-safe: prices are cached as they are asked for.
struct Problem {
  const Graph* graph = nullptr;  // resolved; outlives the problem
  Mesh mesh;
  bool even_only = false;  // splits into parts of different sizes are forbidden
  UseTable uses;
  StepRuns runs;      // how often a step runs ops and makes transitions
  ModuleNames names;  // how reports call parameters
  Pins pins;
  Demands demands;                       // of tensors, besides what their readers want
  std::vector<OpClass> classes;          // in order of first appearance
  std::vector<uint32_t> class_of;        // per op
  std::vector<int> batch_axis;           // per tensor: dimension, or -1 (absent)
  std::vector<bool> is_output;           // per tensor: of the graph
  std::shared_ptr<const Fusion> fusion;  // null: execution is eager
  std::shared_ptr<BoxingTable> boxing;
  std::vector<std::string> warnings;  // candidate lists that were cut

  size_t num_ops() const { return class_of.size(); }
  const OpClass& class_at(OpId op) const { return classes[class_of[op.index()]]; }
  const CandidateList& candidates(OpId op) const { return *class_at(op).list; }
  // The operands for planning (Graph::OperandsOf), without copying.
  std::span<const TensorId> operands(OpId op) const;
  const TensorType& type(TensorId tensor) const { return graph->tensor(tensor).type; }
  // Seconds of a candidate on the busiest device (roofline): each time the op runs, and in a step.
  double OnceSeconds(OpId op, size_t candidate) const;
  double ComputeSeconds(OpId op, size_t candidate) const {
    return OnceSeconds(op, candidate) * static_cast<double>(runs.of(op));
  }
  // What an end of a tensor inside a kernel group adds, each time the op runs, where a plan cuts the group there
  // (boxing/op_seconds.h, CutSeconds); 0 elsewhere.
  double OnceCutSeconds(OpId op, size_t candidate, bool is_result, size_t slot) const;
  // Is the end inside a group?
  bool IsInside(OpId op, bool is_result, size_t slot) const;
  const OpFusion* FusionOf(const OpClass& op_class) const {
    return fusion == nullptr ? nullptr : &fusion->kinds[op_class.fusion];
  }

  std::unordered_map<OpId, std::vector<TensorId>> operands_with_captures;  // of ops that have captures
};

struct ProblemOptions {
  CandidateOptions candidates;
  bool strict = false;  // an op without a rule is an error
  OutputPolicy outputs = OutputPolicy::kSharded;
  // Signatures that ops must be able to take (nullptr: none): where a list was cut they are added to it. May be empty.
  std::function<const Signature*(OpId)> given;
};

// Instantiates every op's rule (once per distinct op), makes candidates, propagates batch axes: data inputs have axis
// 0, what derives from parameters only has none. Where an op's list is too long and was cut (a warning says so), an op
// with pins has a list of its own, of the candidates that agree with them. On a mesh of one device, where all layouts
// hold the same, each list begins with the documented signature: everything S(0), rank-0 tensors B. Error (kBadInput):
// an op's arguments fit no overload, in strict mode an op without a rule. Error (kNoPlan): a tensor is pinned to a
// layout that its shape cannot have, or an output to a partial one that the policy forbids.
Result<Problem> BuildProblem(const Graph& graph, const RuleSet& rules, const Mesh& mesh, const Cluster& cluster,
                             Pins pins, const ProblemOptions& options = {});

// S(0) on every axis, B for tensors that have no dimension 0 to split: how tensors lie on a mesh of one device.
NdSbp OneDeviceLayout(const TensorType& type, const Mesh& mesh);

// The same problem with other pins in the place of its own; candidates keep their numbers, prices are shared. Errors as
// BuildProblem has of pins.
Result<Problem> WithPins(const Problem& problem, Pins pins, OutputPolicy outputs);

// Fills the class's slots and cache from its list.
void IndexLayouts(OpClass& op_class);

// Does some pin restrict this op's candidates?
bool IsPinned(const Problem& problem, OpId op);

// Does the op write a tensor whose readers start from another layout (Demands::standing)?
bool WritesStanding(const Problem& problem, OpId op);

// The layouts that its pins ask for, as a filter of candidates.
LayoutFilter PinnedLayouts(const Problem& problem, OpId op);

// Indices of the candidates of `op` that agree with its pins, in registration order. Error (kNoPlan): none does; lists
// the op's signatures.
Result<std::vector<uint32_t>> AllowedCandidates(const Problem& problem, OpId op);

// The candidate of exactly this signature. Error (kNoPlan): there is none; lists the op's signatures. `asked` says who
// wants it, for the message.
Result<uint32_t> FindCandidate(const Problem& problem, OpId op, const Signature& signature, std::string_view asked);

// The canonical text: one line a class with its candidates, one line an op. Stable; for tests and --dump-dir.
std::string Dump(const Problem& problem);

}  // namespace sbp
