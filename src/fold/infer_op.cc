#include "fold/infer_op.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/text.h"
#include "fold/assumed.h"
#include "fold/cause.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "rule/assumed_dims.h"
#include "rule/factor_map.h"
#include "rule/rule_set.h"

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

bool ReadsAssumed(const PassState& pass, const Op& op) {
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const TensorId id = op.inputs[i];
    if (!id.valid() || pass.assumptions().elements(id).empty()) continue;
    if (pass.context().rules.ReadsValue(pass.graph().type_of(op), i)) return true;
  }
  return false;
}

void NoteAssumedDims(const PassState& pass, Op& op, const RuleInstance& instance) {
  std::vector<int64_t> assumed;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (!op.inputs[i].valid()) continue;
    const AssumedFlags& flags = pass.assumptions().dims(op.inputs[i]);
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
Status WithAdvice(const PassState& pass, const Op& op, const Status& failure) {
  Status status = failure.WithContext(StrCat("op ", Quote(op.name)));
  if (status.message().find(kMustBeKnown) == std::string::npos) return status;
  std::string why;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const TensorId id = op.inputs[i];
    if (!id.valid() || pass.value(id) != nullptr || !pass.context().rules.ReadsValue(pass.graph().type_of(op), i))
      continue;
    const Cause cause = WhyUnknown(pass, id);
    if (!cause.input.empty()) {
      const bool itself = pass.outer() == nullptr && pass.graph().tensor(id).role == TensorRole::kInput;
      return Status(status.code(),
                    StrCat(status.message(), itself ? "; it is" : "; it follows from", " the model's input ",
                           Quote(cause.input), ": give real inputs with --inputs X.npz"));
    }
    if (why.empty()) why = cause.text;
  }
  return why.empty() ? status : Status(status.code(), StrCat(status.message(), "; ", why));
}

Status TakeResults(PassState& pass, const Op& op, const RuleInstance& instance, const Status& failure) {
  for (const std::string& name : instance.ignored_attributes) {
    const std::string unknown = StrCat(pass.graph().type_of(op), " has no attribute ", Quote(name));
    if (pass.context().options.strict) return BadInput(StrCat(pass.open().Place(op), ": ", unknown));
    pass.context().warnings.Add(unknown + "; it is not looked at", pass.open().Place(op));
  }
  for (size_t r = 0; r < op.outputs.size(); ++r) {
    const TensorId id = op.outputs[r];
    if (!id.valid()) continue;
    if (instance.results[r].is_static()) continue;
    return BadInput(StrCat(pass.open().Place(op), ": the shape of result ", Quote(pass.graph().tensor(id).name),
                           " depends on values that are not known and is not stated in the model",
                           instance.reason.empty() ? "" : StrCat(" (", instance.reason, ")")));
  }
  std::vector<TensorType> before(op.outputs.size()), stated(op.outputs.size());
  for (size_t r = 0; r < op.outputs.size(); ++r) {
    const TensorId id = op.outputs[r];
    if (!id.valid()) continue;
    stated[r] = pass.Stated(id);
    before[r] = std::exchange(pass.graph().tensor(id).type, instance.results[r]);
  }
  std::vector<TensorId> operands = op.inputs;
  operands.insert(operands.end(), op.captures.begin(), op.captures.end());
  SBP_RETURN_IF_ERROR(pass.guesses().Take(operands, op.outputs, instance, failure));
  pass.values().assumptions().TakeResults(operands, op.outputs, instance, ReadsAssumed(pass, op));
  for (size_t r = 0; r < op.outputs.size(); ++r) {
    const TensorId id = op.outputs[r];
    if (!id.valid()) continue;
    pass.guesses().Decide(id, stated[r]);
    CheckStated(pass, op, id, before[r]);
    if (instance.bounded) pass.NoteBound(op, id, instance.results[r], instance.stated_bound ? instance.reason : "");
  }
  return OkStatus();
}

