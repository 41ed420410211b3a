#include "fold/lower.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "aten/lower.h"
#include "base/text.h"
#include "fold/bind.h"
#include "fold/dim_expression.h"

namespace sbp {
namespace {

// Metadata "range/s0" = "2..1024".
Status CheckRanges(const Graph& graph) {
  constexpr std::string_view kRange = "range/";
  for (const auto& [key, text] : graph.metadata) {
    if (!key.starts_with(kRange)) continue;
    const auto bound = graph.bindings.find(key.substr(kRange.size()));
    const size_t dots = text.find("..");
    if (bound == graph.bindings.end() || dots == std::string::npos) continue;
    const Result<int64_t> least = EvaluateDim(text.substr(0, dots), {});
    const Result<int64_t> most = EvaluateDim(text.substr(dots + 2), {});
    if ((!least.ok() || bound->second >= *least) && (!most.ok() || bound->second <= *most)) continue;
    return BadInput(StrCat("--dim ", bound->first, "=", bound->second, ": the model was exported for ", text));
  }
  return OkStatus();
}

}  // namespace

Status LowerBound(const RuleSet& rules, Graph& graph) {
  if (!HasAtenOps(graph)) return OkStatus();
  SBP_RETURN_IF_ERROR(CheckRanges(graph));
  for (Tensor& tensor : graph.tensors) {
    if (tensor.symbols.empty()) continue;
    tensor.type = WithBindings(tensor.type, tensor.symbols, graph.bindings);
  }
  const auto size_of = [bindings = graph.bindings](std::string_view text) { return EvaluateDim(text, bindings); };
  SBP_ASSIGN_OR_RETURN(graph, LowerAten(std::move(graph), rules, size_of));
  return OkStatus();
}

}  // namespace sbp
