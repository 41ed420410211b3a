#include "grad/grad.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "grad/appender.h"
#include "grad/between.h"
#include "grad/custom.h"
#include "grad/differentiate.h"
#include "grad/drop.h"
#include "grad/loss.h"
#include "grad/lower.h"
#include "grad/narrow.h"
#include "grad/optimizer.h"
#include "grad/order.h"
#include "grad/precision.h"
#include "grad/second.h"
#include "grad/share.h"
#include "grad/train_mode.h"
#include "grad/trainable.h"
#include "grad/unroll.h"
#include "grad/update.h"
#include "graph/graph.h"
#include "graph/phases.h"
#include "graph/producers.h"
#include "graph/tensor_type.h"
#include "remat/policy.h"
#include "remat/recompute.h"
#include "rule/rule_set.h"

namespace sbp {
namespace {

bool MatchesAny(const std::vector<std::string>& patterns, std::string_view name) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) { return GlobMatch(pattern, name); });
}

// Sequences and optionals have none, whatever they hold.
bool HasDerivative(const TensorType& type) { return type.kind == ValueKind::kTensor && IsFloat(type.dtype); }

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
      floats = floats || HasDerivative(tensor.type);
      if (tensor.name != pattern || HasDerivative(tensor.type)) continue;
      const char* what = tensor.type.kind == ValueKind::kTensor ? "floats" : "tensors of floats";
      return BadInput(
          StrCat(flag, ": ", Quote(pattern), " is ", ToString(tensor.type), "; only ", what, " have derivatives"));
    }
    const char* what = role == TensorRole::kParameter ? "parameter" : "input";
    if (!matches) {
      return BadInput(StrCat(flag, ": no ", what, " matches ", Quote(pattern), DidYouMean(pattern, names)));
    }
    if (!floats) return BadInput(StrCat(flag, ": no ", what, " that matches ", Quote(pattern), " is a float"));
  }
  return OkStatus();
}

Result<std::vector<TensorId>> FindTargets(const Graph& graph, const RuleSet& rules, const GradRequest& request,
                                          std::vector<std::string>& constants) {
  SBP_RETURN_IF_ERROR(CheckPatterns(graph, "--wrt", request.wrt, TensorRole::kParameter));
  SBP_RETURN_IF_ERROR(CheckPatterns(graph, "--freeze", request.freeze, TensorRole::kParameter));
  SBP_RETURN_IF_ERROR(CheckPatterns(graph, "--wrt-inputs", request.wrt_inputs, TensorRole::kInput));
  const std::vector<bool> trainable = request.trains() ? FindTrainable(graph, rules) : std::vector<bool>();
  const bool tells_constants = TellsConstants(graph);
  const std::vector<bool> buffers = FindBuffers(graph);
  std::vector<TensorId> targets;
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    const Tensor& tensor = graph.tensors[t];
    if (!HasDerivative(tensor.type) || tensor.role == TensorRole::kActivation) continue;
    if (request.wrt.empty() && tensor.literal != nullptr && tells_constants) continue;
    if (request.wrt.empty() && buffers[t]) continue;
    const bool is_parameter = tensor.role == TensorRole::kParameter;
    bool wanted = is_parameter ? (request.wrt.empty() || MatchesAny(request.wrt, tensor.name)) &&
                                     !MatchesAny(request.freeze, tensor.name)
                               : MatchesAny(request.wrt_inputs, tensor.name);
    if (wanted && request.trains() && request.wrt.empty() && !trainable[t]) {
      constants.push_back(tensor.name);
      wanted = false;
    }
    if (wanted) targets.push_back(TensorId(t));
  }
  if (targets.empty()) return BadInput("no parameter is left to differentiate by");
  return targets;
}

