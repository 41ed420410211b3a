// fixed: an assignment that somebody else made (another plan, or pins that cover every op), checked for legality and
// priced by the common evaluator.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/graph.h"
#include "problem/problem.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"
#include "sbp/signature.h"
#include "strategy/all_strategies.h"
#include "strategy/strategy.h"
#include "strategy/walk.h"

namespace sbp {
namespace {

constexpr size_t kNamedOps = 8;  // in the error about ops without a signature

// The signature given for an op: by the options, else by a signature pin; nullptr: none.
const Signature* GivenSignature(const Problem& problem, const StrategyOptions& options, OpId op) {
  if (!options.given_signatures.empty()) return &options.given_signatures[op.index()];
  const auto pin = problem.pins.signatures.find(op);
  return pin == problem.pins.signatures.end() ? nullptr : &pin->second.signature;
}

Status CheckCovers(const Problem& problem, const StrategyOptions& options) {
  if (!options.given_signatures.empty() && options.given_signatures.size() != problem.num_ops()) {
    return BadInput(StrCat("the assignment has ", options.given_signatures.size(), " signatures, the graph ",
                           problem.num_ops(), " ops"));
  }
  std::vector<std::string> without;
  size_t count = 0;
  for (size_t o = 0; o < problem.num_ops(); ++o) {
    if (GivenSignature(problem, options, OpId(o)) != nullptr) continue;
    if (++count <= kNamedOps) without.push_back(Quote(problem.graph->ops[o].name));
  }
  if (count == 0) return OkStatus();
  return BadInput(StrCat("strategy fixed needs a signature for every op (--assignment); ", count,
                         " have none: ", Join(without, ", "), count > kNamedOps ? ", ..." : ""));
}

Status CheckAgreesWithPins(const Problem& problem, OpId op, uint32_t candidate) {
  SBP_ASSIGN_OR_RETURN(const std::vector<uint32_t> allowed, AllowedCandidates(problem, op));
  if (std::binary_search(allowed.begin(), allowed.end(), candidate)) return OkStatus();
  return NoPlan(StrCat("op ", Quote(problem.graph->op(op).name), ": the given signature ",
                       ToString(problem.candidates(op).candidates[candidate].signature),
                       " contradicts its pins, which allow ",
                       ToString(problem.candidates(op).candidates[allowed[0]].signature)));
}

// Starting layouts: pins, then the given ones, then the defaults.
Result<std::vector<NdSbp>> StartingLayouts(const Problem& problem, const StrategyOptions& options) {
  std::vector<NdSbp> layouts = InitialSourceLayouts(problem);
  if (options.given_sources.size() != layouts.size()) return layouts;
  for (size_t t = 0; t < layouts.size(); ++t) {
    const Tensor& tensor = problem.graph->tensors[t];
    if (tensor.producer.valid() || problem.pins.tensors.count(TensorId(t)) > 0) continue;
    const NdSbp& given = options.given_sources[t];
    Status possible =
        given.size() == problem.mesh.num_axes()
            ? ValidateLayout(tensor.type.shape, given, problem.mesh, problem.even_only)
            : BadInput(StrCat("it names ", given.size(), " mesh axes, the mesh has ", problem.mesh.num_axes()));
    if (!possible.ok()) {
      return NoPlan(StrCat("the given assignment: tensor ", Quote(tensor.name), " cannot start as ", ToString(given),
                           ": ", possible.message()));
    }
    layouts[t] = given;
  }
  return layouts;
}

constexpr std::string_view kFixedUnit = "none";
constexpr StrategyOption kFixedOptions[] = {{.name = "assignment",
                                             .kind = OptionKind::kAssignment,
                                             .value_name = "FILE",
                                             .doc = "a plan, or a pins file that covers every op",
                                             .required = true}};

Result<Assignment> SolveFixed(const Problem& problem, const StrategyOptions& options) {
  SBP_RETURN_IF_ERROR(CheckCovers(problem, options));
  Assignment assignment;
  SBP_ASSIGN_OR_RETURN(assignment.sources, StartingLayouts(problem, options));
  assignment.reasons.push_back("as the given assignment says");
  assignment.price_unit = kFixedUnit;
  assignment.ops.reserve(problem.num_ops());
  for (size_t o = 0; o < problem.num_ops(); ++o) {
    const Signature& given = *GivenSignature(problem, options, OpId(o));
    SBP_ASSIGN_OR_RETURN(const uint32_t candidate, FindCandidate(problem, OpId(o), given, "the given assignment"));
    if (IsPinned(problem, OpId(o))) SBP_RETURN_IF_ERROR(CheckAgreesWithPins(problem, OpId(o), candidate));
    assignment.ops.push_back({.candidate = candidate});
  }
  return assignment;
}

}  // namespace

StrategyRow FixedStrategy() {
  return {.name = "fixed",
          .doc = "an assignment given with --assignment, priced again",
          .options = kFixedOptions,
          .unit = kFixedUnit,
          .has_bound = false,
          .solve = SolveFixed};
}

}  // namespace sbp
