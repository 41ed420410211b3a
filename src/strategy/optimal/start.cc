#include "strategy/optimal/start.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "graph/graph.h"
#include "problem/problem.h"
#include "sbp/layout_rows.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"
#include "sbp/signature.h"

namespace sbp {
namespace {

size_t InCommon(const std::vector<NdSbp>& a, const std::vector<NdSbp>& b) {
  size_t count = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) count += a[i] == b[i];
  return count;
}

}  // namespace

Result<Assignment> AssignmentNearStart(const Problem& problem, const StrategyOptions& options,
                                       const Assignment& otherwise) {
  Assignment assignment = otherwise;
  // Of ops without pins, by class: what was found for the signatures asked so far.
  std::vector<std::vector<std::pair<const Signature*, uint32_t>>> known(problem.classes.size());
  for (size_t o = 0; o < problem.num_ops(); ++o) {
    const std::optional<Signature>& before = options.start_signatures[o];
    if (!before) continue;
    const bool pinned = IsPinned(problem, OpId(o));
    auto& of_class = known[problem.class_of[o]];
    const auto found = std::ranges::find_if(of_class, [&](const auto& entry) { return *entry.first == *before; });
    if (!pinned && found != of_class.end()) {
      assignment.ops[o].candidate = found->second;
      continue;
    }
    SBP_ASSIGN_OR_RETURN(const std::vector<uint32_t> allowed, AllowedCandidates(problem, OpId(o)));
    const auto likeness = [&](uint32_t candidate) {
      const CandidateSignature& signature = problem.candidates(OpId(o)).candidates[candidate].signature;
      return InCommon(signature.inputs, before->inputs) + InCommon(signature.outputs, before->outputs);
    };
    assignment.ops[o].candidate = *std::max_element(allowed.begin(), allowed.end(),
                                                    [&](uint32_t a, uint32_t b) { return likeness(a) < likeness(b); });
    if (!pinned) of_class.emplace_back(&*before, assignment.ops[o].candidate);
  }
  for (size_t t = 0; t < options.start_sources.size(); ++t) {
    const Tensor& tensor = problem.graph->tensors[t];
    const std::optional<NdSbp>& before = options.start_sources[t];
    if (!before || tensor.producer.valid() || problem.pins.tensors.contains(TensorId(t))) continue;
    if (ValidateLayout(tensor.type.shape, *before, problem.mesh, problem.even_only).ok())
      assignment.sources[t] = *before;
  }
  return assignment;
}

}  // namespace sbp