// The gradient as an output of its own name: a tensor of ours takes it, of others a copy is made.
Result<TensorId> NameGradient(TensorId gradient, const std::string& name, std::vector<bool>& named,
                              Appender& appender) {
  const Tensor& tensor = appender.graph().tensor(gradient);
  const bool is_ours =
      tensor.producer.valid() && (tensor.name.starts_with(kCotangentOf) || tensor.name.starts_with(kBackward));
  if (is_ours && !named[gradient.index()]) {
    named[gradient.index()] = true;
    appender.Rename(gradient, name);
    return gradient;
  }
  return appender.Call("Identity", {gradient}, {}, name, appender.ScopeIndex("backward"));
}

// Of each name, the tensor; invalid where there is none. `before`: where they were, and most still are.
std::vector<TensorId> FindNamed(const Graph& graph, const std::vector<std::string>& names,
                                std::vector<TensorId> before) {
  std::optional<NameIndex> index;
  for (size_t i = 0; i < names.size(); ++i) {
    TensorId& id = before[i];
    if (id.valid() && id.index() < graph.tensors.size() && graph.tensor(id).name == names[i]) continue;
    if (!index) index.emplace(graph);
    id = index->tensor(names[i]);
  }
  return before;
}

constexpr int64_t kMostMicroBatches = 1'000'000;  // a run makes one after the other

// Do the flags go together?
Status CheckRequest(const GradRequest& request) {
  const UpdateRequest& update = request.update;
  if (update.accumulate < 1) {
    return BadInput(StrCat("--accumulate: expected at least 1 micro-batch, not ", update.accumulate));
  }
  if (update.accumulate > kMostMicroBatches) {
    return BadInput(
        StrCat("--accumulate: expected at most ", kMostMicroBatches, " micro-batches, not ", update.accumulate));
  }
  if (!(update.clip_norm >= 0)) return BadInput("--clip-norm: expected a norm above 0");
  if (!(update.loss_scale > 0) || std::isinf(update.loss_scale)) {
    return BadInput("--loss-scale: expected a finite number above 0");
  }
  SBP_RETURN_IF_ERROR(ParseRemat(request.remat.empty() ? "none" : request.remat).status());
  if (request.hvp && request.compute == kNarrowCompute) return BadInput("--hvp: goes without --compute fp8");
  if (request.hvp && !request.remat.empty()) return BadInput("--hvp: goes without --remat");
  if (request.hvp && request.trains()) return BadInput("--hvp: an optimizer takes gradients; leave one of the two out");
  if (request.trains()) {
    if (request.wrt_inputs.empty()) return OkStatus();
    return BadInput("--wrt-inputs: an optimizer updates parameters; inputs have gradients without --optimizer");
  }
  const std::pair<bool, std::string_view> needs[] = {{update.accumulate > 1, "--accumulate"},
                                                     {update.gradient_buffers, "--gradient-buffers"},
                                                     {update.clip_norm > 0, "--clip-norm"},
                                                     {update.loss_scale != 1, "--loss-scale"},
                                                     {update.optimizer.weight_decay.has_value(), "--weight-decay"},
                                                     {!update.optimizer.no_decay.empty(), "--no-decay"},
                                                     {!update.optimizer.state_type.empty(), "--state-dtype"}};
  for (const auto& [given, flag] : needs) {
    if (given) return BadInput(StrCat(flag, " needs --optimizer"));
  }
  return OkStatus();
}

// The forward graph as it is differentiated, with the loss, and what by. Names stand for tensors: ids change on the
// way.
struct Forward {
  Graph graph;
  Loss loss;
  std::vector<std::string> targets;
  std::vector<TensorId> targets_at;  // where they are in `graph`
};

