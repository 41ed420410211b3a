#include "runtime/run/sharded_run.h"

#include <algorithm>
#include <cstdint>

#include "base/hash.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "boxing/boxing.h"
#include "gpu/gpu.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "kernel/view.h"
#include "memory/memory.h"
#include "physical/physical.h"
#include "plan/physical_plan.h"
#include "rule/rule_set.h"
#include "runtime/actors/actor_graph.h"
#include "runtime/data/box.h"
#include "runtime/data/parts.h"
#include "runtime/data/space.h"
#include "runtime/data/value.h"
#include "runtime/exchange/boxing.h"
#include "runtime/execute/local_program.h"
#include "runtime/execute/op_runner.h"
#include "runtime/run/compare.h"
#include "runtime/run/sharded_device.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {

ShardedRun::ShardedRun(const Plan& plan, const PhysicalPlan& physical, TensorStore& store, ShardedOptions options)
    : plan_(plan), physical_(physical), store_(store), options_(std::move(options)) {
  if (options_.runtimes.empty()) options_.runtimes.assign(options_.devices.size(), &HostRuntime());
}
ShardedRun::~ShardedRun() = default;

Result<std::unique_ptr<ShardedRun>> ShardedRun::Make(const Plan& plan, const PhysicalPlan& physical,
                                                     const RuleSet& rules, TensorStore& store,
                                                     MeshCommunicators communicators, ShardedOptions options) {
  std::unique_ptr<ShardedRun> run(new ShardedRun(plan, physical, store, std::move(options)));
  SBP_RETURN_IF_ERROR(run->Prepare(rules, std::move(communicators)));
  return run;
}

Status ShardedRun::Prepare(const RuleSet& rules, MeshCommunicators communicators) {
  compiler_ = std::make_unique<LocalCompiler>(rules, plan_.mesh, options_.runtimes[0]->kernels());
  whole_compiler_ = std::make_unique<LocalCompiler>(rules, Mesh());
  tasks_.resize(physical_.tasks.size());
  owners_ = BufferOwners(physical_.registers);
  for (uint32_t t = 0; t < physical_.tasks.size(); ++t) {
    if (physical_.tasks[t].op.valid()) SBP_RETURN_IF_ERROR(PrepareTask(t));
    if (!tasks_[t].halos.empty()) halo_tasks_.push_back(t);
  }
  output_registers_ = OutputRegisters(plan_, physical_);
  outputs_.assign(
      plan_.graph.outputs.size(),
      std::vector<std::vector<Value>>(physical_.micro_batches, std::vector<Value>(options_.devices.size())));
  kept_.resize(physical_.registers.size());
  SBP_RETURN_IF_ERROR(CheckMemory());
  for (size_t i = 0; i < options_.devices.size(); ++i) {
    auto device = std::make_unique<Device>();
    device->position = options_.devices[i];
    device->coordinates = plan_.mesh.Coordinates(device->position);
    device->communicators = std::move(communicators[i]);
    device->overwritten.assign(physical_.registers.size(), false);
    SBP_RETURN_IF_ERROR(AllocateDevice(*device));
    devices_.push_back(std::move(device));
  }
  return OkStatus();
}

Status ShardedRun::PrepareTask(uint32_t task) {
  const OpId id = physical_.tasks[task].op;
  const Op& op = plan_.graph.op(id);
  ComputeTask& compute = tasks_[task];
  for (const uint32_t r : physical_.tasks[task].writes) {
    if (r != kNoRegister && physical_.registers[r].over != kNoRegister)
      compute.overwrites.push_back(physical_.registers[r].over);
  }
  compute.special = FindSpecialOp(plan_.graph.type_of(op)) != nullptr;
  if (compute.special) return OkStatus();
  SBP_ASSIGN_OR_RETURN(
      compute.op, PrepareOp(plan_.graph, op, plan_.decision(id).signature, SeedOf(options_.seed, op), compiler_.get()));
  workspace_bytes_ = std::max(workspace_bytes_, compute.op.program->workspace_bytes);
  PlaceHalos(compute);
  return OkStatus();
}