// "Tensor x1, Tensor x2": what a schema of `count` tensors could look like.
std::string ParameterList(char letter, size_t count) {
  if (count == 1) return StrCat("Tensor ", letter);
  std::vector<std::string> parameters(count);
  for (size_t i = 0; i < count; ++i) parameters[i] = StrCat("Tensor ", letter, i + 1);
  return Join(parameters, ", ");
}

Status TakeMissingRule(PassState& pass, const Op& op, const RuleInstance& instance) {
  const std::string nearest = DidYouMean(pass.graph().type_of(op), pass.context().rules.Names());
  const std::string missing = StrCat(pass.open().Place(op), ": there is no rule for this op", nearest);
  const std::string advice =
      StrCat("write one as a paragraph of text and give it with --rules FILE: op ", pass.graph().type_of(op), "(",
             ParameterList('x', op.inputs.size()), ") -> ", ParameterList('y', op.outputs.size()),
             ", then its rule, for example ... -> ... (rules/README.md)");
  if (pass.context().options.strict) return BadInput(StrCat(missing, "; ", advice));
  for (size_t r = 0; r < op.outputs.size(); ++r) {
    const TensorId id = op.outputs[r];
    if (!id.valid()) continue;
    const TensorType& stated = instance.results[r];
    if (!stated.is_static() || stated.dtype == DType::kUndefined) {
      return BadInput(StrCat(missing, ", and the model does not state the shape of its result ",
                             Quote(pass.graph().tensor(id).name), "; ", advice));
    }
    pass.graph().tensor(id).type = stated;
  }
  pass.context().warnings.Add(
      StrCat("no rule for ", pass.graph().type_of(op), nearest, ", planned replicated; ", advice),
      pass.open().Place(op));
  return OkStatus();
}

}  // namespace

Status InferOp(PassState& pass, Op op) {
  OpQuery query;
  query.type = pass.graph().type_of(op);
  query.attributes = op.attributes.get();
  query.operands.reserve(op.inputs.size() + op.captures.size());
  for (const std::vector<TensorId>* list : {&op.inputs, &op.captures}) {
    for (const TensorId id : *list) {
      OperandInfo& operand = query.operands.emplace_back();
      if (!id.valid()) continue;
      operand.present = true;
      operand.type = pass.graph().tensor(id).type;
      // Of a value that may be another one no layout shall follow (what else follows was assumed before).
      const bool example = !pass.values().sources(id).empty() && pass.assumptions().elements(id).empty();
      operand.value = example ? nullptr : pass.value(id).get();
    }
  }
  for (const TensorId id : op.outputs) {
    query.wanted.push_back(id.valid());
    query.stated.push_back(id.valid() ? pass.Stated(id) : TensorType{});
  }
  Result<RuleInstanceRef> instance = pass.context().cache.Instantiate(query, op.attributes);
  Status failure;
  if (!instance.ok()) {
    failure = WithAdvice(pass, op, instance.status());
    query.may_be_open = true;
    instance = pass.context().cache.Instantiate(query, op.attributes);
    if (!instance.ok()) return failure;
  }
  if ((*instance)->missing_rule) SBP_RETURN_IF_ERROR(pass.guesses().Fix(op.inputs));
  SBP_RETURN_IF_ERROR((*instance)->missing_rule ? TakeMissingRule(pass, op, **instance)
                                                : TakeResults(pass, op, **instance, failure));
  NoteAssumedDims(pass, op, **instance);
  pass.PutOp(std::move(op));
  return OkStatus();
}

void CheckStated(const PassState& pass, const Op& op, TensorId id, const TensorType& stated) {
  const TensorType& inferred = pass.graph().tensor(id).type;
  if (!Conflicts(stated, inferred)) return;
  pass.context().warnings.Add("the model states another type than follows from its ops",
                              StrCat(pass.open().Place(op), ": ", Quote(pass.graph().tensor(id).name), " is stated as ",
                                     ToString(stated), ", and is ", ToString(inferred)));
}

}  // namespace sbp