Result<Forward> MakeForward(Graph graph, const RuleSet& rules, const GradRequest& request, GradGraph& out) {
  Forward forward{.graph = std::move(graph)};
  SBP_ASSIGN_OR_RETURN(const std::vector<TensorId> wanted, FindTargets(forward.graph, rules, request, out.constants));
  for (const TensorId id : wanted) forward.targets.push_back(forward.graph.tensor(id).name);
  if (!request.compute.empty()) {
    SBP_ASSIGN_OR_RETURN(const DType type, ParseComputeType(request.compute));
    SBP_ASSIGN_OR_RETURN(forward.graph, LowerPrecision(std::move(forward.graph), forward.targets, type, rules));
  }
  Appender appender(forward.graph, rules);
  SBP_ASSIGN_OR_RETURN(forward.loss, AddLoss(request.loss, appender));
  // Seeds are outputs, so that expansion keeps their names.
  std::vector<TensorId>& outputs = forward.graph.outputs;
  if (!forward.loss.given) outputs.clear();
  const std::vector<TensorId> labels(forward.loss.labels.valid() ? 1 : 0, forward.loss.labels);
  std::vector<std::string> label_names;
  for (const TensorId id : labels) label_names.push_back(forward.graph.tensor(id).name);
  std::vector<TensorId> seeds;
  std::vector<std::string> seed_names;
  for (const Seed& seed : forward.loss.seeds) {
    if (std::ranges::find(outputs, seed.tensor) == outputs.end()) outputs.push_back(seed.tensor);
    seeds.push_back(seed.tensor);
    seed_names.push_back(forward.graph.tensor(seed.tensor).name);
  }
  if (request.train_mode) SBP_RETURN_IF_ERROR(ToTrainMode(appender));
  const std::vector<TensorId> targets = FindNamed(forward.graph, forward.targets, wanted);
  SBP_ASSIGN_OR_RETURN(forward.graph, Unroll(std::move(forward.graph), targets, seeds));
  SBP_ASSIGN_OR_RETURN(forward.graph, ExpandForVjp(std::move(forward.graph), targets, seeds, request.expanded, rules));
  const std::vector<TensorId> expanded = FindNamed(forward.graph, seed_names, seeds);
  for (size_t i = 0; i < expanded.size(); ++i) forward.loss.seeds[i].tensor = expanded[i];
  if (!forward.loss.given) forward.loss.loss = expanded[0];
  if (!labels.empty()) forward.loss.labels = FindNamed(forward.graph, label_names, labels)[0];
  // Operands of which an expansion reads the value, or nothing, are gone.
  forward.targets_at = FindNamed(forward.graph, forward.targets, targets);
  for (size_t i = forward.targets.size(); i-- > 0;) {
    if (forward.targets_at[i].valid()) continue;
    out.unreachable.push_back(forward.targets[i]);
    forward.targets.erase(forward.targets.begin() + static_cast<ptrdiff_t>(i));
    forward.targets_at.erase(forward.targets_at.begin() + static_cast<ptrdiff_t>(i));
  }
  return forward;
}

// What the backward pass may read anew: weights that are matrices, trained or not, or what is computed with in their
// place.
std::vector<TensorId> RefetchedTensors(const Graph& graph, const RuleSet& rules) {
  std::unordered_set<TensorId> parameters;
  std::vector<TensorId> tensors;
  const std::vector<bool> trainable = FindTrainable(graph, rules);
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    if (!trainable[t] || graph.tensors[t].type.rank() < 2) continue;
    parameters.insert(TensorId(t));
    tensors.emplace_back(t);
  }
  for (const Op& op : graph.ops) {
    if (graph.type_of(op) != "Cast" || !parameters.contains(op.inputs[0])) continue;
    tensors.push_back(op.outputs[0]);
    parameters.insert(op.outputs[0]);  // casts of casts, too
  }
  return tensors;
}

Result<RematSummary> AddRemat(const GradRequest& request, const std::vector<Trained>& trained, Graph& graph,
                              const RuleSet& rules) {
  SBP_ASSIGN_OR_RETURN(const std::vector<RematEntry> entries, ParseRemat(request.remat));
  std::vector<TensorId> gradients;
  for (const Trained& entry : trained) gradients.push_back(entry.gradient);
  return Recompute(graph, gradients, entries, rules);
}

}  // namespace

