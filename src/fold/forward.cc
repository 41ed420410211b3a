#include "fold/forward.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/text.h"
#include "fold/bind.h"
#include "fold/control.h"
#include "rule/assumed_dims.h"

namespace sbp {
namespace {

bool Conflicts(const TensorType& stated, const TensorType& inferred) {
  if (stated.dtype != DType::kUndefined && stated.dtype != inferred.dtype) return true;
  if (!stated.has_rank || stated.kind != inferred.kind) return false;
  if (stated.rank() != inferred.rank()) return true;
  for (size_t d = 0; d < stated.shape.size(); ++d) {
    if (stated.shape[d] != kUnknownDim && stated.shape[d] != inferred.shape[d]) return true;
  }
  return false;
}

}  // namespace

bool LooksLikeWeight(const TensorType& type) {
  const bool index_type = type.dtype == DType::kI64 || type.dtype == DType::kI32 || type.dtype == DType::kBool;
  return type.rank() > 0 && !index_type;
}

bool HasSubgraphs(const Op& op) {
  return std::ranges::any_of(op.attributes->entries(), [](const auto& entry) {
    return std::holds_alternative<std::shared_ptr<const Graph>>(entry.second);
  });
}

ForwardPass::ForwardPass(FoldContext& context, Graph graph)
    : context_(context), graph_(std::move(graph)), guesses_(graph_) {
  flags_.resize(graph_.tensors.size());
  values_.resize(graph_.tensors.size());
  for (size_t i = 0; i < graph_.tensors.size(); ++i) {
    const Tensor& tensor = graph_.tensors[i];
    if (tensor.role != TensorRole::kParameter) continue;
    values_[i] = tensor.literal;
    if (LooksLikeWeight(tensor.type)) flags_[i] = kWeight;
  }
  for (const std::string& type : graph_.op_types) foldable_.push_back(FindFoldableOp(type));
}

void ForwardPass::SetAssumed(TensorId id, const AssumedFlags& dims, const AssumedFlags& elements,
                             const LiteralRef& value) {
  assumptions_.SetDims(id, dims);
  assumptions_.SetElements(id, elements);
  if (elements.empty() || value == nullptr) return;
  SetValue(id, value);
  graph_.tensor(id).literal = value;
}

void ForwardPass::SetValue(TensorId tensor, LiteralRef value) {
  if (LooksLikeWeight(value->type)) flags_[tensor.index()] = kWeight;
  values_[tensor.index()] = std::move(value);
}

Result<Graph> ForwardPass::Run() {
  std::vector<Op> ops = std::move(graph_.ops);
  graph_.ops.clear();
  const bool rewrites = std::ranges::any_of(
      ops, [](const Op& op) { return HasSubgraphs(op) || op.attributes->Find(kFlattenFrom) != nullptr; });
  if (rewrites) {
    for (const Op& op : ops) op_names_.insert(op.name);
  }
  done_.reserve(ops.size());
  const Status processed = ProcessOps(std::move(ops));
  SBP_RETURN_IF_ERROR(guesses_.Undecided());  // whatever failed may follow from its size
  SBP_RETURN_IF_ERROR(processed);
  graph_.ops = std::move(done_);
  return std::move(graph_);
}

Status ForwardPass::ProcessOps(std::vector<Op> ops) {
  for (Op& op : ops) SBP_RETURN_IF_ERROR(ProcessOp(std::move(op)));
  return OkStatus();
}

std::string ForwardPass::Place(const Op& op) const {
  return StrCat("op ", Quote(op.name), " (", graph_.type_of(op), ")");
}

Status ForwardPass::ProcessOp(Op op) {
  if (--context_.op_budget < 0) return BadInput("the subgraphs nest too deeply to infer their shapes");
  if (op.attributes->Find(kFlattenFrom) != nullptr) {
    const int64_t axis = op.attributes->Int(kFlattenFrom, 1);  // read before the op is moved from
    SBP_RETURN_IF_ERROR(guesses_.Fix(op.inputs));
    return ExpandFlattening(std::move(op), axis);
  }
  if (!origins_.empty()) AssumeForms(op);
  if (Folded folded = Fold(op); !folded.values.empty()) {
    SBP_RETURN_IF_ERROR(guesses_.Fix(op.inputs));
    if (folded.flags || folded.sources || context_.options.keep_ops)
      return InferAssumed(std::move(op), std::move(folded));
    for (size_t r = 0; r < folded.values.size(); ++r) {
      if (op.outputs[r].valid()) SetFolded(op.outputs[r], std::move(folded.values[r]));
    }
    return OkStatus();
  }
  HandOnContainers(op);
  if (!HasSubgraphs(op)) return Infer(std::move(op));
  if (graph_.type_of(op) == "If") {
    SBP_ASSIGN_OR_RETURN(const std::optional<KnownBranch> branch, FindKnownBranch(*this, op));
    if (branch) return InlineBranch(op, *branch->graph, branch->first_capture);
  }
  SBP_RETURN_IF_ERROR(guesses_.Fix(op.inputs));
  SBP_RETURN_IF_ERROR(guesses_.Fix(op.captures));
  SBP_ASSIGN_OR_RETURN(ControlResults results, ResolveControl(*this, op));
  for (size_t r = 0; r < op.outputs.size(); ++r) {
    if (!op.outputs[r].valid()) continue;
    const TensorType stated = std::exchange(graph_.tensor(op.outputs[r]).type, results.types[r]);
    assumptions_.SetDims(op.outputs[r], std::move(results.assumed[r]));
    CheckStated(op, op.outputs[r], stated);
  }
  AddOp(std::move(op));
  return OkStatus();
}

// Identity of what is no tensor has no elements to copy: it is an op of containers, of which OptionalGetElement hands
// on what is not empty.
void ForwardPass::HandOnContainers(Op& op) {
  if (op.inputs.size() != 1 || !op.inputs[0].valid() || graph_.type_of(op) != "Identity") return;
  if (graph_.tensor(op.inputs[0]).type.kind != ValueKind::kTensor) op.type = TypeIndex("OptionalGetElement");
}

// Values are folded when they are shape arithmetic: no operand is a weight, or one was folded before.
bool ForwardPass::MayFold(const Op& op) const {
  bool weight = false;
  bool derived = false;
  for (const TensorId id : op.inputs) {
    if (!id.valid()) continue;
    weight = weight || (flags_[id.index()] & kWeight) != 0;
    derived = derived || (flags_[id.index()] & kDerived) != 0;
  }
  return derived || !weight;
}

// Nothing: a value that the row needs is not known.
std::optional<FoldRequest> ForwardPass::RequestFor(const Op& op, const FoldableOp& row) const {
  for (const TensorId id : op.inputs) {
    if (row.needs_values && id.valid() && values_[id.index()] == nullptr) return std::nullopt;
  }
  FoldRequest request;
  request.attributes = op.attributes;
  request.query.type = graph_.type_of(op);
  request.query.attributes = op.attributes.get();
  request.query.wanted.assign(op.outputs.size(), true);
  request.query.operands.reserve(op.inputs.size());
  for (const TensorId id : op.inputs) {
    OperandInfo& operand = request.query.operands.emplace_back();
    if (!id.valid()) continue;
    operand = {true, graph_.tensor(id).type, row.needs_values ? values_[id.index()].get() : nullptr};
  }
  return request;
}

ForwardPass::Folded ForwardPass::Fold(const Op& op) const {
  const FoldableOp* row = foldable_[op.type];
  if (row == nullptr || op.outputs.empty() || context_.literal_budget <= 0) return {};
  if (row->needs_values && !MayFold(op)) return {};
  std::optional<FoldRequest> request = RequestFor(op, *row);
  std::optional<Evaluated> results = request ? context_.evaluator.Run(*row, *request) : std::nullopt;
  if (!results) return {};
  Folded folded;
  folded.flags = assumptions_.ElementsOf(*row, request->query, op.inputs, *results);
  folded.sources = SourcesOf(context_.provenance, origins_, *row, request->query, op.inputs, *results);
  folded.values = std::move(results->values);
  return folded;
}

// The op stays, and what follows is planned with its assumed values.
Status ForwardPass::InferAssumed(Op op, Folded folded) {
  const std::vector<TensorId> results = op.outputs;
  SBP_RETURN_IF_ERROR(Infer(std::move(op)));
  for (size_t r = 0; r < results.size(); ++r) {
    if (!results[r].valid()) continue;
    Literal& value = folded.values[r];
    Tensor& tensor = graph_.tensor(results[r]);
    if (tensor.type != value.type) continue;
    context_.literal_budget -= value.type.num_elements();
    values_[results[r].index()] = std::make_shared<const Literal>(std::move(value));
    flags_[results[r].index()] = kDerived;
    if (folded.flags || context_.options.keep_ops) tensor.literal = values_[results[r].index()];
    if (folded.flags) assumptions_.SetElements(results[r], std::move((*folded.flags)[r]));
    if (folded.sources) SetSources(results[r], std::move((*folded.sources)[r]));
  }
  return OkStatus();
}

bool ForwardPass::ReadsAssumed(const Op& op) const {
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const TensorId id = op.inputs[i];
    if (!id.valid() || assumptions_.elements(id).empty()) continue;
    if (context_.rules.ReadsValue(graph_.type_of(op), i)) return true;
  }
  return false;
}

