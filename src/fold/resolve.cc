#include "fold/resolve.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/text.h"
#include "fold/bind.h"
#include "fold/forward.h"
#include "fold/prune.h"

namespace sbp {
namespace {

// Values of inputs decide shapes only where they are single numbers (trip counts, sizes): folding the data itself would
// plan another model.
LiteralRef GivenValue(const ResolveOptions& options, const Tensor& input) {
  for (const auto& [name, value] : options.input_values) {
    if (name == input.name && value != nullptr && value->is_integral() && value->type.num_elements() == 1 &&
        value->type.shape == input.type.shape) {
      return value;
    }
  }
  return nullptr;
}

void ClearSymbols(Graph& graph) {
  for (Tensor& tensor : graph.tensors) {
    if (tensor.role != TensorRole::kInput) tensor.symbols.clear();
  }
}

Status CheckAllStatic(const Graph& graph) {
  for (const Tensor& tensor : graph.tensors) {
    if (!tensor.type.is_static()) return Defect(StrCat("tensor ", Quote(tensor.name), " has no size after resolution"));
  }
  return OkStatus();
}

}  // namespace

Result<Resolved> Resolve(const Graph& graph, const RuleSet& rules, const ResolveOptions& options) {
  Graph bound = graph;
  SBP_RETURN_IF_ERROR(BindInputs(bound, options));
  FoldContext context(rules, options);
  context.bindings = bound.bindings;
  context.op_budget = 4000000 + 4 * static_cast<int64_t>(graph.ops.size());
  std::vector<std::pair<TensorId, LiteralRef>> given;
  for (const TensorId id : bound.inputs) {
    LiteralRef value = GivenValue(options, bound.tensor(id));
    if (value == nullptr) continue;
    bound.tensor(id).literal = value;
    given.emplace_back(id, std::move(value));
  }
  ForwardPass pass(context, std::move(bound));
  for (const auto& [id, value] : given) pass.SetValue(id, value);
  SBP_ASSIGN_OR_RETURN(Graph resolved, pass.Run());
  Prune(resolved);
  ClearSymbols(resolved);
  SBP_RETURN_IF_ERROR(CheckAllStatic(resolved));
  return Resolved{std::move(resolved), context.warnings.Take()};
}

}  // namespace sbp
