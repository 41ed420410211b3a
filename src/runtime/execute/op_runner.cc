#include "runtime/execute/op_runner.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <string>

#include "base/dtype.h"
#include "base/hash.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "gpu/gpu.h"
#include "graph/again.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "kernel/view.h"
#include "rule/factor_map.h"
#include "rule/rule_set.h"
#include "runtime/data/box.h"
#include "runtime/data/parts.h"
#include "runtime/execute/blame_rule.h"
#include "sbp/shard_math.h"
#include "sbp/signature.h"

namespace sbp {
namespace {

std::string PlaceOf(const PreparedOp& op) { return StrCat("op ", Quote(op.name), " (", op.form.type, ")"); }

// The error with the op's name; where a user's rule is to blame, of the op or of one in its expansion, that is said.
Status Named(const Status& status, const PreparedOp& op, const RuleSet& rules, const LocalProgram* program) {
  if (status.ok()) return status;
  std::vector<std::string> types = {op.form.type};
  if (program != nullptr) {
    for (const LocalStep& step : program->steps) types.push_back(step.op_type);
  }
  return BlameUserRule(status, rules, types).WithContext(PlaceOf(op));
}

// As tensors on the host.
Status TakeKnownValues(const RuleSet& rules, PreparedOp& op) {
  op.host_values.resize(op.values.size());
  for (size_t i = 0; i < op.values.size(); ++i) {
    if (op.values[i] == nullptr || op.assumed[i] || !rules.ReadsValue(op.form.type, i)) continue;
    SBP_ASSIGN_OR_RETURN(op.host_values[i], MakeTensor(*op.values[i]));
  }
  return OkStatus();
}

}  // namespace

// Values that sizes may follow from: what was known when planning, else what stands in memory now.
std::vector<LiteralRef> OpRunner::CurrentValues(const PreparedOp& op, std::span<const TensorView> operands) {
  std::vector<LiteralRef> values = op.values;
  for (size_t i = 0; i < operands.size(); ++i) {
    const bool unknown = (values[i] == nullptr || op.assumed[i]) && operands[i].present();
    if (unknown && compiler_.rules().ReadsValue(op.form.type, i)) values[i] = space().SmallValuesOf(operands[i]);
  }
  return values;
}

// Do the operands have the sizes and the values that the plan assumes?
bool OpRunner::IsAsPlanned(const PreparedOp& op, std::span<const TensorView> operands) {
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].present()) continue;
    if (operands[i].whole != op.operands[i].shape) return false;
    if (!op.assumed[i] || !compiler_.rules().ReadsValue(op.form.type, i)) continue;
    const LiteralRef current = space().SmallValuesOf(operands[i]);
    if (current == nullptr || current->ints != op.values[i]->ints || current->floats != op.values[i]->floats)
      return false;
  }
  return true;
}

uint64_t SeedOf(uint64_t seed, const Op& op) { return HashCombine(seed, HashOf(WithoutAgain(op.name))); }

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
  if (!program.ok()) return Named(program.status(), prepared, compiler->rules(), nullptr);
  prepared.program = *std::move(program);
  if (compiler->for_gpu()) SBP_RETURN_IF_ERROR(TakeKnownValues(compiler->rules(), prepared));
  return prepared;
}

Status OpRunner::Reserve(int64_t bytes) {
  if (bytes <= workspace_bytes_) return OkStatus();
  if (workspace_ != nullptr) SBP_RETURN_IF_ERROR(space().Await());  // what is under way still uses it
  if (options_.replay != nullptr) options_.replay->Clear();
  workspace_bytes_ = 0;
  workspace_.reset();
  SBP_ASSIGN_OR_RETURN(workspace_, space().Allocate(bytes));
  workspace_bytes_ = bytes;
  return OkStatus();
}

Result<LocalProgramRef> OpRunner::ProgramFor(const PreparedOp& op, std::span<const TensorView> operands) {
  if (op.program != nullptr && IsAsPlanned(op, operands)) return op.program;
  std::vector<TensorType> types;
  for (const TensorView& view : operands) types.push_back({view.dtype, view.whole});
  auto program = compiler_.Compile(op.form, types, CurrentValues(op, operands), op.program.get());
  if (!program.ok()) return Named(program.status(), op, compiler_.rules(), nullptr);
  return program;
}