void ForwardPass::SetFolded(TensorId id, Literal value) {
  context_.literal_budget -= value.type.num_elements();
  Tensor& tensor = graph_.tensor(id);
  tensor.type = value.type;
  tensor.role = TensorRole::kParameter;
  tensor.producer = OpId();
  tensor.producer_index = 0;
  tensor.literal = std::make_shared<const Literal>(std::move(value));
  values_[id.index()] = tensor.literal;
  flags_[id.index()] = kDerived;
}

TensorType ForwardPass::Stated(TensorId id) const {
  const Tensor& tensor = graph_.tensor(id);
  return tensor.symbols.empty() ? tensor.type : WithBindings(tensor.type, tensor.symbols, context_.bindings);
}

Status ForwardPass::Infer(Op op) {
  OpQuery query;
  query.type = graph_.type_of(op);
  query.attributes = op.attributes.get();
  query.operands.reserve(op.inputs.size() + op.captures.size());
  for (const std::vector<TensorId>* list : {&op.inputs, &op.captures}) {
    for (const TensorId id : *list) {
      OperandInfo& operand = query.operands.emplace_back();
      if (!id.valid()) continue;
      operand.present = true;
      operand.type = graph_.tensor(id).type;
      // Of a value that may be another one no layout shall follow (what else follows was assumed before).
      const bool example = !sources(id).empty() && assumptions_.elements(id).empty();
      operand.value = example ? nullptr : values_[id.index()].get();
    }
  }
  for (const TensorId id : op.outputs) {
    query.wanted.push_back(id.valid());
    query.stated.push_back(id.valid() ? Stated(id) : TensorType{});
  }
  Result<RuleInstanceRef> instance = context_.cache.Instantiate(query, op.attributes);
  Status failure;
  if (!instance.ok()) {
    failure = WithAdvice(op, instance.status());
    query.may_be_open = true;
    instance = context_.cache.Instantiate(query, op.attributes);
    if (!instance.ok()) return failure;
  }
  if ((*instance)->missing_rule) SBP_RETURN_IF_ERROR(guesses_.Fix(op.inputs));
  SBP_RETURN_IF_ERROR((*instance)->missing_rule ? TakeMissingRule(op, **instance)
                                                : TakeResults(op, **instance, failure));
  NoteAssumedDims(op, **instance);
  AddOp(std::move(op));
  return OkStatus();
}

