// Explain: everything that is known about one op or one tensor of a plan, recomputed from the plan and the rules, as
// structured facts; then as text or JSON. Decides nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "sbp/layout_rows.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"
#include "sbp/signature.h"
#include "strategy/optimal/what_if.h"
#include "strategy/strategy.h"

namespace sbp {

// A candidate's price by one criterion (a row of AllCriteria); the terms add up to it.
struct ExplainedPrice {
  std::string criterion, unit;
  double price = 0;
  std::vector<PriceTerm> terms;
};

struct ExplainedCandidate {
  CandidateSignature signature;
  std::string choice;  // what it does on each mesh axis
  bool chosen = false;
  bool allowed = true;  // by the pins
  // One per criterion, given what the producers wrote; in lists of very many terms of the chosen one only.
  std::vector<ExplainedPrice> prices;
  // With every other op as the plan has it: seconds of a step (as often as it runs them) of the op, of all boxing of
  // its operands and of its results (what other consumers need of them included), and how much more than the chosen
  // candidate that is.
  double compute_seconds = 0;  // with what it takes to cut kernel groups around the op
  double boxing_seconds = 0;
  double extra_seconds = 0;
  // Plans of `optimal`: how much more the sum of prices is with this candidate forced and
  // everything else chosen anew (strategy/optimal/what_if.h). Equal where proved; infinite where there is no such plan,
  // or none was found; below zero where the plan is not the least by that sum, as one that was chosen for its schedule.
  // The alternatives that look best are searched one by one, the others bounded together.
  std::optional<ForcedStep> forced;
};

// A neighbour through one tensor: who wrote an operand, or who reads a result, and in which layouts.
struct ExplainedNeighbour {
  std::string slot;  // "operand a", "result y"
  std::string tensor;
  std::string label;  // the tensor for people: its name and the module beside it
  std::string other;  // 'MatMul "fc1"', "input", "parameter", "output of the graph"
  NdSbp written, used;
  int rank = 0;  // of the tensor
};

// A collective that exists because of this op: it brings one of its operands, or carries one of its results away.
struct ExplainedCollective {
  uint32_t transition = 0;    // index into Plan::transitions
  std::string tensor, label;  // label: as in ExplainedNeighbour
  NdSbp from, to;
  int rank = 0;                    // of the tensor
  std::vector<std::string> steps;  // "all-reduce over model"
  double seconds = 0, wire_bytes = 0;
  // Of `seconds`, those in which nothing is computed (schedule/schedule.h). None where nothing moves between devices.
  std::optional<double> exposed_seconds;
  std::string reason;
};

struct ExplainedOp {
  std::string name, type, rule;     // rule: the canonical text of its instance
  std::string reason;               // why the winner won, as the plan records it
  std::string strategy, criterion;  // criterion: greedy's
  std::string kernel;               // which kernel it runs in (explain/kernel.h)
  std::vector<std::string> pins;    // that concern it, as written
  std::vector<ExplainedNeighbour> neighbours;
  std::vector<int> operand_ranks, result_ranks;  // of the tensors of each signature
  std::vector<ExplainedCandidate> candidates;    // in registration order
  std::vector<ExplainedCollective> collectives;
  std::string again = {};  // the op that it runs again for the backward pass (graph/again.h); "": it does not
};

struct ExplainedSlice {
  int64_t rank = 0;
  std::vector<int64_t> coordinates;  // on the mesh
  std::vector<Range> ranges;         // per dimension
};

struct ExplainedLayout {
  NdSbp layout;
  int rank = 0;                        // of the tensor
  std::string how;                     // "as written by ...", "after all-gather over model, for ..."
  std::vector<ExplainedSlice> slices;  // of the first kMaxExplainedRanks positions of the mesh
};

struct ExplainedTensor {
  std::string name, type, role;
  std::string module;  // "layers.0/mlp/fc1:weight"; "" where it has no such name
  std::vector<std::string> pins;
  std::vector<std::string> patterns;  // of a parameter that the step updates, per mesh axis: "data: ZeRO-3: ..."
  std::vector<ExplainedNeighbour> neighbours;
  std::vector<ExplainedLayout> layouts;  // as written first, then each boxed one
  std::vector<ExplainedCollective> collectives;
  int64_t num_devices = 0;
};

inline constexpr int64_t kMaxExplainedRanks = 1024;

// What of an op is asked: all, or what needs only its neighbours.
struct ExplainParts {
  bool around = true;  // neighbours and collectives: linear in the plan
  bool forced = true;  // what forcing an alternative costs the step: searches
};
Result<ExplainedOp> ExplainOp(const Problem& problem, const Plan& plan, OpId op, const ExplainParts& parts = {});

// How much is searched for several ops at once.
struct ForcedAmong {
  size_t candidates = 0;  // of each op, those that look best with all others as they are
  double effort = 0;      // of the search for one (search/solve.h)
  size_t work = 0;  // searches times ops and operands of the graph: beyond that, ops that stand last are not asked
};
// Sets `forced` of the candidates that look best of several ops; explained[i] is ExplainOp's answer for ops[i]. Plans
// of strategies without a bound, and graphs that are too large for one network, stay as they are.
Status AddForced(const Problem& problem, const Plan& plan, std::span<const OpId> ops,
                 std::span<ExplainedOp* const> explained, const ForcedAmong& among);
Result<ExplainedTensor> ExplainTensor(const Problem& problem, const Plan& plan, TensorId tensor);

struct ExplainFormat {
  Notation notation = Notation::kSbp;
  size_t max_candidates = 10;  // in text: the chosen one and the cheapest others
  bool all = false;            // in text: all candidates, with every criterion's terms; all ranks; the rule
};
// The answer first, on at most 15 lines: what was chosen, why, what comes next and what that would cost the step, and
// which collectives the choice causes. Then the neighbours and the candidates by price: what forcing one costs the step
// where that is known, else greedy's own price, else what it costs with all others as they are.
std::string FormatExplained(const ExplainedOp& op, const Mesh& mesh, const ExplainFormat& format = {});
// Positions of the op's candidates in that order: the chosen one, then by price, those that pins exclude last.
std::vector<size_t> CandidatesByPrice(const ExplainedOp& op);
// "(S(0), B), (B, B) -> (S(0), B)"; of very many operands runs of equal layouts are one: "3 x (S(0), B)".
std::string SignatureText(const Signature& signature, const ExplainedOp& op, const ExplainFormat& format);
std::string FormatExplained(const ExplainedTensor& tensor, const Mesh& mesh, const ExplainFormat& format = {});
std::string ExplainedJson(const ExplainedOp& op, const ExplainFormat& format);
std::string ExplainedJson(const ExplainedTensor& tensor, const ExplainFormat& format);

// `explain PLAN NAME`: an op, else a tensor, else what a scope and role or a scope stands for, as text or JSON.
// `problem` is the plan's own, built again (pipeline.h, RebuildProblem). Error (kBadInput): neither, with the nearest
// names.
Result<std::string> Explain(const Problem& problem, const Plan& plan, std::string_view name, bool json,
                            const ExplainFormat& format = {});

}  // namespace sbp
