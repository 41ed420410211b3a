#include "fold/op_program.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/ids.h"
#include "base/text.h"
#include "decompose/decompose.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "kernel/literals.h"
#include "kernel/view.h"
#include "rule/factor_map.h"
#include "rule/op_query.h"

namespace sbp {
namespace {

constexpr int kMostNested = 16;  // expansions within expansions

}  // namespace

class OpProgramBuilder {
 public:
  OpProgramBuilder(const RuleSet& rules, std::string_view op)
      : rules_(rules), op_(op), left_(ExpansionBudgetOf(op, rules)) {}

  Result<OpProgram> Run(const OpQuery& query, const AttributesRef& attributes, const RuleInstance& instance) {
    std::vector<int> inputs;
    for (const OperandInfo& operand : query.operands) {
      if (operand.present && operand.type.kind != ValueKind::kTensor) return BadInput("an operand is no tensor");
      inputs.push_back(operand.present ? static_cast<int>(program_.slots_.size()) : -1);
      program_.slots_.push_back({});
      if (operand.present) program_.slots_.back().view = WholeView(operand.type.dtype, operand.type.shape, nullptr);
    }
    SBP_ASSIGN_OR_RETURN(program_.results_, Emit(query, attributes, instance.results, inputs, 0));
    return std::move(program_);
  }

 private:
  Result<int> AddSlot(const TensorType& type, const LiteralRef& constant = nullptr) {
    if (type.kind != ValueKind::kTensor || !type.is_static() || type.num_elements() > OpProgram::kMostElements)
      return BadInput(StrCat(ToString(type), " is not computed here"));
    if (constant != nullptr && constant->type != type) return Defect("a constant is not of its tensor's type");
    program_.slots_.push_back({WholeView(type.dtype, type.shape, nullptr), constant});
    return static_cast<int>(program_.slots_.size() - 1);
  }

  TensorView ViewOf(int slot) const {
    return slot < 0 ? TensorView() : program_.slots_[static_cast<size_t>(slot)].view;
  }

  // The slots of the results; -1: not wanted.
  Result<std::vector<int>> Emit(const OpQuery& query, const AttributesRef& attributes,
                                const std::vector<TensorType>& results, const std::vector<int>& inputs, int depth) {
    OpProgram::Step step{nullptr, attributes, inputs, {}, {}};
    for (const int slot : inputs) step.call.inputs.push_back(ViewOf(slot));
    for (size_t r = 0; r < results.size(); ++r) {
      TensorView& view = step.call.outputs.emplace_back();
      if (query.wanted[r]) view = WholeView(results[r].dtype, results[r].shape, nullptr);
    }
    const KernelRow* kernel = FindKernel(query.type, DecidingType(step.call.inputs, step.call.outputs));
    if (kernel == nullptr) return Expand(query, inputs, depth);
    for (size_t r = 0; r < results.size(); ++r) {
      SBP_ASSIGN_OR_RETURN(const int slot, query.wanted[r] ? AddSlot(results[r]) : Result<int>(-1));
      step.outputs.push_back(slot);
    }
    step.run = kernel->run;
    step.call.op_type = kernel->op;
    step.call.attributes = attributes.get();
    std::vector<int> outputs = step.outputs;
    program_.steps_.push_back(std::move(step));
    return outputs;
  }

  Result<std::vector<int>> Expand(const OpQuery& query, const std::vector<int>& inputs, int depth) {
    if (depth == kMostNested) {
      return ExpansionTooLarge(query.type, rules_,
                               StrCat("does not end: more than ", kMostNested, " within each other"));
    }
    SBP_ASSIGN_OR_RETURN(const Graph graph, ExpandOp(query, rules_));
    left_ -= static_cast<int64_t>(graph.ops.size()) + 1;
    if (left_ < 0) return ExpansionTooLarge(op_, rules_, "is of too many ops");
    std::vector<int> slots(graph.tensors.size(), -1);
    size_t next = 0;
    for (const int slot : inputs) {
      if (slot < 0) continue;
      if (next == graph.inputs.size()) return Defect("an expansion lacks inputs");
      slots[graph.inputs[next++].index()] = slot;
    }
    for (size_t t = 0; t < graph.tensors.size(); ++t) {
      const Tensor& tensor = graph.tensors[t];
      if (tensor.role != TensorRole::kParameter) continue;
      if (tensor.literal == nullptr) return BadInput("an expansion's constant has no value");
      SBP_ASSIGN_OR_RETURN(slots[t], AddSlot(tensor.type, tensor.literal));
    }
    for (const Op& op : graph.ops) SBP_RETURN_IF_ERROR(EmitInner(graph, op, slots, depth));
    std::vector<int> results;
    size_t output = 0;
    for (const bool wanted : query.wanted) {
      if (wanted && output == graph.outputs.size()) return Defect("an expansion lacks outputs");
      results.push_back(wanted ? slots[graph.outputs[output++].index()] : -1);
    }
    return results;
  }