void ForwardPass::NoteAssumedDims(Op& op, const RuleInstance& instance) const {
  std::vector<int64_t> assumed;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (!op.inputs[i].valid()) continue;
    const AssumedFlags& flags = assumptions_.dims(op.inputs[i]);
    for (size_t d = 0; d < flags.size(); ++d) {
      if (flags[d]) assumed.insert(assumed.end(), {static_cast<int64_t>(i), static_cast<int64_t>(d)});
    }
  }
  FactorMap map;
  if (!assumed.empty()) map = instance.map;
  if (assumed.empty() || !KeepAssumedWhole(assumed, map)) return;
  Attributes attributes = *op.attributes;
  attributes.Set(std::string(kAssumedDims), std::move(assumed));
  op.attributes = std::make_shared<const Attributes>(std::move(attributes));
}

// Why a value that the op needs is not known. An input that decides it can be given.
Status ForwardPass::WithAdvice(const Op& op, const Status& failure) const {
  Status status = failure.WithContext(StrCat("op ", Quote(op.name)));
  if (status.message().find(kMustBeKnown) == std::string::npos) return status;
  std::string why;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const TensorId id = op.inputs[i];
    if (!id.valid() || values_[id.index()] != nullptr || !context_.rules.ReadsValue(graph_.type_of(op), i)) continue;
    const Cause cause = WhyUnknown(id);
    if (!cause.input.empty()) {
      const bool itself = outer_ == nullptr && graph_.tensor(id).role == TensorRole::kInput;
      return Status(status.code(),
                    StrCat(status.message(), itself ? "; it is" : "; it follows from", " the model's input ",
                           Quote(cause.input), ": give real inputs with --inputs X.npz"));
    }
    if (why.empty()) why = cause.text;
  }
  return why.empty() ? status : Status(status.code(), StrCat(status.message(), "; ", why));
}

