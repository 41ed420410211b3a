#include "grad/differentiate.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/large_pages.h"
#include "base/status.h"
#include "base/text.h"
#include "decompose/decompose.h"
#include "decompose/vjp.h"
#include "grad/appender.h"
#include "grad/attributes_table.h"
#include "grad/between.h"
#include "grad/branch.h"
#include "grad/unroll.h"
#include "graph/adopt.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "rule/factor_map.h"
#include "rule/op_query.h"
#include "rule/rule_set.h"
#include "rule/syntax.h"

namespace sbp {
namespace {

constexpr size_t kOpsForOne = 6;  // in a training graph, as a rule: room for them is asked for at once

OpQuery QueryOf(const Graph& graph, const Op& op) {
  OpQuery query = QueryWithValues(graph, op, op.inputs);
  query.has_subgraphs = HasSubgraph(*op.attributes);
  return query;
}

// What the vjp of an op depends on, as bytes: the op, its operands' types and, where they matter, known values.
std::string FormOf(const Graph& graph, const Op& op, const RuleSet& rules, AttributesTable& attributes) {
  std::string key;
  const auto put = [&](const auto& value) { key.append(reinterpret_cast<const char*>(&value), sizeof(value)); };
  put(op.type);
  put(reinterpret_cast<uintptr_t>(attributes.Find(op.attributes)));
  const OpDefinition* definition = rules.Find(graph.type_of(op));
  const uint64_t reads = definition == nullptr ? 0 : definition->reads_values | definition->reads_for_vjp;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const bool present = op.inputs[i].valid();
    put(present);
    if (!present) continue;
    const Tensor& tensor = graph.tensor(op.inputs[i]);
    put(tensor.type.dtype);
    put(tensor.type.shape.size());
    for (int64_t size : tensor.type.shape) put(size);
    const bool read = (reads >> std::min<size_t>(i, 63) & 1) != 0 || (reads >> 63 & 1) != 0;
    if (!read || tensor.literal == nullptr) continue;
    put(tensor.literal->ints.size());
    for (int64_t v : tensor.literal->ints) put(v);
    put(tensor.literal->floats.size());
    for (double v : tensor.literal->floats) put(v);
  }
  for (const TensorId id : op.outputs) put(id.valid());
  return key;
}

bool HasFloats(const Tensor& tensor) { return IsFloat(tensor.type.dtype); }

// A body as it is differentiated.
Result<Graph> PrepareBody(Graph body, std::span<const TensorId> targets, std::span<const TensorId> seeds,
                          const RuleSet& rules) {
  SBP_ASSIGN_OR_RETURN(body, Unroll(std::move(body), targets, seeds));
  return ExpandForVjp(std::move(body), targets, seeds, {}, rules);
}

class Differentiator {
 public:
  explicit Differentiator(Appender& appender)
      : appender_(appender), graph_(appender.graph()), no_attributes_(appender.Shared({})) {}

  Result<std::vector<TensorId>> Run(std::span<const Seed> seeds, std::span<const TensorId> targets) {
    depends_ = DependsOn(graph_, targets);
    FindScopes();
    graph_.ops.reserve(kOpsForOne * graph_.ops.size());
    graph_.tensors.reserve(kOpsForOne * graph_.tensors.size());
    UseLargePages(graph_.ops);
    UseLargePages(graph_.tensors);
    sums_.reserve(graph_.tensors.capacity());
    sums_.resize(graph_.tensors.size());
    for (const Seed& seed : seeds) Add(seed.tensor, seed.cotangent, 0);
    PagesAhead ops_ahead(graph_.ops), tensors_ahead(graph_.tensors);
    for (size_t i = graph_.ops.size(); i-- > 0;) {
      ops_ahead.At(graph_.ops);
      tensors_ahead.At(graph_.tensors);
      const Status visited = Visit(OpId(i));
      if (!visited.ok()) return visited.WithContext(StrCat("op ", Quote(graph_.ops[i].name)));
    }
    std::vector<TensorId> gradients;
    for (const TensorId id : targets) gradients.push_back(Total(id));
    return gradients;
  }

