#include "grad/grad.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "grad/appender.h"
#include "grad/differentiate.h"
#include "grad/loss.h"
#include "graph/graph.h"
#include "rule/rule_set.h"

namespace sbp {
namespace {

bool MatchesAny(const std::vector<std::string>& patterns, std::string_view name) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) { return GlobMatch(pattern, name); });
}

// What a flag's patterns say of the tensors of one role; each must match one.
Status CheckPatterns(const Graph& graph, std::string_view flag, const std::vector<std::string>& patterns,
                     TensorRole role) {
  for (const std::string& pattern : patterns) {
    std::vector<std::string> names;
    bool matches = false, floats = false;
    for (const Tensor& tensor : graph.tensors) {
      if (tensor.role != role) continue;
      names.push_back(tensor.name);
      if (!GlobMatch(pattern, tensor.name)) continue;
      matches = true;
      floats = floats || IsFloat(tensor.type.dtype);
      if (tensor.name != pattern || IsFloat(tensor.type.dtype)) continue;
      return BadInput(
          StrCat(flag, ": ", Quote(pattern), " is ", ToString(tensor.type), "; only floats have derivatives"));
    }
    const char* what = role == TensorRole::kParameter ? "parameter" : "input";
    if (!matches) {
      return BadInput(StrCat(flag, ": no ", what, " matches ", Quote(pattern), DidYouMean(pattern, names)));
    }
    if (!floats) return BadInput(StrCat(flag, ": no ", what, " that matches ", Quote(pattern), " is a float"));
  }
  return OkStatus();
}

// Small constants that came with the graph, not weights: of one element, or those that ops made.
Result<std::vector<TensorId>> FindTargets(const Graph& graph, const GradRequest& request) {
  SBP_RETURN_IF_ERROR(CheckPatterns(graph, "--wrt", request.wrt, TensorRole::kParameter));
  SBP_RETURN_IF_ERROR(CheckPatterns(graph, "--freeze", request.freeze, TensorRole::kParameter));
  SBP_RETURN_IF_ERROR(CheckPatterns(graph, "--wrt-inputs", request.wrt_inputs, TensorRole::kInput));
  std::vector<TensorId> targets;
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    const Tensor& tensor = graph.tensors[t];
    if (!IsFloat(tensor.type.dtype) || tensor.role == TensorRole::kActivation) continue;
    const bool is_parameter = tensor.role == TensorRole::kParameter;
    const bool wanted = is_parameter ? (request.wrt.empty() || MatchesAny(request.wrt, tensor.name)) &&
                                           !MatchesAny(request.freeze, tensor.name)
                                     : MatchesAny(request.wrt_inputs, tensor.name);
    if (wanted) targets.push_back(TensorId(t));
  }
  if (targets.empty()) return BadInput("no parameter is left to differentiate by");
  return targets;
}

// Drops ops that no output needs, and parameters that nothing reads any more.
void DropUnneeded(Graph& graph) {
  std::vector<bool> needed(graph.tensors.size(), false);
  const auto mark = [&](TensorId id) {
    if (id.valid()) needed[id.index()] = true;
  };
  for (const TensorId id : graph.outputs) mark(id);
  std::vector<bool> kept(graph.ops.size(), false);
  for (size_t i = graph.ops.size(); i-- > 0;) {
    const Op& op = graph.ops[i];
    const auto is_needed = [&](TensorId id) { return id.valid() && needed[id.index()]; };
    if (std::ranges::none_of(op.outputs, is_needed)) continue;
    kept[i] = true;
    std::ranges::for_each(op.inputs, mark);
    std::ranges::for_each(op.captures, mark);
  }
  for (const TensorId id : graph.inputs) mark(id);
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (!kept[i]) continue;
    for (TensorId& id : graph.ops[i].outputs) {
      if (id.valid() && !needed[id.index()]) id = TensorId();
    }
    while (!graph.ops[i].outputs.back().valid()) graph.ops[i].outputs.pop_back();
  }
  std::vector<TensorId> places(graph.tensors.size());
  std::vector<Tensor> tensors;
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    if (!needed[t]) continue;
    places[t] = TensorId(tensors.size());
    tensors.push_back(std::move(graph.tensors[t]));
  }
  graph.tensors = std::move(tensors);
  const auto move = [&](TensorId& id) { id = id.valid() ? places[id.index()] : id; };
  std::vector<Op> ops;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (!kept[i]) continue;
    for (auto* list : {&graph.ops[i].inputs, &graph.ops[i].outputs, &graph.ops[i].captures})
      std::ranges::for_each(*list, move);
    for (size_t r = 0; r < graph.ops[i].outputs.size(); ++r) {
      const TensorId id = graph.ops[i].outputs[r];
      if (id.valid()) graph.tensor(id).producer = OpId(ops.size());
    }
    ops.push_back(std::move(graph.ops[i]));
  }
  graph.ops = std::move(ops);
  for (auto* list : {&graph.inputs, &graph.outputs}) std::ranges::for_each(*list, move);
  std::erase_if(graph.ties, [&](const Tie& tie) { return !places[tie.output.index()].valid(); });
  for (Tie& tie : graph.ties) {
    move(tie.output);
    move(tie.input);
  }
}