Status ForwardPass::TakeResults(const Op& op, const RuleInstance& instance, const Status& failure) {
  for (const std::string& name : instance.ignored_attributes) {
    const std::string unknown = StrCat(graph_.type_of(op), " has no attribute ", Quote(name));
    if (context_.options.strict) return BadInput(StrCat(Place(op), ": ", unknown));
    context_.warnings.Add(unknown + "; it is not looked at", Place(op));
  }
  for (size_t r = 0; r < op.outputs.size(); ++r) {
    const TensorId id = op.outputs[r];
    if (!id.valid()) continue;
    if (instance.results[r].is_static()) continue;
    return BadInput(StrCat(Place(op), ": the shape of result ", Quote(graph_.tensor(id).name),
                           " depends on values that are not known and is not stated in the model",
                           instance.reason.empty() ? "" : StrCat(" (", instance.reason, ")")));
  }
  std::vector<TensorType> before(op.outputs.size()), stated(op.outputs.size());
  for (size_t r = 0; r < op.outputs.size(); ++r) {
    const TensorId id = op.outputs[r];
    if (!id.valid()) continue;
    stated[r] = Stated(id);
    before[r] = std::exchange(graph_.tensor(id).type, instance.results[r]);
  }
  std::vector<TensorId> operands = op.inputs;
  operands.insert(operands.end(), op.captures.begin(), op.captures.end());
  SBP_RETURN_IF_ERROR(guesses_.Take(operands, op.outputs, instance, failure));
  assumptions_.TakeResults(operands, op.outputs, instance, ReadsAssumed(op));
  for (size_t r = 0; r < op.outputs.size(); ++r) {
    const TensorId id = op.outputs[r];
    if (!id.valid()) continue;
    guesses_.Decide(id, stated[r]);
    CheckStated(op, id, before[r]);
    if (instance.bounded)
      bounded_.push_back({Place(op), id, instance.results[r], instance.stated_bound ? instance.reason : ""});
  }
  return OkStatus();
}

void ForwardPass::WarnOfBounds(const Graph& graph) {
  if (bounded_.empty()) return;
  std::vector<bool> written(graph.tensors.size());
  for (const Op& op : graph.ops) {
    for (const TensorId id : op.outputs) {
      if (id.valid()) written[id.index()] = true;
    }
  }
  for (const auto& [place, id, bound, reason] : bounded_) {
    if (!written[id.index()]) continue;
    const Tensor& tensor = graph.tensor(id);
    std::string why = reason.empty() ? "" : StrCat(" (", reason, ")");
    const bool open = std::ranges::count(bound.shape, kOpenSize) > 0;
    if (tensor.type != bound) why = StrCat(" (as stated further on", open ? "" : "; at most " + ToString(bound), ")");
    context_.warnings.Add("size taken at its upper bound",
                          StrCat(place, ": ", Quote(tensor.name), " ", ToString(tensor.type), why));
  }
}

