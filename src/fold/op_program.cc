#include "fold/op_program.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "decompose/decompose.h"
#include "kernel/literals.h"
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
      program_.slots_.push_back({operand.present ? operand.type : TensorType{}, nullptr});
    }
    program_.num_operands_ = inputs.size();
    SBP_ASSIGN_OR_RETURN(program_.results_, Emit(query, attributes, instance.results, inputs, 0));
    return std::move(program_);
  }

 private:
  Result<int> AddSlot(const TensorType& type, const LiteralRef& constant = nullptr) {
    if (type.dtype != DType::kUndefined &&
        (type.kind != ValueKind::kTensor || !type.is_static() || type.num_elements() > OpProgram::kMostElements)) {
      return BadInput(StrCat(ToString(type), " is not computed here"));
    }
    program_.slots_.push_back({type, constant});
    return static_cast<int>(program_.slots_.size() - 1);
  }

  // The slots of the results; -1: not wanted.
  Result<std::vector<int>> Emit(const OpQuery& query, const AttributesRef& attributes,
                                const std::vector<TensorType>& results, const std::vector<int>& inputs, int depth) {
    DType type = DType::kUndefined;
    for (size_t i = 0; i < inputs.size() && type == DType::kUndefined; ++i) {
      if (inputs[i] >= 0) type = program_.slots_[static_cast<size_t>(inputs[i])].type.dtype;
    }
    for (size_t r = 0; r < results.size() && type == DType::kUndefined; ++r) {
      if (query.wanted[r]) type = results[r].dtype;
    }
    const KernelRow* kernel = FindKernel(query.type, type);
    if (kernel == nullptr) return Expand(query, inputs, depth);
    OpProgram::Step step{kernel, attributes, inputs, {}};
    for (size_t r = 0; r < results.size(); ++r) {
      SBP_ASSIGN_OR_RETURN(const int slot, query.wanted[r] ? AddSlot(results[r]) : Result<int>(-1));
      step.outputs.push_back(slot);
    }
    program_.steps_.push_back(step);
    return std::move(step.outputs);
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

Result<std::vector<TensorView>> OpProgram::Run(std::span<const TensorView> operands, Scratch& memory) const {
  std::vector<TensorView> views(slots_.size());
  for (size_t s = 0; s < slots_.size(); ++s) {
    if (s < num_operands_) {
      views[s] = operands[s];
      continue;
    }
    const TensorType& type = slots_[s].type;
    views[s] = WholeView(type.dtype, type.shape, memory.Allocate(type.num_bytes()));
    if (slots_[s].constant != nullptr) SBP_RETURN_IF_ERROR(FillView(*slots_[s].constant, views[s]));
  }
  const auto view_of = [&](int slot) { return slot < 0 ? TensorView() : views[static_cast<size_t>(slot)]; };
  for (const Step& step : steps_) {
    KernelCall call;
    call.op_type = step.kernel->op;
    call.attributes = step.attributes.get();
    for (const int slot : step.inputs) call.inputs.push_back(view_of(slot));
    for (const int slot : step.outputs) call.outputs.push_back(view_of(slot));
    call.scratch = &memory;
    const auto lacks_data = [](const TensorView& view) { return view.data == nullptr && view.elements() > 0; };
    if (std::ranges::any_of(call.inputs, [&](const TensorView& view) { return view.present() && lacks_data(view); }))
      return RunFailed("an operand is not known");
    SBP_RETURN_IF_ERROR(step.kernel->run(call));
    for (size_t r = 0; r < step.outputs.size(); ++r) {
      if (step.outputs[r] < 0) continue;
      TensorView& planned = views[static_cast<size_t>(step.outputs[r])];
      // What follows was made for the planned sizes.
      if (planned.shape != call.outputs[r].shape && steps_.size() > 1) return RunFailed("data decide a size within");
      planned = std::move(call.outputs[r]);
    }
  }
  std::vector<TensorView> results;
  for (const int slot : results_) results.push_back(view_of(slot));
  return results;
}

}  // namespace sbp
