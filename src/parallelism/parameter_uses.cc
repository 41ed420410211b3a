#include "parallelism/parameter_uses.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/text.h"
#include "graph/families.h"
#include "graph/graph.h"
#include "graph/phases.h"
#include "plan/plan.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/signature.h"

namespace sbp {
namespace {

// Does the op look rows up in what it reads first?
bool LooksUp(const Graph& graph, const Op& op) {
  return op.inputs.size() > 1 && std::ranges::any_of(op.inputs.begin() + 1, op.inputs.end(), [&](TensorId id) {
           return id.valid() && graph.tensor(id).type.rank() > 0 && IsInteger(graph.tensor(id).type.dtype);
         });
}

}  // namespace

std::vector<ParameterRead> ReadsOf(const Graph& graph, const UseTable& uses, TensorId parameter) {
  std::vector<ParameterRead> reads;
  std::vector<TensorId> left = {parameter};
  while (!left.empty()) {
    const TensorId at = left.back();
    left.pop_back();
    const auto [begin, end] = uses.of(at);
    for (const Use* use = begin; use != end; ++use) {
      const Op& op = graph.op(use->op);
      const Phase phase = PhaseOf(graph, op);
      if (phase == Phase::kOptimizer) continue;
      const bool hands_on = HandsOn(graph, op) || graph.type_of(op) == "Transpose";
      if (hands_on && op.outputs[0].valid()) {
        left.push_back(op.outputs[0]);
      } else {
        reads.push_back({*use, phase == Phase::kBackward});
      }
    }
  }
  std::ranges::sort(reads, {}, [](const ParameterRead& read) { return read.use.op; });
  return reads;
}

StyleFound StyleOf(const Plan& plan, TensorId parameter, const std::vector<ParameterRead>& reads, int axis,
                   bool experts) {
  const Graph& graph = plan.graph;
  const Sbp stored = plan.source_layouts[parameter.index()][axis];
  const std::string& over = plan.mesh.axes[axis].name;
  const bool has_forward = std::ranges::any_of(reads, [](const ParameterRead& read) { return !read.backward; });
  bool split = false, whole = false;
  std::set<ParameterStyle> styles;
  for (const ParameterRead& read : reads) {
    if (read.backward && has_forward) continue;
    const Op& op = graph.op(read.use.op);
    const Signature& signature = plan.decision(read.use.op).signature;
    const Sbp wanted = signature.inputs[read.use.operand][axis];
    (wanted.is_split() ? split : whole) = true;
    if (!wanted.is_split() || signature.outputs.empty()) continue;
    const bool sums = signature.outputs[0][axis].is_partial();
    const bool looks_up = read.use.operand == 0 && LooksUp(graph, op);
    styles.insert(!sums ? ParameterStyle::kColumn : looks_up ? ParameterStyle::kVocabulary : ParameterStyle::kRow);
  }
  const auto other = [](std::string reason) {
    return StyleFound{.style = ParameterStyle::kOther, .reason = std::move(reason)};
  };
  if (!stored.is_split())
    return split ? other(StrCat("lies whole over ", over, " and is used in parts")) : StyleFound{};
  if (!split) return {.gathered = true};
  if (whole) return other(StrCat("is split over ", over, ", and used both so and gathered"));
  if (graph.tensor(parameter).type.rank() >= 3) {
    if (experts && stored.dim() == 0) return {.style = ParameterStyle::kExpert};
    if (!experts) return other(StrCat("is no matrix, and split over ", over));
  }
  // A table that is the last product's matrix as well.
  if (styles == std::set{ParameterStyle::kColumn, ParameterStyle::kVocabulary}) styles = {ParameterStyle::kVocabulary};
  if (styles.size() != 1) return other(StrCat("is used in several ways over ", over));
  return {.style = *styles.begin()};
}

bool IsLookedUp(const Graph& graph, const std::vector<ParameterRead>& reads) {
  return std::ranges::any_of(reads, [&](const ParameterRead& read) {
    return !read.backward && read.use.operand == 0 && LooksUp(graph, graph.op(read.use.op));
  });
}

bool GathersProduct(const Plan& plan, const UseTable& uses, const std::vector<ParameterRead>& reads, int axis) {
  const Graph& graph = plan.graph;
  std::set<TensorId> seen;
  std::vector<TensorId> left;
  const auto follow = [&](OpId id) {  // to what lies split behind the op
    const std::vector<TensorId>& outputs = graph.op(id).outputs;
    for (size_t k = 0; k < outputs.size(); ++k) {
      const bool split = outputs[k].valid() && plan.decision(id).signature.outputs[k][axis].is_split();
      if (split && seen.insert(outputs[k]).second) left.push_back(outputs[k]);
    }
  };
  for (const ParameterRead& read : reads) {
    if (!read.backward) follow(read.use.op);
  }
  while (!left.empty()) {
    const TensorId at = left.back();
    left.pop_back();
    if (std::ranges::find(graph.outputs, at) != graph.outputs.end()) return true;
    const auto [begin, end] = uses.of(at);
    for (const Use* use = begin; use != end; ++use) {
      const std::string_view scope = graph.scope_of(graph.op(use->op));
      if (PhaseOfScope(scope) != Phase::kForward) continue;
      if (scope == kLossScope || scope.starts_with(StrCat(kLossScope, "/"))) return true;
      if (plan.decision(use->op).signature.inputs[use->operand][axis].is_broadcast()) return true;
      follow(use->op);
    }
  }
  return false;
}

bool ReadsAlongSequence(const Plan& plan, const std::vector<ParameterRead>& reads, int axis) {
  return std::ranges::any_of(reads, [&](const ParameterRead& read) {
    const std::vector<NdSbp>& operands = plan.decision(read.use.op).signature.inputs;
    for (size_t k = 0; k < operands.size() && !read.backward; ++k) {
      if (k != read.use.operand && operands[k].size() > axis && operands[k][axis].is_split(1)) return true;
    }
    return false;
  });
}

}  // namespace sbp