namespace {

// "Tensor x1, Tensor x2": what a schema of `count` tensors could look like.
std::string ParameterList(char letter, size_t count) {
  if (count == 1) return StrCat("Tensor ", letter);
  std::vector<std::string> parameters(count);
  for (size_t i = 0; i < count; ++i) parameters[i] = StrCat("Tensor ", letter, i + 1);
  return Join(parameters, ", ");
}

}  // namespace

Status ForwardPass::TakeMissingRule(const Op& op, const RuleInstance& instance) {
  const std::string nearest = DidYouMean(graph_.type_of(op), context_.rules.Names());
  const std::string missing = StrCat(Place(op), ": there is no rule for this op", nearest);
  const std::string advice =
      StrCat("write one as a paragraph of text and give it with --rules FILE: op ", graph_.type_of(op), "(",
             ParameterList('x', op.inputs.size()), ") -> ", ParameterList('y', op.outputs.size()),
             ", then its rule, for example ... -> ... (rules/README.md)");
  if (context_.options.strict) return BadInput(StrCat(missing, "; ", advice));
  for (size_t r = 0; r < op.outputs.size(); ++r) {
    const TensorId id = op.outputs[r];
    if (!id.valid()) continue;
    const TensorType& stated = instance.results[r];
    if (!stated.is_static() || stated.dtype == DType::kUndefined) {
      return BadInput(StrCat(missing, ", and the model does not state the shape of its result ",
                             Quote(graph_.tensor(id).name), "; ", advice));
    }
    graph_.tensor(id).type = stated;
  }
  context_.warnings.Add(StrCat("no rule for ", graph_.type_of(op), nearest, ", planned replicated; ", advice),
                        Place(op));
  return OkStatus();
}

// `stated`: numbers only; what symbols say may be stale.
void ForwardPass::CheckStated(const Op& op, TensorId id, const TensorType& stated) {
  const TensorType& inferred = graph_.tensor(id).type;
  if (!Conflicts(stated, inferred)) return;
  context_.warnings.Add("the model states another type than follows from its ops",
                        StrCat(Place(op), ": ", Quote(graph_.tensor(id).name), " is stated as ", ToString(stated),
                               ", and is ", ToString(inferred)));
}

// A size given for a symbol that only results have must be theirs.
void ForwardPass::CheckBindings(const Op& op, TensorId id, const TensorType& inferred) {
  const Tensor& tensor = graph_.tensor(id);
  if (tensor.symbols.size() != inferred.shape.size()) return;
  for (size_t axis = 0; axis < tensor.symbols.size(); ++axis) {
    const auto given = context_.bindings_of_results.find(tensor.symbols[axis]);
    if (given == context_.bindings_of_results.end() || given->second == inferred.shape[axis]) continue;
    context_.warnings.Add("--dim gives another size than follows from the ops",
                          StrCat("--dim ", given->first, "=", given->second, ": ", Place(op), ": dimension ", axis,
                                 " of ", Quote(tensor.name), " is ", inferred.shape[axis]));
  }
}

OpId ForwardPass::AddOp(Op op) {
  const OpId id(done_.size());
  for (size_t r = 0; r < op.outputs.size(); ++r) {
    if (!op.outputs[r].valid()) continue;
    Tensor& tensor = graph_.tensor(op.outputs[r]);
    tensor.role = TensorRole::kActivation;
    tensor.producer = id;
    tensor.producer_index = static_cast<uint32_t>(r);
    tensor.literal = nullptr;
    if (!context_.bindings_of_results.empty()) CheckBindings(op, op.outputs[r], tensor.type);
  }
  done_.push_back(std::move(op));
  return id;
}

}  // namespace sbp
