// Plan: the answer. Graph + mesh + assignment + boxing + costs + reasons. Plain data; io/ reads and writes it, check/
// re-derives it, render/ and report/ show it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "boxing/boxing.h"
#include "cluster/cluster.h"
#include "cost/cost.h"
#include "graph/graph.h"
#include "graph/kernel_groups.h"
#include "plan/physical_plan.h"
#include "plan/pins.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/signature.h"

namespace sbp {

// What was decided for an op, shared by equal ops (same type, attributes, operand types and choice).
struct DecisionRecord {
  Signature signature;
  double compute_seconds = 0;            // of one op, on the busiest device
  std::string choice;                    // "splits factor m over data; splits factor n over model"
  std::string reason;                    // why this candidate won, by the strategy's own terms
  std::optional<Signature> alternative;  // the best one not chosen
  double price = 0;                      // the strategy's own price of the winner and of the alternative, with its
  double alternative_price = 0;          // unit: "order value", "bytes", "seconds", "rank"
  std::string price_unit;
  uint32_t num_candidates = 0;
  double alone_seconds = 0;  // fused execution: compute_seconds if the op were a kernel of its own, launched as such
  friend bool operator==(const DecisionRecord& a, const DecisionRecord& b) = default;
};

// One transition of one tensor, paid once however many consumers share it. Paths that start alike are shared: `source`
// is the layout the path starts from, which may be the `to` of an earlier transition of the tensor.
struct Transition {
  TensorId tensor;
  NdSbp from, to;
  std::vector<BoxingStep> steps;
  std::vector<Use> consumers;  // op and operand that read `to`
  double seconds = 0;
  double wire_bytes = 0;
  std::string reason;  // "MatMul \"fc2\" reduces k over model: partial sum needed whole by Add ..."
  // Of kernels, each time it runs: where the tensor is inside a kernel group, the group is cut here, and what it spared
  // (boxing/op_seconds.h, CutSeconds) is paid. Compute, not in `seconds`.
  double cut_seconds = 0;
  // The op in front of which it runs, where that is earlier than in front of the first that reads what it makes, so
  // that it is sent while what lies between is computed (memory/prefetch.h). Invalid: there.
  OpId ahead_of = {};
};

struct MemoryHolder {
  std::string name;   // tensor, or "boxing of T for OP"
  std::string kind;   // "parameter", "input", "activation", "boxing"
  int64_t bytes = 0;  // per device
};
struct MemorySummary {
  int64_t peak_bytes = 0;             // of the fullest device: the sum of the next three and of workspace_bytes
  int64_t parameter_bytes = 0;        // at the peak
  int64_t activation_bytes = 0;       // at the peak, inputs included
  int64_t boxing_bytes = 0;           // at the peak
  OpId peak_op;                       // the op during which the peak is reached
  std::vector<MemoryHolder> holders;  // the largest at the peak, at most 10
  // Of the op whose kernels take most besides operands and results, as the cluster's samples tell: devices keep it for
  // the whole step. 0 where they tell nothing.
  int64_t workspace_bytes = 0;
};

// Result `result` of `op` is written where its operand `operand` lies: in the buffer that the op reads there, which
// nobody reads afterwards, or, where a tie makes the result the next value of that input or parameter, in the latter's.
struct InPlaceWrite {
  OpId op;
  uint32_t result = 0, operand = 0;
  friend bool operator==(const InPlaceWrite&, const InPlaceWrite&) = default;
};

struct ReplicatedTensor {
  TensorId tensor;
  std::string reason;
};

struct LayoutConflict {  // of einsum: a merge that overrode a layout
  std::string where;     // op and tensor
  std::string given, used;
  std::string reason;
};

// The flags that influence a plan, as given. Never -o, --format, --threads, --log.
struct PlanOptions {
  std::string strategy = "greedy";
  std::string criterion = "bytes";                        // --cost
  std::vector<std::string> pins;                          // as written, flags first, then files, then the graph's own
  std::vector<std::pair<std::string, std::string>> ties;  // output, input
  bool ties_by_name = true;
  OutputPolicy outputs = OutputPolicy::kSharded;  // --outputs
  bool even_only = false;
  bool simplify = true;  // of the model's graph, while reading it (simplify/simplify.h)
  // Flags of `infer --train`, name and value, as grad/request.h writes them; empty: the model's own graph is planned.
  std::vector<std::pair<std::string, std::string>> train;
  bool strict = false;
  std::optional<int64_t> memory_limit;  // bytes per device
  std::optional<int64_t> prefetch;  // bytes per device that boxing ahead may add to the peak; none: what memory leaves
  // --uniform: layers are laid out alike unless a mix takes less by more than this share; below 0: off; none: the
  // strategy asks no such thing.
  std::optional<double> uniform;
  bool reorders = false;  // --op-order shortest: `graph` may have its ops in another order than the model
  std::vector<std::pair<std::string, std::string>> rule_files;  // name, text
};

struct Plan {
  std::string version;     // of the program that made it
  std::string model_path;  // as given
  std::string model_fingerprint;
  Graph graph;  // resolved
  Mesh mesh;
  Cluster cluster;
  PlanOptions options;

  KernelGroups kernels;  // found before layouts; empty: eager execution

  std::vector<DecisionRecord> records;
  std::vector<uint32_t> op_records;     // per op
  std::vector<NdSbp> source_layouts;    // per tensor: inputs and parameters as they start; others: what was written
  std::vector<Transition> transitions;  // in the order in which a step wants them
  std::vector<NdSbp> output_layouts;    // per output of the graph: how it ends, for the caller
  std::vector<InPlaceWrite> in_place;   // by op, then result; others have memory of their own
  Cost total;
  MemorySummary memory;
  double lower_bound_seconds = 0;  // only when has_bound
  bool has_bound = false;
  std::optional<double> schedule_bound_seconds;  // no plan's schedule (schedule/schedule.h) is shorter; none: not known
  // The share of its step that the plan may take more than the best one found, as repeated layers are laid out alike or
  // in fewer kinds; none: no such plan was preferred.
  std::optional<double> uniformity_cost;
  bool cut_short = false;                    // effort or time ended the search: more may close the gap. Not in files
  std::vector<ReplicatedTensor> replicated;  // for lack of a legal split
  std::vector<LayoutConflict> conflicts;
  std::vector<std::string> warnings;
  std::vector<PinMatch> pin_matches;     // of options.pins, in their order; `where` is not kept in files
  std::optional<PhysicalPlan> physical;  // on request

  const DecisionRecord& decision(OpId op) const { return records[op_records[op.index()]]; }
};

std::string Dump(const Plan& plan);

}  // namespace sbp