Status OpRunner::Run(const PreparedOp& op, std::span<const TensorView> operands, std::span<TensorView> results) {
  SBP_ASSIGN_OR_RETURN(const LocalProgramRef program, ProgramFor(op, operands));
  return Run(op, *program, operands, results);
}

Status OpRunner::Run(const PreparedOp& op, const LocalProgram& program, std::span<const TensorView> operands,
                     std::span<TensorView> results) {
  return Named(RunProgram(op, program, operands, results), op, compiler_.rules(), &program);
}

TensorView OpRunner::ViewOf(const LocalSlot& slot, const Shape& whole, std::byte* data) const {
  return PartView(slot.type.dtype, whole, slot.layout, compiler_.mesh(), place_.coordinates, data);
}

Result<const std::vector<TensorView>*> OpRunner::PlannedViews(const LocalProgram& program) {
  const auto found = planned_views_.find(&program);
  if (found != planned_views_.end()) return &found->second;
  std::vector<TensorView> views(program.slots.size());
  for (size_t s = program.num_operands; s < program.slots.size(); ++s) {
    const LocalSlot& slot = program.slots[s];
    if (slot.type.dtype == DType::kUndefined) continue;  // a result that nobody wants
    views[s] = slot.constant != nullptr ? slot.value.view : ViewOf(slot, slot.type.shape, nullptr);
  }
  if (space().stream() != nullptr) SBP_RETURN_IF_ERROR(UploadConstants(program, views));
  return &planned_views_.emplace(&program, std::move(views)).first->second;
}

// All of a program's constants in one piece of memory.
Status OpRunner::UploadConstants(const LocalProgram& program, std::vector<TensorView>& views) {
  constexpr int64_t kAlignment = 256;
  std::vector<int64_t> offsets(views.size(), 0);
  int64_t bytes = 0;
  for (size_t s = 0; s < views.size(); ++s) {
    offsets[s] = bytes;
    if (program.slots[s].constant != nullptr) bytes += (views[s].bytes() + kAlignment - 1) / kAlignment * kAlignment;
  }
  if (bytes == 0) return OkStatus();
  SBP_ASSIGN_OR_RETURN(const std::shared_ptr<std::byte> data, space().Allocate(bytes));
  constants_.push_back(data);
  for (size_t s = 0; s < views.size(); ++s) {
    if (program.slots[s].constant == nullptr) continue;
    SBP_RETURN_IF_ERROR(space().Upload(views[s].data, data.get() + offsets[s], views[s].bytes()));
    views[s].data = data.get() + offsets[s];
  }
  return OkStatus();
}

Status OpRunner::RunProgram(const PreparedOp& op, const LocalProgram& preferred, std::span<const TensorView> operands,
                            std::span<TensorView> results) {
  const bool declined = has_declined(preferred);
  const LocalProgram& program = declined ? *preferred.if_declined : preferred;
  SBP_RETURN_IF_ERROR(Reserve(program.workspace_bytes).WithContext("its workspace"));
  SBP_RETURN_IF_ERROR(SetAside(program, operands, results).WithContext("results apart from operands"));
  const auto run = [&] { return RunSteps(op, program, operands, results); };
  call_.declined = false;
  const bool replay = options_.replay != nullptr && !program.draws_random;  // what is kept has its numbers in it
  Status status = replay ? options_.replay->Run(&op, program, operands, results, run) : run();
  if (!call_.declined) return status;
  if (program.if_declined == nullptr) return Defect("a kernel declined that must not");
  declined_.insert(&program);
  return RunProgram(op, preferred, operands, results);  // from the start: no result was handed out, no operand changed
}

Status OpRunner::SetViews(const LocalProgram& program, std::span<const TensorView> operands,
                          std::span<const TensorView> results) {
  // Copies into views that are there already allocate nothing.
  SBP_ASSIGN_OR_RETURN(const std::vector<TensorView>* const planned, PlannedViews(program));
  views_ = *planned;
  for (size_t i = 0; i < operands.size(); ++i) views_[i] = operands[i];
  for (size_t r = 0; r < results.size(); ++r) {
    const size_t s = program.num_operands + r;
    if (!results[r].present()) views_[s] = absent_;
    views_[s].data = results[r].data;
  }
  for (size_t s = program.num_operands + program.num_results; s < program.slots.size(); ++s) {
    const LocalSlot& slot = program.slots[s];
    if (slot.constant == nullptr && workspace_ != nullptr) views_[s].data = workspace_.get() + slot.offset;
  }
  return OkStatus();
}

