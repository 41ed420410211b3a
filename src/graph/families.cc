#include "graph/families.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <string_view>

#include "base/dtype.h"
#include "graph/phases.h"

namespace sbp {

std::vector<ParameterFamily> FindFamilies(const Graph& graph, std::span<const TensorId> parameters) {
  std::vector<ParameterFamily> families(parameters.size());
  std::map<TensorId, size_t> by_id;
  std::map<std::string_view, size_t> by_name;
  for (size_t p = 0; p < parameters.size(); ++p) {
    families[p].parameter = parameters[p];
    by_id.emplace(parameters[p], p);
    by_name.emplace(graph.tensor(parameters[p]).name, p);
  }
  // "m/w" belongs to "w"; names of parameters may hold slashes themselves.
  const auto family_of = [&](std::string_view name) -> ParameterFamily* {
    const size_t slash = name.find('/');
    const auto found = slash == std::string_view::npos ? by_name.end() : by_name.find(name.substr(slash + 1));
    return found == by_name.end() ? nullptr : &families[found->second];
  };
  for (const Tie& tie : graph.ties) {
    const Tensor& input = graph.tensor(tie.input);
    if (const auto found = by_id.find(tie.input); found != by_id.end()) families[found->second].next = tie.output;
    ParameterFamily* family = input.role == TensorRole::kInput ? family_of(input.name) : nullptr;
    if (family == nullptr) continue;
    if (tie.restarts) {
      family->accumulator = tie.input;
      family->summed = tie.output;
    } else {
      family->states.push_back(tie.input);
    }
  }
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    const std::string& name = graph.tensors[t].name;
    if (!name.starts_with("grad/") || !graph.tensors[t].producer.valid()) continue;
    if (ParameterFamily* family = family_of(name); family != nullptr) family->gradient = TensorId(t);
  }
  return families;
}

bool HandsOn(const Graph& graph, const Op& op) {
  const std::string& type = graph.type_of(op);
  return type == kRefetchOp || (type == "Cast" && IsFloat(graph.tensor(op.outputs[0]).type.dtype));
}

bool IsMaster(const Graph& graph, const UseTable& uses, TensorId parameter) {
  bool is_read = false;
  const auto [begin, end] = uses.of(parameter);
  for (const Use* use = begin; use != end; ++use) {
    const Op& op = graph.op(use->op);
    if (PhaseOf(graph, op) == Phase::kOptimizer) continue;
    if (!HandsOn(graph, op)) return false;
    const TensorId copy = op.outputs[0];
    const bool narrows = DTypeBits(graph.tensor(copy).type.dtype) < DTypeBits(graph.tensor(parameter).type.dtype);
    if (!narrows && !IsMaster(graph, uses, copy)) return false;
    is_read = true;
  }
  return is_read;
}

bool MovesOnly(const Graph& graph, const Op& op) {
  constexpr std::string_view kMoves[] = {"Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"};
  if (op.outputs.size() != 1 || !op.outputs[0].valid() || op.inputs.empty() || !op.inputs[0].valid()) return false;
  return std::ranges::find(kMoves, graph.type_of(op)) != std::end(kMoves);
}

}  // namespace sbp
