#include "api/reference.h"

#include <algorithm>
#include <utility>

#include "api/grad.h"
#include "api/model.h"
#include "api/tensors.h"
#include "base/ids.h"
#include "base/text.h"
#include "fold/resolve.h"
#include "fold/resolve_options.h"
#include "grad/request.h"
#include "graph/cut.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"

namespace sbp {
namespace {

// The values of the run itself, not the plan's: those that shape the graph agree.
void TakeValues(const std::vector<TensorData>& inputs, ResolveOptions& options) {
  for (const TensorData& data : inputs) {
    LiteralRef value = SmallValue(data);
    if (value == nullptr) continue;
    std::erase_if(options.input_values, [&](const auto& entry) { return entry.first == data.name; });
    options.input_values.emplace_back(data.name, std::move(value));
  }
}

Status KeepUntil(const std::string& until, Graph& graph) {
  const TensorId id = NameIndex(graph).tensor(until);
  if (!id.valid()) {
    return BadInput(StrCat("--until ", Quote(until), ": the model has no such tensor outside of the plan's graph; ",
                           "give --no-reference"));
  }
  Graph part = CutGraph(graph, id).graph;
  graph = std::move(part);
  return OkStatus();
}

Status CheckOutputs(const Plan& plan, const Graph& graph) {
  const NameIndex names(graph);
  for (const TensorId id : plan.graph.outputs) {
    const std::string& name = plan.graph.tensor(id).name;
    const TensorId other = names.tensor(name);
    if (other.valid() && std::ranges::count(graph.outputs, other) > 0) continue;
    return BadInput(StrCat("the plan's output ", Quote(name), " is no output of the model; plan it again"));
  }
  return OkStatus();
}

// Constants that planning computed in the file's narrower type are what they are in a run in a wider one: `graph` reads
// the plan's values. Whether these are right, a run in the file's types shows.
void TakeFolded(const Graph& planned, DType wide, Graph& graph) {
  const NameIndex names(graph);
  std::vector<TensorId> stands_for(graph.tensors.size());
  for (const Tensor& constant : planned.tensors) {
    if (constant.role != TensorRole::kParameter || constant.literal == nullptr) continue;
    const TensorId id = names.tensor(constant.name);
    if (!id.valid() || !graph.tensor(id).producer.valid() || std::ranges::count(graph.outputs, id) > 0) continue;
    const TensorType type = graph.tensor(id).type;
    if (!IsFloat(type.dtype) || DTypeBits(type.dtype) >= DTypeBits(wide)) continue;
    const std::string computed = StrCat(constant.name, "/computed");
    if (names.tensor(computed).valid()) continue;
    Literal literal = *constant.literal;
    literal.type.dtype = type.dtype;
    literal.raw.clear();
    Tensor folded{.name = constant.name, .type = type, .role = TensorRole::kParameter};
    folded.literal = std::make_shared<const Literal>(std::move(literal));
    stands_for[id.index()] = TensorId(graph.tensors.size());
    graph.tensors.push_back(std::move(folded));
    graph.tensor(id).name = computed;
  }
  for (Op& op : graph.ops) {
    for (auto* list : {&op.inputs, &op.captures}) {
      for (TensorId& id : *list) {
        if (id.valid() && id.index() < stands_for.size() && stands_for[id.index()].valid()) id = stands_for[id.index()];
      }
    }
  }
}

// Values for what the reference reads: the run's inputs.
std::vector<TensorData> KnownOf(const Graph& graph, const std::vector<TensorData>& inputs) {
  const NameIndex names(graph);
  std::vector<TensorData> known;
  for (const TensorData& data : inputs) {
    if (names.tensor(data.name).valid()) known.push_back(data);
  }
  return known;
}

// Ties that the plan was told, or found by name: the model's file has none.
void TakeTies(const Graph& plan, Graph& graph) {
  if (!graph.ties.empty()) return;
  const NameIndex names(graph);
  for (const Tie& tie : plan.ties) {
    const TensorId output = names.tensor(plan.tensor(tie.output).name),
                   input = names.tensor(plan.tensor(tie.input).name);
    if (output.valid() && input.valid()) graph.ties.push_back({output, input, tie.restarts});
  }
}

}  // namespace

ResolveOptions ResolveOptionsOf(const Plan& plan, const Graph& model) {
  ResolveOptions options;
  options.bindings = plan.graph.bindings;
  options.strict = plan.options.strict;
  options.simplify = plan.options.simplify;
  options.allow_empty = true;
  const NameIndex names(model);
  for (const TensorId id : plan.graph.inputs) {
    const Tensor& tensor = plan.graph.tensor(id);
    const TensorId other = names.tensor(tensor.name);
    if (other.valid() && !model.tensor(other).type.has_rank)
      options.input_shapes.emplace_back(tensor.name, tensor.type.shape);
  }
  for (const Assumption& assumption : plan.graph.assumptions)
    options.input_values.emplace_back(assumption.input, assumption.value);
  if (const Result<GradRequest> trained = ReadFlags(plan.options.train); trained.ok()) options.asked_for = trained->wrt;
  return options;
}

Result<std::unique_ptr<Reference>> LoadReference(const Plan& plan, const RuleSet& rules,
                                                 const ReferenceRequest& request, TensorStore& plan_store) {
  SBP_ASSIGN_OR_RETURN(LoadedModel model, LoadModelFile(request.model_path));
  ResolveOptions options = ResolveOptionsOf(*request.whole, model.graph);
  const std::vector<std::pair<std::string, std::string>>& train = request.whole->options.train;
  options.keep_ops = train.empty();  // a mistake in folding would be made here, too
  options.keep_floats = !train.empty();
  options.simplify = false;
  TakeValues(*request.inputs, options);
  Result<Resolved> resolved = Resolve(std::move(model.graph), rules, options);
  if (!resolved.ok()) {
    return resolved.status().WithContext(
        StrCat("the reference, ", request.model_path, " with the dimensions and assumptions of the plan"));
  }
  if (!train.empty()) {
    SBP_ASSIGN_OR_RETURN(resolved, MakeTrainingGraph(std::move(resolved->graph), rules, train, {.keep_ops = true}));
  }
  auto reference = std::make_unique<Reference>();
  reference->stored = std::move(resolved->graph);
  TakeTies(request.whole->graph, reference->stored);
  if (!request.until.empty()) SBP_RETURN_IF_ERROR(KeepUntil(request.until, reference->stored));
  SBP_RETURN_IF_ERROR(CheckOutputs(plan, reference->stored));
  if (request.dtype && request.takes_folded) TakeFolded(plan.graph, *request.dtype, reference->stored);
  reference->graph = request.dtype ? Retyped(reference->stored, rules, *request.dtype) : reference->stored;
  reference->store =
      std::make_unique<TensorStore>(reference->graph, reference->stored, request.seed, ReadDataOf(request.model_path));
  reference->store->ShareRandom(plan_store);
  SBP_RETURN_IF_ERROR(reference->store->Give(KnownOf(reference->graph, *request.inputs)).WithContext("--inputs"));
  return reference;
}

Twin TwinData::twin() const {
  if (reference != nullptr) return {&reference->graph, reference->store.get()};
  return store == nullptr ? Twin() : Twin{&graph, store.get()};
}

Result<std::unique_ptr<TwinData>> MakeTwin(const Plan& plan, const Graph& stored, const RuleSet& rules,
                                           const ReferenceRequest& request, TensorStore& plan_store) {
  auto made = std::make_unique<TwinData>();
  if (!request.model_path.empty()) {
    SBP_ASSIGN_OR_RETURN(made->reference, LoadReference(plan, rules, request, plan_store));
    return made;
  }
  made->graph = request.dtype ? Retyped(stored, rules, *request.dtype) : stored;
  made->store = std::make_unique<TensorStore>(made->graph, stored, request.seed, DataReader());
  made->store->ShareRandom(plan_store);
  SBP_RETURN_IF_ERROR(made->store->Give(*request.inputs));
  return made;
}

}  // namespace sbp