  // As FindWithoutVjp. Equal ops are asked once.
  std::vector<WithoutVjp> Without(const std::vector<bool>& between, std::span<const TensorId> targets) {
    depends_ = DependsOn(graph_, targets);
    std::unordered_map<std::string, std::string> known;  // form -> why not; "": it has one
    std::vector<WithoutVjp> without;
    for (size_t i = 0; i < between.size(); ++i) {
      if (!between[i]) continue;
      const Op op = graph_.ops[i];
      std::vector<bool> reached, wanted;
      for (const TensorId out : op.outputs) reached.push_back(out.valid() && HasFloats(graph_.tensor(out)));
      for (const TensorId in : op.inputs) {
        wanted.push_back(in.valid() && depends_[in.index()] && HasFloats(graph_.tensor(in)));
      }
      std::string key = FormOf(graph_, op, appender_.rules(), attributes_);
      for (const bool bit : wanted) key.push_back(bit ? '1' : '0');
      const auto [it, is_new] = known.try_emplace(std::move(key));
      if (is_new) it->second = WhyNot(op, reached, wanted);
      if (!it->second.empty()) without.push_back({OpId(i), it->second});
    }
    return without;
  }

 private:
  struct KnownVjp {
    explicit KnownVjp(Vjp made) : vjp(std::move(made)), part(vjp.graph) {}
    const Vjp vjp;
    Appender::Part part;
  };

  // The sum of the cotangents that have reached a tensor, so far.
  struct Sum {
    TensorId tensor;
    int terms = 0;
    uint32_t scope = 0;  // of the last term
  };

  void Add(TensorId to, TensorId term, uint32_t scope) {
    Sum& sum = sums_[to.index()];
    sum.scope = scope;
    if (++sum.terms == 1) {
      sum.tensor = term;
      return;
    }
    // Several terms are added in at least 32 bits.
    const std::string name = StrCat(kBackward, graph_.tensor(to).name, "/+", sum.terms);
    const DType type = Wide(graph_.tensor(to).type.dtype);
    const TensorId terms[] = {Cast(sum.tensor, type, StrCat(name, "/wide"), scope),
                              Cast(term, type, StrCat(name, "/wide_2"), scope)};
    sum.tensor =
        appender_.CallTyped("Add", {terms[0], terms[1]}, no_attributes_, graph_.tensor(terms[0]).type, name, scope);
  }

  static DType Wide(DType type) { return IsFloat(type) && DTypeBits(type) < 32 ? DType::kF32 : type; }

  TensorId Cast(TensorId id, DType to, const std::string& name, uint32_t scope) {
    TensorType type = graph_.tensor(id).type;
    if (type.dtype == to) return id;
    type.dtype = to;
    Attributes attributes;
    attributes.Set("to", static_cast<int64_t>(to));
    return appender_.CallTyped("Cast", {id}, appender_.Shared(std::move(attributes)), type, name, scope);
  }

  // The cotangent of a tensor, when all terms have been added; invalid: none has reached it.
  TensorId Total(TensorId of) {
    Sum& sum = sums_[of.index()];
    if (sum.terms == 0) return {};
    const std::string name = StrCat(kCotangentOf, graph_.tensor(of).name);
    sum.tensor = Cast(sum.tensor, graph_.tensor(of).type.dtype, StrCat(kBackward, graph_.tensor(of).name, "/+narrow"),
                      sum.scope);
    Tensor& tensor = graph_.tensor(sum.tensor);
    const bool is_ours = tensor.producer.valid() && tensor.name.starts_with(kBackward);
    if (is_ours || sum.terms > 1) appender_.Rename(sum.tensor, name);
    return sum.tensor;
  }

  Status Visit(OpId id) {
    // A copy: ops and tensors are added meanwhile.
    const Op op = graph_.op(id);
    std::vector<TensorId> cotangents;
    std::vector<bool> wanted;
    bool any = false;
    for (const TensorId out : op.outputs) any = any || (out.valid() && sums_[out.index()].terms > 0);
    if (!any) return OkStatus();
    any = false;
    for (const TensorId in : op.inputs) {
      wanted.push_back(in.valid() && depends_[in.index()] && HasFloats(graph_.tensor(in)));
      any = any || wanted.back();
    }
    const auto is_dependent = [&](TensorId in) { return depends_[in.index()]; };
    any = any || std::ranges::any_of(op.captures, is_dependent);
    if (!any) return OkStatus();
    std::vector<bool> reached;
    for (const TensorId out : op.outputs) {
      cotangents.push_back(out.valid() && HasFloats(graph_.tensor(out)) ? Total(out) : TensorId());
      reached.push_back(cotangents.back().valid());
    }
    if (HasSubgraph(*op.attributes)) return VisitBody(id, op, cotangents);
    SBP_ASSIGN_OR_RETURN(KnownVjp * known, VjpOf(op, reached, wanted));
    return Apply(id, op, *known, cotangents);
  }