std::vector<Kept> FindKept(const Graph& graph) {
  std::map<std::string, Kept> kept;
  for (const Op& op : graph.ops) {
    if (!graph.scope_of(op).starts_with("backward")) continue;
    std::set<TensorId> read(op.inputs.begin(), op.inputs.end());
    for (const TensorId id : read) {
      if (!id.valid()) continue;
      const Tensor& tensor = graph.tensor(id);
      if (!tensor.producer.valid() || graph.scope_of(graph.op(tensor.producer)).starts_with("backward")) continue;
      Kept& entry = kept[tensor.name];
      entry.tensor = tensor.name;
      entry.scope = graph.scope_of(graph.op(tensor.producer));
      entry.bytes = tensor.type.num_bytes();
      ++entry.readers;
    }
  }
  std::vector<Kept> list;
  for (auto& [name, entry] : kept) list.push_back(std::move(entry));
  return list;
}

// The gradient as an output of its own name: a tensor of ours takes it, of others a copy is made.
Result<TensorId> NameGradient(TensorId gradient, const std::string& name, std::set<TensorId>& named,
                              Appender& appender) {
  const Tensor& tensor = appender.graph().tensor(gradient);
  const bool is_ours =
      tensor.producer.valid() && (tensor.name.starts_with(kCotangentOf) || tensor.name.starts_with(kBackward));
  if (is_ours && named.insert(gradient).second) {
    appender.Rename(gradient, name);
    return gradient;
  }
  return appender.Call("Identity", {gradient}, {}, name, appender.ScopeIndex("backward"));
}

}  // namespace

Result<GradGraph> MakeGradGraph(Graph forward, const RuleSet& rules, const GradRequest& request) {
  GradGraph out;
  out.graph = std::move(forward);
  Loss loss;
  std::vector<std::string> targets;
  {
    Appender appender(out.graph, rules);
    SBP_ASSIGN_OR_RETURN(const std::vector<TensorId> ids, FindTargets(out.graph, request));
    SBP_ASSIGN_OR_RETURN(loss, AddLoss(request.loss, appender));
    // Seeds are outputs, so that expansion keeps their names.
    if (!loss.given) out.graph.outputs.clear();
    for (const Seed& seed : loss.seeds) {
      if (std::ranges::find(out.graph.outputs, seed.tensor) == out.graph.outputs.end()) {
        out.graph.outputs.push_back(seed.tensor);
      }
    }
    std::vector<TensorId> seeds;
    for (const Seed& seed : loss.seeds) seeds.push_back(seed.tensor);
    std::vector<std::string> seed_names;
    for (const TensorId id : seeds) seed_names.push_back(out.graph.tensor(id).name);
    for (const TensorId id : ids) targets.push_back(out.graph.tensor(id).name);
    SBP_ASSIGN_OR_RETURN(out.graph, ExpandForVjp(std::move(out.graph), ids, seeds, request.expanded, rules));
    const NameIndex index(out.graph);
    for (size_t i = 0; i < loss.seeds.size(); ++i) loss.seeds[i].tensor = index.tensor(seed_names[i]);
  }
  std::vector<TensorId> ids;
  {
    const NameIndex index(out.graph);
    for (const std::string& name : targets) ids.push_back(index.tensor(name));
  }
  // Operands of which an expansion reads the value, or nothing, are gone.
  for (size_t i = ids.size(); i-- > 0;) {
    if (ids[i].valid()) continue;
    out.unreachable.push_back(targets[i]);
    ids.erase(ids.begin() + static_cast<ptrdiff_t>(i));
    targets.erase(targets.begin() + static_cast<ptrdiff_t>(i));
  }
  Appender appender(out.graph, rules);
  SBP_RETURN_IF_ERROR(AddSeeds(loss, appender));
  SBP_ASSIGN_OR_RETURN(const std::vector<TensorId> gradients, Differentiate(appender, loss.seeds, ids));
  std::set<TensorId> named;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (!gradients[i].valid()) {
      out.unreachable.push_back(targets[i]);
      continue;
    }
    SBP_ASSIGN_OR_RETURN(const TensorId id, NameGradient(gradients[i], StrCat("grad/", targets[i]), named, appender));
    out.graph.outputs.push_back(id);
  }
  const bool any = std::ranges::any_of(gradients, &TensorId::valid);
  if (!any && !request.may_be_zero) return BadInput("the loss depends on no parameter that is asked for");
  DropUnneeded(out.graph);
  SBP_RETURN_IF_ERROR(Verify(out.graph, "the training graph"));
  out.kept = FindKept(out.graph);
  return out;
}

}  // namespace sbp
