#include "fold/control.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "fold/assumed.h"
#include "fold/control_loop.h"
#include "fold/control_sequence.h"
#include "fold/pass_state.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"

namespace sbp {
namespace {

// Sizes that hold either result. Results of different rank: the one that the model states, else the larger one.
TensorType SizesOfEither(const TensorType& a, const TensorType& b, const TensorType& stated) {
  if (a == b) return a;
  if (a.rank() != b.rank()) {
    if (stated.has_rank && stated.rank() == a.rank()) return a;
    if (stated.has_rank && stated.rank() == b.rank()) return b;
    return a.num_elements() >= b.num_elements() ? a : b;
  }
  TensorType joined = a;
  const bool says = stated.has_rank && stated.rank() == a.rank();
  for (size_t d = 0; d < joined.shape.size(); ++d) {
    const int64_t bound = std::max(a.shape[d], b.shape[d]);
    const bool within = says && a.shape[d] != b.shape[d] && stated.shape[d] != kUnknownDim && stated.shape[d] < bound;
    joined.shape[d] = within ? stated.shape[d] : bound;
  }
  return joined;
}

Result<ControlResults> ResolveIf(PassState& pass, Op& op) {
  SBP_ASSIGN_OR_RETURN(const Subgraphs subgraphs, SubgraphsOf(pass, op));
  if (subgraphs.graphs.size() != 2 || subgraphs.formal != 0)
    return BadInput(StrCat(PlaceOf(pass, op), ": needs two branches without inputs"));
  std::vector<Body> bodies;
  std::vector<bool> good;
  Status failure;
  for (size_t i = 0; i < 2; ++i) {
    if (subgraphs.graphs[i]->outputs.size() < op.outputs.size())
      return BadInput(StrCat(PlaceOf(pass, op), ": a branch lacks results"));
    Result<Body> body = ResolveBody(pass, op, subgraphs, i, {}, {});
    good.push_back(body.ok());
    if (!body.ok()) failure = body.status();
    bodies.push_back(body.ok() ? std::move(*body) : Body());
  }
  if (!good[0] && !good[1]) return failure;
  if (!good[0] || !good[1]) {
    // A branch whose shapes cannot be is never taken: exporters guard by conditions that only running decides.
    const size_t taken = good[0] ? 0 : 1;
    WarnKeptWhole(pass, op,
                  StrCat("its condition is not known, and only ", subgraphs.names[taken], " has shapes that fit (",
                         failure.message(), ")"));
    bodies[1 - taken].results = bodies[taken].results;
    bodies[1 - taken].assumed = bodies[taken].assumed;
    bodies[1 - taken].graph = bodies[taken].graph;
    bodies[1 - taken].captures = bodies[taken].captures;
  } else {
    WarnKeptWhole(pass, op, "its condition is not known before it runs");
  }
  ControlResults results{std::vector<TensorType>(op.outputs.size()), std::vector<AssumedFlags>(op.outputs.size())};
  for (size_t r = 0; r < op.outputs.size(); ++r) {
    if (!op.outputs[r].valid()) continue;
    const TensorType &a = bodies[0].results[r], &b = bodies[1].results[r];
    results.types[r] = SizesOfEither(a, b, pass.Stated(op.outputs[r]));
    results.assumed[r] = Differences(a, b);
    for (const Body& body : bodies) Merge(results.assumed[r], body.assumed[r]);
    results.assumed[r].resize(results.types[r].shape.size());
  }
  ReplaceBodies(pass, op, subgraphs, std::move(bodies), 1);
  return results;
}

// Any other op with subgraphs: only the file can say what it gives.
Result<ControlResults> TakeStated(PassState& pass, Op& op) {
  std::vector<TensorType> types(op.outputs.size());
  for (size_t r = 0; r < types.size(); ++r) {
    if (!op.outputs[r].valid()) continue;
    types[r] = pass.Stated(op.outputs[r]);
    if (!types[r].is_static()) {
      return BadInput(StrCat(PlaceOf(pass, op), ": the model does not state the shape of its result ",
                             Quote(pass.graph().tensor(op.outputs[r]).name)));
    }
  }
  WarnKeptWhole(pass, op, "its results are taken as the model states them");
  return ControlResults{std::move(types), std::vector<AssumedFlags>(op.outputs.size())};
}

struct Row {
  std::string_view op;
  Result<ControlResults> (*resolve)(PassState& pass, Op& op);
};
constexpr Row kControlOps[] = {
    {"If", ResolveIf}, {"Loop", ResolveLoop}, {"Scan", ResolveScan}, {"SequenceMap", ResolveSequenceMap}};

}  // namespace

Result<std::optional<KnownBranch>> FindKnownBranch(PassState& pass, const Op& op) {
  if (op.inputs.empty() || !op.inputs[0].valid()) return BadInput(StrCat(PlaceOf(pass, op), ": needs a condition"));
  const LiteralRef condition = pass.values().known_value(op.inputs[0]);
  if (condition == nullptr || condition->ints.size() != 1) return std::optional<KnownBranch>();
  pass.UseValue(op.inputs[0]);
  SBP_ASSIGN_OR_RETURN(const Subgraphs subgraphs, SubgraphsOf(pass, op));
  const std::string_view name = condition->ints[0] != 0 ? "then_branch" : "else_branch";
  const auto found = std::ranges::find(subgraphs.names, name);
  if (found == subgraphs.names.end() || subgraphs.formal != 0)
    return BadInput(StrCat(PlaceOf(pass, op), ": needs ", name));
  const auto index = static_cast<size_t>(found - subgraphs.names.begin());
  if (subgraphs.graphs[index]->outputs.size() < op.outputs.size())
    return BadInput(StrCat(PlaceOf(pass, op), ": ", name, " lacks results"));
  return std::optional(KnownBranch{subgraphs.graphs[index], subgraphs.first_capture[index]});
}

Result<ControlResults> ResolveControl(PassState& pass, Op& op) {
  for (const Row& row : kControlOps) {
    if (row.op == pass.graph().type_of(op)) return row.resolve(pass, op);
  }
  return TakeStated(pass, op);
}

}  // namespace sbp