  // Loops have been unrolled (grad/unroll.h).
  Status VisitBody(OpId id, const Op& op, const std::vector<TensorId>& cotangents) {
    if (!HasBuiltinVjp(graph_.type_of(op))) return NoBody(op);
    const auto wanted = [&](TensorId id) { return depends_[id.index()] && HasFloats(graph_.tensor(id)); };
    const uint32_t backward = BackwardScope(id);
    SBP_ASSIGN_OR_RETURN(const std::vector<Reached> found,
                         DifferentiateIf(appender_, op, cotangents, wanted, {PrepareBody, Differentiate}, backward));
    sums_.resize(graph_.tensors.size());
    for (const auto& [capture, cotangent] : found) Add(capture, cotangent, backward);
    sums_.resize(graph_.tensors.size());
    return OkStatus();
  }

  Status NoBody(const Op& op) const {
    return BadInput(StrCat(graph_.type_of(op), " with a body is not differentiated; --freeze what reaches it"));
  }

  std::string WhyNot(const Op& op, const std::vector<bool>& reached, const std::vector<bool>& wanted) {
    if (HasSubgraph(*op.attributes)) {
      if (!HasBuiltinVjp(graph_.type_of(op))) return NoBody(op).message();
      std::vector<TensorId> cotangents;  // any tensors of the right types
      for (size_t r = 0; r < op.outputs.size(); ++r) cotangents.push_back(reached[r] ? op.outputs[r] : TensorId());
      const auto wanted_here = [&](TensorId id) { return depends_[id.index()] && HasFloats(graph_.tensor(id)); };
      const auto found = DifferentiateIf(appender_, op, cotangents, wanted_here, {PrepareBody, Differentiate}, 0);
      depends_.resize(graph_.tensors.size(), false);
      return found.ok() ? "" : found.status().message();
    }
    const Result<KnownVjp*> known = VjpOf(op, reached, wanted);
    return known.ok() ? "" : known.status().message();
  }

  Result<KnownVjp*> VjpOf(const Op& op, const std::vector<bool>& reached, const std::vector<bool>& wanted) {
    std::string key = FormOf(graph_, op, appender_.rules(), attributes_);
    for (const auto* bits : {&reached, &wanted}) {
      for (const bool bit : *bits) key.push_back(bit ? '1' : '0');
    }
    if (const auto it = vjps_.find(key); it != vjps_.end()) return it->second.get();
    VjpQuery query{.query = QueryOf(graph_, op), .reached = reached, .wanted = wanted};
    // A vjp may read results that nobody has asked for yet: statistics, choices.
    const OpDefinition* definition = appender_.rules().Find(graph_.type_of(op));
    VjpQuery all = query;
    if (definition != nullptr) {
      const std::vector<Parameter>& results = definition->overloads.front().results;
      if (std::ranges::none_of(results, &Parameter::variadic)) all.results = results.size();
    }
    Result<Vjp> vjp = ExpandVjp(all, appender_.rules());
    if (!vjp.ok()) {  // such results may be none of this op's; else the first error tells more
      Result<Vjp> with_own = ExpandVjp(query, appender_.rules());
      if (!with_own.ok()) return vjp.status();
      vjp = std::move(with_own);
    }
    return vjps_.emplace(std::move(key), std::make_unique<KnownVjp>(*std::move(vjp))).first->second.get();
  }

  Status Apply(OpId id, const Op& op, KnownVjp& known, const std::vector<TensorId>& cotangents) {
    const Vjp& vjp = known.vjp;
    std::vector<TensorId> given;
    for (const TensorId in : op.inputs) {
      if (in.valid()) given.push_back(in);
    }
    for (size_t r = 0; r < vjp.results.size(); ++r) {
      if (vjp.results[r].valid()) given.push_back(ResultOf(id, vjp, r));
      if (vjp.cotangents[r].valid()) given.push_back(cotangents[r]);
    }
    const uint32_t backward = BackwardScope(id);
    const std::vector<TensorId> map = appender_.Splice(known.part, given, StrCat(kBackward, op.name), backward);
    sums_.resize(graph_.tensors.size());
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (vjp.gradients[i].valid()) Add(op.inputs[i], map[vjp.gradients[i].index()], backward);
    }
    sums_.resize(graph_.tensors.size());
    return OkStatus();
  }