// The operands whose parts need their neighbours' elements, and room for these.
void ShardedRun::PlaceHalos(ComputeTask& compute) {
  int64_t offset = 0;
  for (size_t i = 0; i < compute.op.program->halos.size(); ++i) {
    HaloOperand halo;
    halo.operand = i;
    halo.widths = compute.op.program->halos[i];
    if (halo.widths.empty()) continue;
    halo.offset = offset;
    TensorType type = compute.op.operands[i];
    const Shape local = LocalShape(type.shape, compute.op.form.signature.inputs[i], plan_.mesh);
    for (size_t d = 0; d < local.size(); ++d) type.shape[d] = local[d] + halo.widths[d].first + halo.widths[d].second;
    offset += (type.num_bytes() + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
    compute.halos.push_back(std::move(halo));
  }
  compute.halo_bytes = offset;
  halo_bytes_ = std::max(halo_bytes_, offset);
}

std::vector<std::vector<uint32_t>> ShardedRun::halos() const {
  std::vector<std::vector<uint32_t>> halos(tasks_.size());
  for (const uint32_t t : halo_tasks_) {
    for (const HaloOperand& halo : tasks_[t].halos) halos[t].push_back(physical_.tasks[t].reads[halo.operand]);
  }
  return halos;
}

bool ShardedRun::is_asynchronous() const { return options_.runtimes[0]->is_asynchronous(); }

DeviceRuntime& ShardedRun::RuntimeOf(const Device& device) const {
  return *options_.runtimes[IndexOf(device.position)];
}

size_t ShardedRun::IndexOf(int64_t position) const {
  const auto at = std::find(options_.devices.begin(), options_.devices.end(), position);
  return static_cast<size_t>(at - options_.devices.begin());
}

TensorView& ShardedRun::View(Device& device, uint32_t reg, uint32_t micro_batch) const {
  return device.views[reg][micro_batch % physical_.registers[reg].copies];
}

Status ShardedRun::FillRegister(Device& device, uint32_t reg, uint32_t micro_batch) {
  SBP_ASSIGN_OR_RETURN(const Value whole, store_.Get(physical_.registers[reg].tensor, batch_ ? *batch_ : micro_batch));
  if (!HoldsTensor(TensorOf(reg))) {
    device.objects[reg][micro_batch % physical_.registers[reg].copies] = whole;
    return OkStatus();
  }
  const NdSbp& layout = physical_.registers[reg].layout;
  return device.spaces.compute->Write(View(device, reg, micro_batch), [&](const TensorView& part) {
    ChangeLocally(whole.view, NdSbp(layout.size()), layout, device.coordinates, part);
  });
}

Status ShardedRun::Begin(int64_t position, uint32_t micro_batch) {
  Device& device = DeviceAt(position);
  for (uint32_t r = 0; r < physical_.registers.size(); ++r) {
    if (!physical_.registers[r].resident) continue;
    const bool is_parameter = TensorOf(r).role == TensorRole::kParameter;
    if (is_parameter && !device.overwritten[r]) continue;  // it still is what it was
    if (!fed_.empty() && fed_[r]) continue;
    SBP_RETURN_IF_ERROR(FillRegister(device, r, micro_batch));
    device.overwritten[r] = false;
  }
  return OkStatus();
}

Status ShardedRun::Run(int64_t position, uint32_t task, uint32_t micro_batch) {
  Device& device = DeviceAt(position);
  constexpr size_t kBetween = 2;  // the actors of inputs and outputs
  const uint32_t asked = task < tasks_.size() ? task : halo_tasks_[task - tasks_.size() - kBetween];
  if (!active_.empty() && !active_[asked]) return OkStatus();
  if (task >= tasks_.size()) return RunHalo(device, asked, micro_batch);
  if (!physical_.tasks[task].op.valid()) {
    SBP_RETURN_IF_ERROR(RunBoxing(device, task, micro_batch));
  } else if (tasks_[task].special) {
    SBP_RETURN_IF_ERROR(RunSpecial(device, task, micro_batch));
  } else if (!only_time_ && (careful_ || !is_asynchronous())) {
    // What the task writes in place cannot be looked at afterwards.
    SBP_ASSIGN_OR_RETURN(const bool had_nan, HoldsNaN(device, tasks_[task].overwrites, micro_batch));
    SBP_RETURN_IF_ERROR(RunCompute(device, task, micro_batch));
    SBP_RETURN_IF_ERROR(LookAt(device, task, had_nan, micro_batch));
  } else {
    SBP_RETURN_IF_ERROR(RunCompute(device, task, micro_batch));
  }
  if (!options_.keep_tensors || only_time_ || micro_batch > 0) return OkStatus();
  for (const uint32_t r : physical_.tasks[task].writes) {
    if (r != kNoRegister) {
      SBP_RETURN_IF_ERROR(Keep(device, IsCommunication(plan_, physical_.tasks[task]), r, micro_batch));
    }
  }
  return OkStatus();
}

Status ShardedRun::LookAt(Device& device, uint32_t task, bool had_nan, uint32_t micro_batch) {
  SBP_RETURN_IF_ERROR(device.spaces.compute->Await());
  SBP_RETURN_IF_ERROR(RuntimeOf(device).TakeErrors());
  return had_nan ? OkStatus() : NoteNaN(device, task, micro_batch);
}

Status ShardedRun::RunBoxing(Device& device, uint32_t task, uint32_t micro_batch) {
  const Task& what = physical_.tasks[task];
  const BoxingStep& step = plan_.transitions[what.transition].steps[what.step];
  const TensorView& source = View(device, what.reads[0], micro_batch);
  TensorView& target = View(device, what.writes[0], micro_batch);
  target = PartView(source.dtype, source.whole, step.to, plan_.mesh, device.coordinates, target.data);
  const bool communicates = IsCommunication(plan_, what);
  Space& space = communicates ? *device.spaces.communication : *device.spaces.compute;
  return RunBoxingStep(step, plan_.mesh, device.position, device.communicators, space, source, target);
}

Status ShardedRun::RunHalo(Device& device, uint32_t task, uint32_t micro_batch) {
  for (const HaloOperand& halo : tasks_[task].halos) {
    const TensorView& part = View(device, physical_.tasks[task].reads[halo.operand], micro_batch);
    const NdSbp& layout = LayoutOf(task, halo);
    std::vector<Box> wanted = BoxesOfMesh(part.whole, layout, plan_.mesh);
    const TensorView reached = WithHalo(device, halo, part, wanted);
    SBP_RETURN_IF_ERROR(ExchangeHalo(layout, plan_.mesh, wanted, *device.communicators.all, part, reached));
  }
  return OkStatus();
}

const NdSbp& ShardedRun::LayoutOf(uint32_t task, const HaloOperand& halo) const {
  return tasks_[task].op.form.signature.inputs[halo.operand];
}

TensorView ShardedRun::WithHalo(Device& device, const HaloOperand& halo, const TensorView& part,
                                std::vector<Box>& wanted) const {
  for (Box& box : wanted) box = Reached(std::move(box), halo.widths, part.whole);
  TensorView reached = part;
  reached.data = device.halo.get() + halo.offset;
  reached.ranges = wanted[device.position];
  for (size_t d = 0; d < reached.shape.size(); ++d) reached.shape[d] = reached.ranges[d].size();
  return reached;
}

// What data decided must fit what was planned: registers, of this task and of boxing after it, were sized for that.
Status ShardedRun::CheckRoom(const PreparedOp& op, const LocalProgram& program) {
  for (size_t r = 0; r < op.form.wanted.size(); ++r) {
    if (!op.form.wanted[r]) continue;
    const TensorType& type = program.slots[program.num_operands + r].type;
    const TensorType& planned = op.form.stated[r];
    bool fits = type.rank() == planned.rank();
    for (size_t d = 0; fits && d < planned.shape.size(); ++d) fits = type.shape[d] <= planned.shape[d];
    if (!fits) {
      return RunFailed(StrCat("op ", Quote(op.name), " (", op.form.type, "): its result ", r, " is ", ToString(type),
                              "; the plan has room for ", ToString(planned)));
    }
  }
  return OkStatus();
}

Status ShardedRun::RunCompute(Device& device, uint32_t task, uint32_t micro_batch) {
  const Task& what = physical_.tasks[task];
  const ComputeTask& compute = tasks_[task];
  // Kept between tasks, so that nothing is allocated.
  std::vector<TensorView>&operands = device.operands, &results = device.results;
  operands.resize(what.reads.size());
  results.resize(what.writes.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    operands[i] = what.reads[i] != kNoRegister ? View(device, what.reads[i], micro_batch) : device.absent;
  }
  for (const HaloOperand& halo : compute.halos) {
    TensorView& part = operands[halo.operand];
    std::vector<Box> wanted = BoxesOfMesh(part.whole, LayoutOf(task, halo), plan_.mesh);
    part = WithHalo(device, halo, part, wanted);  // its halo has filled it
  }
  for (size_t r = 0; r < results.size(); ++r) {
    results[r] = what.writes[r] != kNoRegister ? View(device, what.writes[r], micro_batch) : device.absent;
  }
  device.runner->set_draw(draw_ ? *draw_ : micro_batch);
  SBP_ASSIGN_OR_RETURN(const LocalProgramRef program, device.runner->ProgramFor(compute.op, operands));
  if (program != compute.op.program) SBP_RETURN_IF_ERROR(CheckRoom(compute.op, *program));
  SBP_RETURN_IF_ERROR(device.runner->Run(compute.op, *program, operands, results));
  for (size_t r = 0; r < results.size(); ++r) {
    if (what.writes[r] != kNoRegister) View(device, what.writes[r], micro_batch) = results[r];
  }
  for (const uint32_t r : compute.overwrites) device.overwritten[owners_[r]] = true;
  return OkStatus();
}

Status ShardedRun::RunSpecial(Device& device, uint32_t task, uint32_t micro_batch) {
  const Task& what = physical_.tasks[task];
  std::vector<Value> operands(what.reads.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    const uint32_t r = what.reads[i];
    if (r == kNoRegister) continue;
    if (HoldsTensor(TensorOf(r))) {  // sequences keep what they are given: a copy
      SBP_ASSIGN_OR_RETURN(operands[i], device.spaces.compute->CopyOf(View(device, r, micro_batch)));
    } else {
      operands[i] = device.objects[r][micro_batch % physical_.registers[r].copies];
    }
  }
  device.interpreter->set_draw(draw_ ? *draw_ : micro_batch);
  SBP_ASSIGN_OR_RETURN(std::vector<Value> results,
                       device.interpreter->RunOp(plan_.graph, what.op, std::move(operands)));
  for (size_t i = 0; i < what.writes.size(); ++i) {
    const uint32_t r = what.writes[i];
    if (r == kNoRegister) continue;
    if (!HoldsTensor(TensorOf(r))) {
      device.objects[r][micro_batch % physical_.registers[r].copies] = std::move(results[i]);
      continue;
    }
    TensorView& view = View(device, r, micro_batch);
    const TensorView& written = results[i].view;
    if (written.bytes() > physical_.registers[r].bytes) {
      return RunFailed(StrCat("op ", Quote(plan_.graph.op(what.op).name), ": its result has ", written.bytes(),
                              " bytes; the plan has room for ", physical_.registers[r].bytes));
    }
    SBP_RETURN_IF_ERROR(device.spaces.compute->Upload(written.data, view.data, written.bytes()));
    view = WholeView(written.dtype, written.shape, view.data);
  }
  return OkStatus();
}

Result<bool> ShardedRun::HoldsNaN(Device& device, const std::vector<uint32_t>& registers, uint32_t micro_batch) const {
  for (const uint32_t r : registers) {
    if (r == kNoRegister || !HoldsTensor(TensorOf(r))) continue;
    SBP_ASSIGN_OR_RETURN(const Value values, device.spaces.compute->Read(View(device, r, micro_batch)));
    if (HasNaN(values.view)) return true;
  }
  return false;
}

// Of a task that overwrote no NaN.
Status ShardedRun::NoteNaN(Device& device, uint32_t task, uint32_t micro_batch) {
  const Task& what = physical_.tasks[task];
  SBP_ASSIGN_OR_RETURN(const bool wrote, HoldsNaN(device, what.writes, micro_batch));
  if (!wrote) return OkStatus();
  std::vector<uint32_t> reads = what.reads;
  std::erase_if(reads, [&](uint32_t r) {
    return std::ranges::find(tasks_[task].overwrites, r) != tasks_[task].overwrites.end();
  });
  SBP_ASSIGN_OR_RETURN(const bool read, HoldsNaN(device, reads, micro_batch));
  if (read) return OkStatus();
  const std::lock_guard<std::mutex> lock(mutex_);
  const NaNOrigin origin{micro_batch, task, device.position};
  if (!first_nan_ || origin < *first_nan_) first_nan_ = origin;
  return OkStatus();
}

Status ShardedRun::Keep(Device& device, bool wrote_by_collective, uint32_t reg, uint32_t micro_batch) {
  if (!HoldsTensor(TensorOf(reg))) return OkStatus();
  Space& space = wrote_by_collective ? *device.spaces.communication : *device.spaces.compute;
  SBP_ASSIGN_OR_RETURN(Value copy, space.CopyOf(View(device, reg, micro_batch)));
  const std::lock_guard<std::mutex> lock(mutex_);
  kept_[reg].resize(options_.devices.size());
  kept_[reg][IndexOf(device.position)] = std::move(copy);
  return OkStatus();
}

Status ShardedRun::End(int64_t position, uint32_t micro_batch) {
  Device& device = DeviceAt(position);
  const size_t at = IndexOf(position);
  for (size_t i = 0; i < plan_.graph.outputs.size(); ++i) {
    const uint32_t r = output_registers_[i];
    if (r == kNoRegister) continue;
    Value part;
    if (HoldsTensor(TensorOf(r))) {
      SBP_ASSIGN_OR_RETURN(
          part, device.spaces.compute->TakeLater(View(device, r, micro_batch), device.output_rooms[i][micro_batch]));
    } else {
      part = device.objects[r][micro_batch % physical_.registers[r].copies];
    }
    outputs_[i][micro_batch][at] = std::move(part);
  }
  return OkStatus();
}

Status ShardedRun::Settle() {
  noted_ = OkStatus();
  for (const std::unique_ptr<Device>& device : devices_) {
    DeviceRuntime& runtime = RuntimeOf(*device);
    SBP_RETURN_IF_ERROR(runtime.Use());
    SBP_RETURN_IF_ERROR(device->spaces.communication->Await());
    SBP_RETURN_IF_ERROR(device->spaces.compute->Await());
    const Status noted = runtime.TakeErrors();
    if (!noted.ok() && noted_.ok()) noted_ = noted;
  }
  return OkStatus();
}

bool ShardedRun::doubtful() const {
  if (!noted_.ok()) return true;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (plan_.graph.tensor(plan_.graph.outputs[i]).type.kind != ValueKind::kTensor) continue;
    for (const std::vector<Value>& parts : outputs_[i]) {
      for (const Value& part : parts) {
        if (part.view.present() && HasNaN(part.view)) return true;
      }
    }
  }
  return false;
}

void ShardedRun::Abort(const Status& failure) {
  for (const std::unique_ptr<Device>& device : devices_) {
    if (device->communicators.all) device->communicators.all->Abort(failure);
  }
}

Status ShardedRun::Poll(int64_t position) { return DeviceAt(position).communicators.all->failure_elsewhere(); }

const std::vector<Value>& ShardedRun::OutputParts(size_t output, uint32_t micro_batch) const {
  return outputs_[output][micro_batch];
}

const std::vector<Value>& ShardedRun::RegisterParts(uint32_t reg) const { return kept_[reg]; }

std::optional<ShardedRun::NaNOrigin> ShardedRun::first_nan() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return first_nan_;
}

}  // namespace sbp
