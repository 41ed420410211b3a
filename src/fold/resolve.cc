#include "fold/resolve.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/text.h"
#include "fold/assumed.h"
#include "fold/bind.h"
#include "fold/context.h"
#include "fold/dim_expression.h"
#include "fold/foldable.h"
#include "fold/forward.h"
#include "fold/lower.h"
#include "fold/pass_state.h"
#include "fold/prune.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "simplify/simplify.h"

namespace sbp {
namespace {

// Values of inputs can decide shapes where they are single integers (trip counts, sizes), or where an op takes them
// for axes, sizes or scales. What computes with them stays in the graph (provenance.h).
LiteralRef GivenValue(const ResolveOptions& options, const Tensor& input, bool decides_shapes) {
  for (const auto& [name, value] : options.input_values) {
    if (name != input.name || value == nullptr || value->type.shape != input.type.shape) continue;
    if (value->is_integral() != (IsInteger(input.type.dtype) || input.type.dtype == DType::kBool)) continue;
    if (!decides_shapes && !(value->is_integral() && value->type.num_elements() == 1)) continue;
    if (value->type == input.type) return value;
    auto typed = std::make_shared<Literal>(*value);  // a file may hold another width
    typed->type = input.type;
    return typed;
  }
  return nullptr;
}

// Per tensor: does an op read its value to infer shapes or to expand, or the value of what is computed from it? Not of
// data that it also shards (rank above 1).
std::vector<bool> DecideShapes(const Graph& graph, const RuleSet& rules) {
  std::vector<bool> decides(graph.tensors.size());
  const auto mark = [&](TensorId id) {
    if (!id.valid() || (graph.tensor(id).role == TensorRole::kInput && graph.tensor(id).type.rank() > 1)) return;
    decides[id.index()] = true;
  };
  for (auto op = graph.ops.rbegin(); op != graph.ops.rend(); ++op) {  // consumers first
    const std::string& type = graph.type_of(*op);
    const bool wanted =
        (FindFoldableOp(type) != nullptr || type == "If") &&
        std::ranges::any_of(op->outputs, [&](TensorId id) { return id.valid() && decides[id.index()]; });
    for (size_t i = 0; i < op->inputs.size(); ++i) {
      const bool decides_trips = type == "Loop" && i < 2;
      const bool decides_branch = type == "If" && i == 0;
      if (wanted || decides_trips || decides_branch || rules.ValueDecidesForm(type, i)) mark(op->inputs[i]);
    }
    if (wanted) std::ranges::for_each(op->captures, mark);
  }
  return decides;
}

// The sizes given for symbols that no input has.
std::map<std::string, int64_t> BindingsOfResults(const Graph& graph, const ResolveOptions& options) {
  std::map<std::string, int64_t> left = options.bindings;
  std::erase_if(left, [&](const auto& binding) { return binding.first.ends_with(']'); });  // "x[0]"
  for (const TensorId id : graph.inputs) {
    for (const std::string& text : graph.tensor(id).symbols) {
      left.erase(text);
      for (const std::string& symbol : SymbolsOf(text)) left.erase(symbol);
    }
  }
  return left;
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

// Single tensors may be empty (the past of a first token); a model of which nothing comes out because nothing goes in
// is a mistake.
Status CheckNotEmpty(const Graph& graph) {
  const auto is_empty = [&](TensorId id) {
    const TensorType& type = graph.tensor(id).type;
    return type.kind == ValueKind::kTensor && type.num_elements() == 0;
  };
  if (graph.outputs.empty() || !std::ranges::all_of(graph.outputs, is_empty)) return OkStatus();
  if (!std::ranges::any_of(graph.inputs, is_empty)) return OkStatus();
  const Tensor& first = graph.tensor(graph.outputs.front());
  std::string zeros;
  for (const auto& [symbol, size] : graph.bindings) {
    if (size == 0) zeros += StrCat(zeros.empty() ? " with " : ", ", symbol, "=0");
  }
  const auto axis = std::ranges::find(first.type.shape, 0) - first.type.shape.begin();
  return BadInput(StrCat("every output of the model is empty", zeros, ": ", Quote(first.name), " is ",
                         ToString(first.type), "; expected a size of at least 1 for its dimension ", axis));
}

// Moves of tensors whose sizes only running decides stay as they are, and so do numbers that are asked for.
void SimplifyResolved(Graph& graph, const Assumptions& assumptions, const ResolveOptions& options) {
  std::vector<bool> computed(graph.tensors.size());
  for (size_t t = 0; t < computed.size(); ++t) {
    const Tensor& tensor = graph.tensors[t];
    const auto names = [&](const std::string& pattern) { return GlobMatch(pattern, tensor.name); };
    const bool is_number = tensor.role == TensorRole::kParameter && tensor.type.num_elements() == 1;
    computed[t] = assumptions.Touches(TensorId(t)) || (is_number && std::ranges::any_of(options.asked_for, names));
  }
  Simplify(graph, computed, !options.simplify);
}

// The sizes of an input's type, as the file states it, in which the tensors of a sequence may differ.
AssumedFlags RaggedSizes(const TensorType& type) {
  AssumedFlags flags;
  if (type.kind != ValueKind::kSequence) return flags;
  for (size_t d = 0; d < type.shape.size(); ++d) flags.push_back(d > 0 && type.shape[d] == kUnknownDim);
  return flags;
}

std::vector<std::string> NamesOf(const Graph& graph, const std::vector<std::pair<TensorId, LiteralRef>>& given) {
  std::vector<std::string> names;
  for (const auto& [id, value] : given) names.push_back(graph.tensor(id).name);
  return names;
}

// A graph that was resolved before has assumptions already.
Status CheckAssumptions(const Graph& graph, const ResolveOptions& options) {
  for (const Assumption& assumption : graph.assumptions) {
    for (const auto& [name, value] : options.input_values) {
      if (name != assumption.input || value == nullptr || Agrees(assumption, *value)) continue;
      return BadInput(StrCat("input ", Quote(name), " is given as ", ToString(*value), "; the graph was made for ",
                             ToString(assumption), " (its value decided sizes or branches)"));
    }
  }
  return OkStatus();
}

void MergeAssumptions(std::vector<Assumption> taken, Graph& graph) {
  std::vector<Assumption> merged;
  const auto take = [&](std::vector<Assumption>& from, const std::string& input) {
    const auto found = std::ranges::find(from, input, &Assumption::input);
    if (found == from.end()) return;
    if (merged.empty() || merged.back().input != input) {
      merged.push_back(std::move(*found));
      return;
    }
    std::vector<int64_t> elements;
    std::ranges::set_union(merged.back().elements, found->elements, std::back_inserter(elements));
    merged.back().elements = std::move(elements);
  };
  for (const TensorId id : graph.inputs) {
    take(taken, graph.tensor(id).name);
    take(graph.assumptions, graph.tensor(id).name);
  }
  graph.assumptions = std::move(merged);
}

}  // namespace

Result<Resolved> Resolve(Graph graph, const RuleSet& rules, const ResolveOptions& options) {
  Graph bound = std::move(graph);
  std::vector<AssumedFlags> ragged;
  for (const TensorId id : bound.inputs) ragged.push_back(RaggedSizes(bound.tensor(id).type));
  SBP_RETURN_IF_ERROR(CheckAssumptions(bound, options));
  SBP_RETURN_IF_ERROR(BindInputs(bound, options));
  SBP_RETURN_IF_ERROR(LowerBound(rules, bound));
  FoldContext context(rules, options, ResolveGraph);
  context.bindings = bound.bindings;
  context.bindings_of_results = BindingsOfResults(bound, options);
  context.op_budget = 4000000 + 4 * static_cast<int64_t>(bound.ops.size());
  std::vector<std::pair<TensorId, LiteralRef>> given;
  const std::vector<bool> decide_shapes =
      options.input_values.empty() ? std::vector<bool>(bound.tensors.size()) : DecideShapes(bound, rules);
  for (const TensorId id : bound.inputs) {
    LiteralRef value = GivenValue(options, bound.tensor(id), decide_shapes[id.index()]);
    if (value == nullptr) continue;
    given.emplace_back(id, std::move(value));
  }
  const std::vector<TensorId> inputs = bound.inputs;
  const std::vector<std::string> given_names = NamesOf(bound, given);
  PassState pass(context, std::move(bound));
  for (size_t i = 0; i < given.size(); ++i) {
    pass.values().SetGiven(given[i].first, given[i].second);
    if (!options.keep_ops)
      pass.values().SetSources(given[i].first, context.provenance.AddInput(given_names[i], given[i].second));
  }
  for (size_t i = 0; i < inputs.size(); ++i) pass.SetAssumed(inputs[i], ragged[i], {}, nullptr);
  SBP_ASSIGN_OR_RETURN(Graph resolved, ResolveGraph(pass));
  MergeAssumptions(context.provenance.Taken(), resolved);
  if (options.simplify || options.group_experts) SimplifyResolved(resolved, pass.assumptions(), options);
  pass.WarnOfBounds(resolved);
  Prune(resolved);
  ClearSymbols(resolved);
  SBP_RETURN_IF_ERROR(CheckAllStatic(resolved));
  if (!options.allow_empty) SBP_RETURN_IF_ERROR(CheckNotEmpty(resolved));
  return Resolved{std::move(resolved), context.warnings.Take()};
}

}  // namespace sbp