Status OpRunner::Ask(const PreparedOp& op, std::span<const TensorView> operands, std::span<const TensorView> results) {
  const LocalProgram& program = *op.program;
  if (program.if_declined == nullptr) return OkStatus();
  SBP_RETURN_IF_ERROR(SetViews(program, operands, results).WithContext(PlaceOf(op)));
  for (const LocalStep& step : program.steps) {
    if (step.kernel == nullptr || !step.kernel->may_decline()) continue;
    FillCall(op, step);
    call_.stream = space().stream();
    call_.stream->ResetScratch();
    const Result<bool> declines = step.kernel->declines(call_);
    if (!declines.ok()) return Named(declines.status(), op, compiler_.rules(), &program);
    if (*declines) declined_.insert(&program);
  }
  return OkStatus();
}

// A result that lies where an operand does, and that the steps must not write before they have read that, is made
// elsewhere first.
Status OpRunner::SetAside(const LocalProgram& program, std::span<const TensorView> operands,
                          std::span<const TensorView> results) {
  is_aside_.assign(results.size(), false);
  for (uint32_t r = 0; r < results.size(); ++r) {
    if (!results[r].present() || results[r].bytes() == 0) continue;
    for (uint32_t i = 0; i < operands.size() && !is_aside_[r]; ++i) {
      is_aside_[r] = operands[i].present() && operands[i].data == results[r].data && operands[i].bytes() > 0 &&
                     std::ranges::find(program.in_place, std::pair(r, i)) == program.in_place.end();
    }
    if (!is_aside_[r]) continue;
    aside_.resize(std::max<size_t>(aside_.size(), r + 1));
    if (aside_[r].bytes >= results[r].bytes()) continue;
    if (aside_[r].data != nullptr) SBP_RETURN_IF_ERROR(space().Await());  // what is under way still uses it
    if (options_.replay != nullptr) options_.replay->Clear();
    aside_[r] = {};
    SBP_ASSIGN_OR_RETURN(aside_[r].data, space().Allocate(results[r].bytes()));
    aside_[r].bytes = results[r].bytes();
  }
  return OkStatus();
}

// Where it was made aside, a result goes where it belongs.
Status OpRunner::PutBack(TensorView& made, std::byte* data) {
  Box all(made.shape.size());
  for (size_t d = 0; d < all.size(); ++d) all[d] = {0, made.shape[d]};
  SBP_RETURN_IF_ERROR(space().CopyBox(made.dtype, all, made.data, all, data, all));
  made.data = data;
  return OkStatus();
}

int64_t OpRunner::workspace_bytes() const {
  int64_t bytes = workspace_bytes_;
  for (const Aside& aside : aside_) bytes += aside.bytes;
  return bytes;
}

