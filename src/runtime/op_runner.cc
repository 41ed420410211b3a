#include "runtime/op_runner.h"

#include <algorithm>

#include "base/text.h"
#include "rule/op_query.h"
#include "runtime/parts.h"

namespace sbp {
namespace {

// Values that sizes may follow from: what was known when planning, else what stands in memory now.
std::vector<LiteralRef> CurrentValues(const PreparedOp& op, std::span<const TensorView> operands,
                                      const RuleSet& rules) {
  std::vector<LiteralRef> values = op.values;
  for (size_t i = 0; i < operands.size(); ++i) {
    if ((values[i] == nullptr || op.assumed[i]) && operands[i].present() && rules.ReadsValue(op.form.type, i)) {
      values[i] = SmallValues(operands[i]);
    }
  }
  return values;
}

// Do the operands have the sizes and the values that the plan assumes?
bool IsAsPlanned(const PreparedOp& op, std::span<const TensorView> operands, const RuleSet& rules) {
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].present()) continue;
    if (operands[i].whole != op.operands[i].shape) return false;
    if (!op.assumed[i] || !rules.ReadsValue(op.form.type, i)) continue;
    const LiteralRef current = SmallValues(operands[i]);
    if (current == nullptr || current->ints != op.values[i]->ints || current->floats != op.values[i]->floats)
      return false;
  }
  return true;
}

std::string PlaceOf(const PreparedOp& op) { return StrCat("op ", Quote(op.name), " (", op.form.type, ")"); }

}  // namespace

Result<PreparedOp> PrepareOp(const Graph& graph, const Op& op, Signature signature, uint64_t seed,
                             LocalCompiler* compiler) {
  PreparedOp prepared;
  prepared.name = op.name;
  prepared.seed = seed;
  prepared.form.type = graph.type_of(op);
  prepared.form.attributes = op.attributes;
  prepared.form.signature = std::move(signature);
  for (const TensorId id : op.outputs) {
    prepared.form.wanted.push_back(id.valid());
    prepared.form.stated.push_back(id.valid() ? graph.tensor(id).type : TensorType{});
  }
  for (const TensorId id : graph.OperandsOf(op)) {
    prepared.operands.push_back(id.valid() ? graph.tensor(id).type : TensorType{});
    prepared.values.push_back(id.valid() ? graph.tensor(id).literal : nullptr);
    prepared.assumed.push_back(prepared.values.back() != nullptr && graph.tensor(id).role != TensorRole::kParameter);
  }
  if (compiler == nullptr) return prepared;
  auto program = compiler->Compile(prepared.form, prepared.operands, prepared.values);
  if (!program.ok()) return program.status().WithContext(PlaceOf(prepared));
  prepared.program = *std::move(program);
  return prepared;
}

void OpRunner::Reserve(int64_t bytes) {
  if (bytes <= workspace_bytes_) return;
  workspace_ = AllocateBytes(bytes);
  workspace_bytes_ = workspace_ == nullptr ? 0 : bytes;
}

Result<LocalProgramRef> OpRunner::ProgramFor(const PreparedOp& op, std::span<const TensorView> operands) {
  if (op.program != nullptr && IsAsPlanned(op, operands, compiler_.rules())) return op.program;
  std::vector<TensorType> types;
  for (const TensorView& view : operands) types.push_back({view.dtype, view.whole});
  auto program = compiler_.Compile(op.form, types, CurrentValues(op, operands, compiler_.rules()), op.program.get());
  return program.ok() ? program : program.status().WithContext(PlaceOf(op));
}

Status OpRunner::Run(const PreparedOp& op, std::span<const TensorView> operands, std::span<TensorView> results) {
  SBP_ASSIGN_OR_RETURN(const LocalProgramRef program, ProgramFor(op, operands));
  return Run(op, *program, operands, results);
}

Status OpRunner::Run(const PreparedOp& op, const LocalProgram& program, std::span<const TensorView> operands,
                     std::span<TensorView> results) {
  const Status status = RunProgram(program, operands, results, op.seed);
  return status.ok() ? status : status.WithContext(PlaceOf(op));
}

TensorView OpRunner::ViewOf(const LocalSlot& slot, const Shape& whole, std::byte* data) const {
  return PartView(slot.type.dtype, whole, slot.layout, compiler_.mesh(), place_.coordinates, data);
}

const std::vector<TensorView>& OpRunner::PlannedViews(const LocalProgram& program) {
  const auto [found, fresh] = planned_views_.try_emplace(&program);
  if (!fresh) return found->second;
  found->second.resize(program.slots.size());
  for (size_t s = program.num_operands; s < program.slots.size(); ++s) {
    const LocalSlot& slot = program.slots[s];
    if (slot.type.dtype == DType::kUndefined) continue;  // a result that nobody wants
    found->second[s] = slot.constant != nullptr ? slot.value.view : ViewOf(slot, slot.type.shape, nullptr);
  }
  return found->second;
}

