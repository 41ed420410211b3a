#include "pipeline/gathered_weights.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "base/text.h"
#include "graph/graph.h"
#include "rule/factor_map.h"

namespace sbp {
namespace {

constexpr int64_t kGrowth = 4;  // results of fewer times the weights' bytes are ordinary look-ups

// The operand out of whose slices (matrices: rank 3 and more) the first result is picked by index, where that result is
// much larger. An op picks by index along a masked factor.
std::optional<size_t> GatheredOperand(const RuleInstance& instance) {
  if (instance.results.empty() || instance.results[0].rank() < 3) return std::nullopt;
  const auto is_masked = [&](const DimFactors& dim) {
    return std::any_of(dim.begin(), dim.end(), [&](FactorId f) { return instance.map.factors[f].masked; });
  };
  for (size_t i = 0; i < instance.map.operands.size(); ++i) {
    const TensorFactors& dims = instance.map.operands[i];
    if (dims.size() < 3 || !std::any_of(dims.begin(), dims.end(), is_masked)) continue;
    if (instance.results[0].num_bytes() / kGrowth >= instance.operands[i].num_bytes()) return i;
  }
  return std::nullopt;
}

// Per tensor: does it follow from parameters alone?
std::vector<bool> FollowFromParameters(const Graph& graph) {
  std::vector<bool> follow(graph.tensors.size());
  for (size_t t = 0; t < follow.size(); ++t) follow[t] = graph.tensors[t].role == TensorRole::kParameter;
  for (const Op& op : graph.ops) {
    const std::vector<TensorId> operands = graph.OperandsOf(op);
    const bool all = !operands.empty() &&
                     std::ranges::all_of(operands, [&](TensorId id) { return !id.valid() || follow[id.index()]; });
    for (const TensorId id : op.outputs) {
      if (id.valid()) follow[id.index()] = all;
    }
  }
  return follow;
}

}  // namespace

std::vector<std::string> WarnOfGatheredWeights(const Problem& problem) {
  std::vector<std::optional<size_t>> gathered;
  for (const OpClass& op_class : problem.classes) gathered.push_back(GatheredOperand(*op_class.list->instance));
  const Graph& graph = *problem.graph;
  std::optional<OpId> largest;
  size_t count = 0;
  std::vector<bool> parameters;  // made where an op asks
  for (size_t o = 0; o < problem.num_ops(); ++o) {
    const OpId op(o);
    const std::optional<size_t> operand = gathered[problem.class_of[o]];
    if (!operand || !graph.op(op).outputs[0].valid()) continue;
    const TensorId weights = problem.operands(op)[*operand];
    if (parameters.empty()) parameters = FollowFromParameters(graph);
    if (!parameters[weights.index()]) continue;  // data
    ++count;
    const auto bytes = [&](OpId id) { return problem.type(graph.op(id).outputs[0]).num_bytes(); };
    if (!largest || bytes(op) > bytes(*largest)) largest = op;
  }
  if (!largest) return {};
  const Op& op = graph.op(*largest);
  const Tensor& weights = graph.tensor(problem.operands(*largest)[*gathered[problem.class_of[largest->index()]]]);
  const Tensor& copy = graph.tensor(op.outputs[0]);
  const auto show = [](const Tensor& tensor) {
    return StrCat(Quote(tensor.name), " ", ToString(tensor.type), " (",
                  FormatBytes(static_cast<double>(tensor.type.num_bytes())), ")");
  };
  return {StrCat("weights are gathered once per index: op ", Quote(op.name), " (", graph.type_of(op), ") copies ",
                 show(weights), " into ", show(copy), count > 1 ? StrCat(", and ", count - 1, " more ops") : "",
                 "; the graph is priced as it is written, a kernel that groups tokens by expert makes no such copy")};
}

}  // namespace sbp