  // Of forward ops without a scope, that of their neighbours: their layers' backward passes shall be alike.
  void FindScopes() {
    std::unordered_map<std::string_view, uint32_t> known;
    for (const std::string_view scope : AdoptScopes(graph_)) {
      const auto [it, is_new] = known.try_emplace(scope, static_cast<uint32_t>(scope_names_.size()));
      if (is_new) scope_names_.emplace_back(scope);
      scope_of_.push_back(it->second);
    }
  }

  uint32_t BackwardScope(OpId forward) {
    const auto [it, is_new] = scopes_.try_emplace(scope_of_[forward.index()], 0);
    if (is_new) {
      const std::string& scope = scope_names_[it->first];
      it->second = appender_.ScopeIndex(scope.empty() ? "backward" : StrCat(kBackward, scope));
    }
    return it->second;
  }

  // Result `r` of a forward op, which gets it if it had it not and the vjp reads it.
  TensorId ResultOf(OpId id, const Vjp& vjp, size_t r) {
    std::vector<TensorId>& outputs = graph_.op(id).outputs;
    if (r < outputs.size() && outputs[r].valid()) return outputs[r];
    if (!vjp.reads_result[r]) return outputs[0];  // any: nothing reads it
    const TensorId made = appender_.AddResult(id, r, vjp.graph.tensor(vjp.results[r]).type);
    sums_.resize(graph_.tensors.size());
    depends_.resize(graph_.tensors.size(), false);
    return made;
  }

  Appender& appender_;
  Graph& graph_;
  const AttributesRef no_attributes_;
  AttributesTable attributes_;
  std::vector<std::string> scope_names_;           // of the forward ops, each once
  std::vector<uint32_t> scope_of_;                 // per forward op, of these
  std::unordered_map<uint32_t, uint32_t> scopes_;  // of these -> backward
  std::vector<bool> depends_;                      // per forward tensor
  std::vector<Sum> sums_;                          // per tensor
  std::unordered_map<std::string, std::unique_ptr<KnownVjp>> vjps_;
};

}  // namespace

bool HasBuiltinVjp(std::string_view type) { return type == "If"; }

std::vector<WithoutVjp> FindWithoutVjp(Graph graph, std::span<const TensorId> targets, std::span<const TensorId> seeds,
                                       const RuleSet& rules) {
  const std::vector<bool> between = OpsBetween(graph, targets, seeds);
  Appender appender(graph, rules);
  Differentiator differentiator(appender);
  return differentiator.Without(between, targets);
}

Result<Graph> ExpandForVjp(Graph graph, std::span<const TensorId> targets, std::span<const TensorId> seeds,
                           std::span<const std::string> expanded, const RuleSet& rules) {
  std::unordered_map<std::string, bool> known;  // by form
  AttributesTable attributes;
  const auto is_chosen = [&](const Graph& now, const Op& op) {
    const std::string& own = now.type_of(op);
    const auto is_type = [&](const std::string& type) { return type == "*" || type == own; };
    const auto stays = [&](const std::string& type) { return type.starts_with('!') && type.substr(1) == own; };
    const bool is_named = std::ranges::any_of(expanded, is_type) && std::ranges::none_of(expanded, stays);
    if (is_named) return HasExpansion(own, rules);
    const auto [it, is_new] = known.try_emplace(FormOf(now, op, rules, attributes), false);
    if (is_new) it->second = !HasVjp(QueryOf(now, op), rules) && HasExpansion(now.type_of(op), rules);
    return it->second;
  };
  const std::vector<bool> between = OpsBetween(graph, targets, seeds);
  std::unordered_set<std::string_view> names;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (between[i] && is_chosen(graph, graph.ops[i])) names.insert(graph.ops[i].name);
  }
  if (names.empty()) return graph;
  DecomposeOptions options;
  options.chosen = [&](const Graph& now, const Op& op, int depth) {
    return depth == 0 ? names.contains(op.name) : is_chosen(now, op);
  };
  return Decompose(graph, rules, options);
}

Result<std::vector<TensorId>> Differentiate(Appender& appender, std::span<const Seed> seeds,
                                            std::span<const TensorId> targets) {
  return Differentiator(appender).Run(seeds, targets);
}

}  // namespace sbp