Status OpRunner::RunProgram(const LocalProgram& program, std::span<const TensorView> operands,
                            std::span<TensorView> results, uint64_t seed) {
  Reserve(program.workspace_bytes);
  if (workspace_bytes_ < program.workspace_bytes) {
    return RunFailed(StrCat("out of memory: a workspace of ", program.workspace_bytes, " bytes"));
  }
  // Copies into views that are there already allocate nothing.
  views_ = PlannedViews(program);
  for (size_t i = 0; i < operands.size(); ++i) views_[i] = operands[i];
  for (size_t r = 0; r < results.size(); ++r) {
    const size_t s = program.num_operands + r;
    if (!results[r].present()) views_[s] = absent_;
    views_[s].data = results[r].data;
  }
  for (size_t s = program.num_operands + program.num_results; s < program.slots.size(); ++s) {
    const LocalSlot& slot = program.slots[s];
    if (slot.constant == nullptr) views_[s].data = workspace_.get() + slot.offset;
  }
  for (const LocalStep& step : program.steps) {
    if (step.kernel == nullptr) {
      RunChange(program, step);
    } else {
      SBP_RETURN_IF_ERROR(RunKernel(program, step, seed));
    }
  }
  for (size_t r = 0; r < results.size(); ++r) {
    if (results[r].present()) results[r] = views_[program.num_operands + r];
  }
  return OkStatus();
}

// Where data decided a size on the way, the sizes of what follows are asked again.
Status OpRunner::SizeOutputs(const LocalProgram& program, const LocalStep& step) {
  bool as_planned = true;
  for (const int32_t slot : step.inputs) {
    as_planned = as_planned && (slot < 0 || views_[slot].whole == program.slots[slot].type.shape);
  }
  if (as_planned) return OkStatus();
  OpQuery query;
  query.type = step.op_type;
  query.attributes = step.attributes.get();
  std::vector<LiteralRef> values;
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    const int32_t slot = step.inputs[i];
    OperandInfo& operand = query.operands.emplace_back();
    if (slot < 0) continue;
    operand.present = true;
    operand.type = {views_[slot].dtype, views_[slot].whole};
    if (!step.reads_value[i]) continue;
    values.push_back(program.slots[slot].constant != nullptr ? program.slots[slot].constant
                                                             : SmallValues(views_[slot]));
    operand.value = values.back().get();
  }
  for (const int32_t slot : step.outputs) {
    query.wanted.push_back(slot >= 0);
    query.stated.push_back(slot >= 0 ? program.slots[slot].type : TensorType{});
  }
  SBP_ASSIGN_OR_RETURN(const RuleInstanceRef instance, compiler_.rules().Instantiate(query));
  for (size_t r = 0; r < step.outputs.size(); ++r) {
    const int32_t slot = step.outputs[r];
    if (slot >= 0) views_[slot] = ViewOf(program.slots[slot], instance->results[r].shape, views_[slot].data);
  }
  return OkStatus();
}

Status OpRunner::RunKernel(const LocalProgram& program, const LocalStep& step, uint64_t seed) {
  SBP_RETURN_IF_ERROR(SizeOutputs(program, step));
  call_.op_type = step.op_type;
  call_.attributes = step.attributes.get();
  const auto take = [this](const std::vector<int32_t>& slots, std::vector<TensorView>& views) {
    views.resize(slots.size());
    for (size_t i = 0; i < slots.size(); ++i) views[i] = slots[i] < 0 ? absent_ : views_[slots[i]];
  };
  take(step.inputs, call_.inputs);
  take(step.outputs, call_.outputs);
  call_.seed = seed;
  call_.scratch = &scratch_;
  scratch_.Reset();
  SBP_RETURN_IF_ERROR(step.kernel->run(call_));
  for (size_t r = 0; r < step.outputs.size(); ++r) {
    if (step.outputs[r] >= 0) std::swap(views_[step.outputs[r]], call_.outputs[r]);
  }
  return OkStatus();
}

void OpRunner::RunChange(const LocalProgram& program, const LocalStep& step) {
  TensorView& target = views_[step.outputs[0]];
  target = ViewOf(program.slots[step.outputs[0]], views_[step.inputs[0]].whole, target.data);
  ChangeLocally(views_[step.inputs[0]], step.from, step.to, place_.coordinates, target);
}

}  // namespace sbp
