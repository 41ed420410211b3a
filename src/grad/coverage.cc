#include "grad/coverage.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "decompose/decompose.h"
#include "grad/between.h"
#include "grad/differentiate.h"
#include "grad/unroll.h"
#include "graph/graph.h"
#include "rule/overload.h"
#include "rule/rule_set.h"
#include "rule/syntax.h"

namespace sbp {
namespace {

using By = DerivativeRow::By;

struct Ends {
  std::vector<TensorId> targets, seeds;
};

// What a gradient may be asked of, and by.
Ends FloatEnds(const Graph& graph) {
  Ends ends;
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    const Tensor& tensor = graph.tensors[t];
    if (tensor.role != TensorRole::kActivation && IsFloat(tensor.type.dtype)) ends.targets.push_back(TensorId(t));
  }
  for (const TensorId id : graph.outputs) {
    if (IsFloat(graph.tensor(id).type.dtype)) ends.seeds.push_back(id);
  }
  return ends;
}

// Rows by type and by what is in the way.
class Rows {
 public:
  void Add(const std::string& op, By by, const std::string& why) {
    DerivativeRow& row = rows_.try_emplace({op, why}, DerivativeRow{op, 0, by, why}).first->second;
    ++row.count;
    row.by = std::min(row.by, by);
    out_.covered += by == By::kNothing ? 0 : 1;
    ++out_.total;
  }

  DerivativeCoverage Finish(size_t ops) {
    for (auto& [key, row] : rows_) out_.rows.push_back(std::move(row));
    out_.beside = static_cast<int64_t>(ops) - out_.total;
    return std::move(out_);
  }

 private:
  std::map<std::pair<std::string, std::string>, DerivativeRow> rows_;
  DerivativeCoverage out_;
};

// Without the lines that show what to write.
std::string FirstLine(std::string_view text) {
  text = text.substr(0, text.find('\n'));
  return std::string(text.substr(0, text.find("; its paragraph")));
}

// The op of the graph that an op of its expansion came from: the longest name that its own begins with.
std::string_view OuterName(const std::unordered_map<std::string_view, size_t>& names, std::string_view inner) {
  for (std::string_view name = inner; !name.empty();) {
    if (names.contains(name)) return name;
    const size_t slash = name.rfind('/');
    name = slash == std::string_view::npos ? std::string_view() : name.substr(0, slash);
  }
  return inner;
}

// The element type of a result as the op's schema has it; kUndefined: it may be any.
DType StatedResult(const Graph& graph, const Op& op, const OpOverload& overload, size_t result) {
  const Parameter* of = nullptr;
  for (size_t r = 0; r <= result && r < overload.results.size(); ++r) {
    of = &overload.results[r];
    if (of->variadic) break;
  }
  if (of == nullptr) return DType::kUndefined;
  if (const std::optional<DType> fixed = ParseDType(of->type)) return *fixed;
  size_t operand = 0;
  for (const Parameter& p : overload.parameters) {
    if (p.keyword && p.name == of->type) {
      return static_cast<DType>(op.attributes->Int(p.name, static_cast<int64_t>(DType::kUndefined)));
    }
    if (!p.keyword && (of->type.empty() || p.name == of->type)) break;
    operand += p.keyword ? 0 : 1;
  }
  if (operand >= op.inputs.size() || !op.inputs[operand].valid()) return DType::kUndefined;
  return graph.tensor(op.inputs[operand]).type.dtype;
}

}  // namespace

DerivativeCoverage DerivativesOf(const Graph& graph, const RuleSet& rules) {
  const auto [targets, seeds] = FloatEnds(graph);
  const std::vector<bool> between = OpsBetween(graph, targets, seeds);
  std::unordered_map<std::string_view, size_t> names;
  for (size_t i = 0; i < graph.ops.size(); ++i) names.emplace(graph.ops[i].name, i);
  std::unordered_map<std::string_view, std::string> wrong;  // op of the graph -> why it has no derivative
  std::unordered_map<std::string_view, bool> whole;         // ops that stay
  Result<Graph> expanded = Unroll(graph, targets, seeds);
  if (expanded.ok()) expanded = ExpandForVjp(std::move(*expanded), targets, seeds, {}, rules);
  if (expanded.ok()) {
    const auto [inner_targets, inner_seeds] = FloatEnds(*expanded);
    for (auto& [op, why] : FindWithoutVjp(*expanded, inner_targets, inner_seeds, rules)) {
      const std::string& inner = expanded->op(op).name;
      const std::string_view outer = OuterName(names, inner);
      wrong.emplace(outer, outer == inner ? why : StrCat("in its expansion: ", why));
    }
    for (const Op& op : expanded->ops) {
      if (const auto it = names.find(op.name); it != names.end()) whole.emplace(it->first, true);
    }
  }
  Rows rows;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (!between[i]) continue;
    const Op& op = graph.ops[i];
    const auto it = wrong.find(op.name);
    if (!expanded.ok()) {
      rows.Add(graph.type_of(op), By::kNothing, FirstLine(expanded.status().message()));
    } else if (it != wrong.end()) {
      rows.Add(graph.type_of(op), By::kNothing, FirstLine(it->second));
    } else {
      rows.Add(graph.type_of(op), whole.contains(op.name) ? By::kVjp : By::kExpansion, "");
    }
  }
  return rows.Finish(graph.ops.size());
}

DerivativeCoverage DerivativesByType(const Graph& given, const RuleSet& rules) {
  Graph graph = given;
  for (const Op& op : graph.ops) {
    const OpDefinition* definition = rules.Find(graph.type_of(op));
    for (size_t r = 0; r < op.outputs.size(); ++r) {
      if (!op.outputs[r].valid()) continue;
      DType& type = graph.tensor(op.outputs[r]).type.dtype;
      if (type == DType::kUndefined && definition != nullptr) {
        type = StatedResult(graph, op, definition->overloads.front(), r);
      }
      if (type == DType::kUndefined) type = DType::kF32;  // it may be
    }
  }
  const auto [targets, seeds] = FloatEnds(graph);
  const std::vector<bool> between = OpsBetween(graph, targets, seeds);
  Rows rows;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (!between[i]) continue;
    const std::string& type = graph.type_of(graph.ops[i]);
    const OpDefinition* definition = rules.Find(type);
    const bool has_vjp = HasBuiltinVjp(type) || IsUnrolled(type) ||
                         (definition != nullptr && std::ranges::any_of(definition->overloads, [](const OpOverload& o) {
                            return !o.vjps.empty();
                          }));
    if (has_vjp) {
      rows.Add(type, By::kVjp, "");
    } else if (HasExpansion(type, rules)) {
      rows.Add(type, By::kExpansion, "");
    } else {
      rows.Add(type, By::kNothing, definition == nullptr ? "no rule" : "it has no vjp and no expansion");
    }
  }
  return rows.Finish(graph.ops.size());
}

}  // namespace sbp
