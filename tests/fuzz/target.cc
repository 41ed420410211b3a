#include "fuzz/target.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/text.h"
#include "cluster/cluster.h"
#include "fold/resolve.h"
#include "problem/problem.h"

namespace sbp::fuzz {
namespace {

constexpr size_t kMaxOpsToPlan = 100;
constexpr int64_t kSmallSize = 4;

// A size for every symbol, and for dimensions without a name ("input[axis]").
std::map<std::string, int64_t> SmallSizes(const Graph& graph) {
  std::map<std::string, int64_t> sizes;
  for (const TensorId id : graph.inputs) {
    const Tensor& tensor = graph.tensor(id);
    for (size_t axis = 0; axis < tensor.type.shape.size(); ++axis) {
      if (tensor.type.shape[axis] != kUnknownDim) continue;
      const std::string text = axis < tensor.symbols.size() ? tensor.symbols[axis] : "";
      if (text.empty()) sizes[StrCat(tensor.name, "[", axis, "]")] = kSmallSize;
      for (const std::string& symbol : SymbolsOf(text)) sizes[symbol] = kSmallSize;
    }
  }
  return sizes;
}

}  // namespace

void Require(bool holds, std::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "%.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

const RuleSet& BuiltinRules() {
  static const RuleSet rules = [] {
    Result<RuleSet> builtin = RuleSet::Builtin();
    Require(builtin.ok(), builtin.status().message());
    return std::move(builtin).value();
  }();
  return rules;
}

void ResolveAndPlan(const Graph& graph) {
  const Result<Resolved> resolved = Resolve(graph, BuiltinRules(), {.bindings = SmallSizes(graph)});
  if (!resolved.ok()) {
    Require(resolved.status().code() != Code::kDefect, resolved.status().message());
    return;
  }
  const Status verified = Verify(resolved->graph, "resolved");
  Require(verified.ok(), verified.message());
  for (const Tensor& tensor : resolved->graph.tensors) {
    Require(tensor.type.kind != ValueKind::kTensor || tensor.type.is_static(), tensor.name + " has an open type");
  }
  if (resolved->graph.ops.size() > kMaxOpsToPlan) return;
  const Result<Problem> problem = BuildProblem(resolved->graph, BuiltinRules(), ParseMesh("2,2").value(),
                                               FindPreset("cpu").value(), {}, {.candidates = {.max_candidates = 500}});
  if (!problem.ok()) Require(problem.status().code() != Code::kDefect, problem.status().message());
}

}  // namespace sbp::fuzz