Status OpRunner::RunSteps(const PreparedOp& op, const LocalProgram& program, std::span<const TensorView> operands,
                          std::span<TensorView> results) {
  SBP_RETURN_IF_ERROR(SetViews(program, operands, results));
  for (size_t r = 0; r < results.size(); ++r) {
    if (is_aside_[r]) views_[program.num_operands + r].data = aside_[r].data.get();
  }
  for (const LocalStep& step : program.steps) {
    if (step.kernel == nullptr) {
      SBP_RETURN_IF_ERROR(RunChange(program, step));
      continue;
    }
    SBP_RETURN_IF_ERROR(RunKernel(op, program, step));
    if (call_.declined) return RunFailed("a kernel declined");
  }
  for (size_t r = 0; r < results.size(); ++r) {
    if (!results[r].present()) continue;
    TensorView& made = views_[program.num_operands + r];
    if (is_aside_[r]) SBP_RETURN_IF_ERROR(PutBack(made, results[r].data));
    results[r] = made;
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
                                                             : space().SmallValuesOf(views_[slot]));
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

void OpRunner::FillCall(const PreparedOp& op, const LocalStep& step) {
  call_.op_type = step.op_type;
  call_.attributes = step.attributes.get();
  const auto take = [this](const std::vector<int32_t>& slots, std::vector<TensorView>& views) {
    views.resize(slots.size());
    for (size_t i = 0; i < slots.size(); ++i) views[i] = slots[i] < 0 ? absent_ : views_[slots[i]];
  };
  take(step.inputs, call_.inputs);
  take(step.outputs, call_.outputs);
  SeedCall(op, step);
  call_.declined = false;
  call_.scratch = &scratch_;
  scratch_.Reset();
}

// Kernels know seeds, not draws: a later draw is another seed, the run's as well as one of the op's own.
void OpRunner::SeedCall(const PreparedOp& op, const LocalStep& step) {
  call_.seed = draw_ == 0 ? op.seed : HashCombine(op.seed, draw_);
  if (draw_ == 0 || step.attributes->Find("seed") == nullptr) return;
  drawn_attributes_ = *step.attributes;
  const auto own = std::bit_cast<uint64_t>(step.attributes->Float("seed", 0));
  drawn_attributes_.Set("seed", std::bit_cast<double>(uint64_t{HashCombine(own, draw_)}));
  call_.attributes = &drawn_attributes_;
}

Status OpRunner::RunKernel(const PreparedOp& op, const LocalProgram& program, const LocalStep& step) {
  SBP_RETURN_IF_ERROR(SizeOutputs(program, step));
  FillCall(op, step);
  if (step.on_host) {
    SBP_RETURN_IF_ERROR(RunOnHost(program, step));
  } else {
    call_.stream = space().stream();
    if (call_.stream != nullptr) SBP_RETURN_IF_ERROR(TakeHostInputs(op, program, step));
    SBP_RETURN_IF_ERROR(step.kernel->run(call_));
  }
  for (size_t r = 0; r < step.outputs.size(); ++r) {
    if (step.outputs[r] >= 0) std::swap(views_[step.outputs[r]], call_.outputs[r]);
  }
  return OkStatus();
}

Status OpRunner::TakeHostInputs(const PreparedOp& op, const LocalProgram& program, const LocalStep& step) {
  call_.stream->ResetScratch();
  call_.allow_tf32 = options_.allow_tf32;
  call_.host_inputs.assign(step.inputs.size(), absent_);
  staged_.clear();
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    const int32_t slot = step.inputs[i];
    if (slot < 0 || !step.reads_value[i]) continue;
    const TensorView& view = views_[slot];
    if (program.slots[slot].constant != nullptr) {
      call_.host_inputs[i] = program.slots[slot].value.view;
    } else if (static_cast<size_t>(slot) < op.host_values.size() && op.host_values[slot].present() &&
               op.host_values[slot].view.shape == view.shape) {
      call_.host_inputs[i] = op.host_values[slot].view;
    } else {
      SBP_ASSIGN_OR_RETURN(Value copy, space().CopyOf(view));
      call_.host_inputs[i] = copy.view;
      staged_.push_back(std::move(copy));
    }
  }
  return OkStatus();
}

// A kernel of the CPU on copies of its operands; its results are uploaded. Waits for the stream.
Status OpRunner::RunOnHost(const LocalProgram& program, const LocalStep& step) {
  call_.stream = nullptr;
  call_.host_inputs.clear();
  staged_.clear();
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    const int32_t slot = step.inputs[i];
    if (slot < 0) continue;
    if (program.slots[slot].constant != nullptr) {
      call_.inputs[i].data = program.slots[slot].value.view.data;
      continue;
    }
    SBP_ASSIGN_OR_RETURN(Value copy, space().CopyOf(call_.inputs[i]));
    call_.inputs[i].data = copy.view.data;
    staged_.push_back(std::move(copy));
  }
  for (TensorView& output : call_.outputs) {
    if (!output.present()) continue;
    SBP_ASSIGN_OR_RETURN(Value room, MakeTensor(output.dtype, output.shape));
    output.data = room.view.data;
    staged_.push_back(std::move(room));
  }
  SBP_RETURN_IF_ERROR(step.kernel->run(call_));
  for (size_t r = 0; r < step.outputs.size(); ++r) {
    if (step.outputs[r] < 0) continue;
    TensorView& output = call_.outputs[r];
    std::byte* const data = views_[step.outputs[r]].data;
    SBP_RETURN_IF_ERROR(space().Upload(output.data, data, output.bytes()));
    output.data = data;
  }
  return OkStatus();
}

Status OpRunner::RunChange(const LocalProgram& program, const LocalStep& step) {
  TensorView& target = views_[step.outputs[0]];
  if (target.data == views_[step.inputs[0]].data && step.from == step.to) return OkStatus();  // it lies there already
  target = ViewOf(program.slots[step.outputs[0]], views_[step.inputs[0]].whole, target.data);
  return ChangeLocally(views_[step.inputs[0]], step.from, step.to, place_.coordinates, target, space());
}

}  // namespace sbp