  Status EmitInner(const Graph& graph, const Op& op, std::vector<int>& slots, int depth) {
    const auto slot_of = [&](TensorId id) { return id.valid() ? slots[id.index()] : -1; };
    const OpQuery query = QueryFor(graph, rules_, op);
    std::vector<int> inputs;
    std::vector<TensorType> results;
    for (const TensorId id : op.inputs) inputs.push_back(slot_of(id));
    for (const TensorId id : op.outputs) results.push_back(id.valid() ? graph.tensor(id).type : TensorType{});
    SBP_ASSIGN_OR_RETURN(const std::vector<int> outputs, Emit(query, op.attributes, results, inputs, depth + 1));
    for (size_t r = 0; r < op.outputs.size(); ++r) {
      if (op.outputs[r].valid()) slots[op.outputs[r].index()] = outputs[r];
    }
    return OkStatus();
  }

  const RuleSet& rules_;
  const std::string_view op_;
  int64_t left_;  // ops, until nothing is left to expand
  OpProgram program_;
};

Result<OpProgram> OpProgram::Make(const OpQuery& query, const AttributesRef& attributes, const RuleInstance& instance,
                                  const RuleSet& rules) {
  return OpProgramBuilder(rules, query.type).Run(query, attributes, instance);
}

Status OpProgram::RunStep(Step& step, Scratch& memory) {
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    if (step.inputs[i] < 0) continue;
    TensorView& view = step.call.inputs[i];
    view.data = slots_[static_cast<size_t>(step.inputs[i])].now->data;
    if (view.data == nullptr && view.elements() > 0) return RunFailed("an operand is not known");
  }
  for (size_t r = 0; r < step.outputs.size(); ++r) {
    if (step.outputs[r] < 0) continue;
    TensorView& view = step.call.outputs[r];
    const TensorView& planned = slots_[static_cast<size_t>(step.outputs[r])].view;
    if (view.shape != planned.shape) view = planned;  // the run before wrote other sizes
    view.data = planned.data;
  }
  step.call.scratch = &memory;
  SBP_RETURN_IF_ERROR(step.run(step.call));
  for (size_t r = 0; r < step.outputs.size(); ++r) {
    if (step.outputs[r] < 0) continue;
    Slot& slot = slots_[static_cast<size_t>(step.outputs[r])];
    slot.now = &step.call.outputs[r];
    // What follows was made for the planned sizes.
    if (slot.now->shape != slot.view.shape && steps_.size() > 1) return RunFailed("data decide a size within");
  }
  return OkStatus();
}

Result<std::vector<const TensorView*>> OpProgram::Run(std::span<std::byte* const> operands, Scratch& memory) {
  for (size_t s = 0; s < slots_.size(); ++s) {
    Slot& slot = slots_[s];
    slot.now = &slot.view;
    slot.view.data = s < operands.size() ? operands[s] : memory.Allocate(slot.view.bytes());
    if (slot.constant != nullptr) SBP_RETURN_IF_ERROR(WriteElements(*slot.constant, slot.view.data));
  }
  for (Step& step : steps_) SBP_RETURN_IF_ERROR(RunStep(step, memory));
  std::vector<const TensorView*> results;
  results.reserve(results_.size());
  for (const int slot : results_) {
    if (slot < 0) return Defect("a result is missing");
    results.push_back(slots_[static_cast<size_t>(slot)].now);
  }
  return results;
}

}  // namespace sbp