Result<GradGraph> MakeGradGraph(Graph forward, const RuleSet& rules, const GradRequest& asked) {
  GradGraph out;
  SBP_RETURN_IF_ERROR(CheckRequest(asked));
  GradRequest request = asked;
  if (!request.custom_vjp.empty()) {
    SBP_ASSIGN_OR_RETURN(request.expanded, ExpandedOps(request.custom_vjp, rules));
  }
  Optimizer optimizer;
  if (request.trains()) {
    SBP_ASSIGN_OR_RETURN(optimizer, ParseOptimizer(request.update.optimizer, rules));
  }
  SBP_ASSIGN_OR_RETURN(Forward made, MakeForward(std::move(forward), rules, request, out));
  out.graph = std::move(made.graph);
  Appender appender(out.graph, rules);
  if (request.update.accumulate > 1) SBP_RETURN_IF_ERROR(AddShare(made.loss, appender));
  SBP_RETURN_IF_ERROR(AddSeeds(made.loss, request.update.loss_scale, appender));
  const std::vector<TensorId> targets = FindNamed(out.graph, made.targets, made.targets_at);
  SBP_ASSIGN_OR_RETURN(const std::vector<TensorId> gradients, Differentiate(appender, made.loss.seeds, targets));
  std::vector<bool> named(out.graph.tensors.size(), false);
  std::vector<Trained> trained;
  std::vector<std::string> names;  // of what is trained
  for (size_t i = 0; i < targets.size(); ++i) {
    if (!gradients[i].valid()) {
      out.unreachable.push_back(made.targets[i]);
      continue;
    }
    SBP_ASSIGN_OR_RETURN(const TensorId id,
                         NameGradient(gradients[i], StrCat("grad/", made.targets[i]), named, appender));
    trained.push_back({targets[i], id});
    names.push_back(made.targets[i]);
  }
  ShareEqualOps(out.graph, rules);
  if (trained.empty() && !request.may_be_zero) return BadInput("the loss depends on no parameter that is asked for");
  std::optional<Appender> anew;  // ops have moved and names have come
  if (request.compute == kNarrowCompute) {
    SBP_ASSIGN_OR_RETURN(const int64_t products, NarrowProducts(out.graph, trained, rules));
    if (products == 0) return BadInput("--compute fp8: no product of data and weights but the last");
    anew.emplace(out.graph, rules);
  }
  if (!request.remat.empty()) {
    SBP_ASSIGN_OR_RETURN(out.remat, AddRemat(request, trained, out.graph, rules));
    if (out.remat.ops > 0) anew.emplace(out.graph, rules);
  }
  Appender& last = anew ? *anew : appender;
  const auto place = out.remat.ops > 0 || !request.trains() ? RefetchPlace::kBeforeReader : RefetchPlace::kLate;
  if (!request.hvp) SBP_RETURN_IF_ERROR(RefetchForBackward(RefetchedTensors(out.graph, rules), place, last));
  if (request.trains()) {
    SBP_RETURN_IF_ERROR(AddUpdates(optimizer, request.update, trained, made.loss, last));
  } else {
    for (const Trained& entry : trained) out.graph.outputs.push_back(entry.gradient);
  }
  DropUnneeded(out.graph);
  if (request.hvp) {
    SBP_ASSIGN_OR_RETURN(out.graph, AddHessianProducts(std::move(out.graph), names, request.expanded, rules));
    DropUnneeded(out.graph);
  }
  if (request.decompose) {
    SBP_ASSIGN_OR_RETURN(out.graph, LowerGraph(out.graph, rules));
  }
  SBP_RETURN_IF_ERROR(Verify(out.graph, "the training graph"));
  return out;
}

std::vector<std::string> NotesOn(const GradGraph& made) {
  constexpr size_t kNamed = 5;
  std::vector<std::string> notes;
  if (const size_t count = made.constants.size(); count > 0) {
    const std::span<const std::string> first = std::span(made.constants).first(std::min(count, kNamed));
    notes.push_back(StrCat("not trained, being constants: ", Join(first, ", "),
                           count > kNamed ? StrCat(" and ", count - kNamed, " more") : "", " (--wrt NAME trains one)"));
  }
  for (const std::string& name : made.unreachable) {
    notes.push_back(StrCat("the loss does not depend on ", Quote(name), "; it gets no gradient"));
  }
  return notes;
}

}  // namespace sbp
