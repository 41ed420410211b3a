#include "strategy/known_plan.h"

#include <unordered_map>

#include "base/ids.h"
#include "graph/graph.h"
#include "rule/candidates.h"

namespace sbp {
namespace {

NdSbp Refined(const NdSbp& coarse, const std::vector<int>& parts) {
  NdSbp fine(static_cast<int>(parts.size()));
  for (size_t axis = 0; axis < parts.size(); ++axis) fine[static_cast<int>(axis)] = coarse[parts[axis]];
  return fine;
}

std::vector<NdSbp> Refined(const std::vector<NdSbp>& coarse, const std::vector<int>& parts) {
  std::vector<NdSbp> fine;
  fine.reserve(coarse.size());
  for (const NdSbp& layout : coarse) fine.push_back(Refined(layout, parts));
  return fine;
}

}  // namespace

KnownPlan KnownPlanOf(const Problem& problem, const Assignment& assignment, double seconds) {
  KnownPlan known{.mesh = problem.mesh, .sources = assignment.sources, .seconds = seconds};
  std::unordered_map<uint64_t, uint32_t> numbers;  // by class and candidate
  for (size_t o = 0; o < problem.num_ops(); ++o) {
    const uint32_t candidate = assignment.ops[o].candidate;
    const uint64_t key = uint64_t{problem.class_of[o]} << 32 | candidate;
    const auto [entry, is_new] = numbers.try_emplace(key, static_cast<uint32_t>(known.signatures.size()));
    if (is_new) known.signatures.push_back(problem.candidates(OpId(o)).candidates[candidate].signature);
    known.of_op.push_back(entry->second);
  }
  return known;
}

KnownPlan KnownPlanOf(const Plan& plan) {
  KnownPlan known{
      .mesh = plan.mesh, .of_op = plan.op_records, .sources = plan.source_layouts, .seconds = plan.total.seconds()};
  for (const DecisionRecord& record : plan.records) known.signatures.push_back(record.signature);
  return known;
}

std::optional<std::vector<int>> PartsOfAxes(const Mesh& coarse, const Mesh& fine) {
  std::vector<int> parts;
  int axis = 0;
  int64_t product = 1;
  for (int i = 0; i < fine.num_axes(); ++i) {
    if (axis == coarse.num_axes()) {
      if (axis == 0 || fine.size(i) > 1) return std::nullopt;
      parts.push_back(axis - 1);
      continue;
    }
    product *= fine.size(i);
    parts.push_back(axis);
    if (product > coarse.size(axis)) return std::nullopt;
    if (product == coarse.size(axis)) {
      ++axis;
      product = 1;
    }
  }
  if (axis != coarse.num_axes()) return std::nullopt;
  return parts;
}

void BeginFrom(const KnownPlan& coarse, const Mesh& fine, StrategyOptions& options) {
  const std::vector<int> parts = *PartsOfAxes(coarse.mesh, fine);
  std::vector<Signature> refined;
  refined.reserve(coarse.signatures.size());
  for (const Signature& signature : coarse.signatures) {
    refined.push_back({Refined(signature.inputs, parts), Refined(signature.outputs, parts)});
  }
  options.start_signatures.clear();
  for (const uint32_t number : coarse.of_op) options.start_signatures.emplace_back(refined[number]);
  options.start_sources.clear();
  for (const NdSbp& layout : coarse.sources) {
    options.start_sources.push_back(layout.size() == coarse.mesh.num_axes() ? std::optional(Refined(layout, parts))
                                                                            : std::nullopt);
  }
}

}  // namespace sbp
