// ShardedRun's memory: what a device needs, what is taken before the run, and what its tasks took.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "gpu/gpu.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "kernel/view.h"
#include "plan/physical_plan.h"
#include "runtime/data/parts.h"
#include "runtime/data/space.h"
#include "runtime/data/value.h"
#include "runtime/execute/device_runtime.h"
#include "runtime/execute/interpreter.h"
#include "runtime/execute/local_program.h"
#include "runtime/execute/op_runner.h"
#include "runtime/run/sharded_device.h"
#include "runtime/run/sharded_run.h"

namespace sbp {

// Before anything is allocated: memory that the system promises and does not have ends the process.
Status ShardedRun::CheckMemory() const {
  const std::optional<int64_t> available = options_.runtimes[0]->AvailableBytes();
  const auto devices = static_cast<int64_t>(options_.devices.size());
  if (!available || device_bytes() <= *available / devices) return OkStatus();
  const auto bytes = [](int64_t count) { return FormatBytes(static_cast<double>(count)); };
  return RunFailed(StrCat("out of memory: device ", options_.devices[0], devices > 1 ? " and each other one" : "",
                          " needs ", bytes(device_bytes()), " (arena ", bytes(physical_.arena_bytes), ", workspace ",
                          bytes(workspace_bytes_), ", neighbours' elements ", bytes(halo_bytes_), "); ", devices,
                          devices == 1 ? " device" : " devices", " in this process, ", bytes(*available),
                          " available"));
}

Status ShardedRun::TakeMemory(Device& device) {
  DeviceRuntime& runtime = RuntimeOf(device);
  SBP_RETURN_IF_ERROR(runtime.Use());
  device.spaces = runtime.MakeSpaces();
  Space& space = *device.spaces.compute;
  device.runner = std::make_unique<OpRunner>(
      *compiler_, DevicePlace{device.coordinates},
      OpRunnerOptions{.space = &space, .replay = device.spaces.replay.get(), .allow_tf32 = runtime.allow_tf32()});
  SBP_ASSIGN_OR_RETURN(device.arena, space.Allocate(physical_.arena_bytes));
  SBP_ASSIGN_OR_RETURN(device.halo, space.Allocate(halo_bytes_));
  SBP_RETURN_IF_ERROR(AskKernels(device));
  SBP_RETURN_IF_ERROR(device.runner->Reserve(workspace_bytes_));
  for (const ComputeTask& task : tasks_) {
    if (task.op.program == nullptr) continue;
    const bool declined = device.runner->has_declined(*task.op.program);
    SBP_RETURN_IF_ERROR(device.runner->Load(declined ? *task.op.program->if_declined : *task.op.program));
  }
  return MakeOutputRooms(device);
}

// While no collective waits on the device: what is asked for the first time may take long, and memory that is asked for
// later may have to wait until the device is idle.
Status ShardedRun::AskKernels(Device& device) {
  const auto view = [&](uint32_t reg) {
    if (reg == kNoRegister) return TensorView();
    const TensorType& type = TensorOf(reg).type;
    return PartView(type.dtype, type.shape, physical_.registers[reg].layout, plan_.mesh, device.coordinates, nullptr);
  };
  for (uint32_t t = 0; t < tasks_.size(); ++t) {
    if (!may_be_fused(t)) continue;
    const PreparedOp& op = tasks_[t].op;
    std::vector<TensorView> operands, results;
    for (const uint32_t reg : physical_.tasks[t].reads) operands.push_back(view(reg));
    for (const uint32_t reg : physical_.tasks[t].writes) results.push_back(view(reg));
    SBP_RETURN_IF_ERROR(device.runner->Ask(op, operands, results));
    if (device.runner->has_declined(*op.program)) {
      workspace_bytes_ = std::max(workspace_bytes_, op.program->if_declined->workspace_bytes);
    }
  }
  return OkStatus();
}

// Data decide nothing that such a task does, and what it writes is written again.
bool ShardedRun::CanWarm(uint32_t task) const {
  const PreparedOp& op = tasks_[task].op;
  if (op.program == nullptr || op.program->data_dependent) return false;
  if (std::find(op.assumed.begin(), op.assumed.end(), true) != op.assumed.end()) return false;
  const auto on_host = [](const LocalStep& step) { return step.on_host; };
  if (std::any_of(op.program->steps.begin(), op.program->steps.end(), on_host)) return false;
  const std::vector<uint32_t>& writes = physical_.tasks[task].writes;
  return std::none_of(writes.begin(), writes.end(),
                      [&](uint32_t r) { return r != kNoRegister && physical_.registers[r].resident; });
}

void ShardedRun::Warm() {
  for (const std::unique_ptr<Device>& device : devices_) {
    DeviceRuntime& runtime = RuntimeOf(*device);
    if (!runtime.is_asynchronous() || !runtime.Use().ok()) return;
    for (uint32_t t = 0; t < tasks_.size(); ++t) {
      if (CanWarm(t)) static_cast<void>(RunCompute(*device, t, 0).ok());
    }
    static_cast<void>(device->spaces.compute->Await().ok());
    static_cast<void>(runtime.TakeErrors().ok());  // of data that were none
  }
}

Status ShardedRun::FeedStates(const std::vector<StateFeed>& feeds) {
  fed_.resize(physical_.registers.size(), false);
  for (const StateFeed& feed : feeds) {
    if (feed.reg == kNoRegister) continue;  // nobody reads it
    fed_[feed.reg] = true;
    for (const std::unique_ptr<Device>& device : devices_) {
      SBP_RETURN_IF_ERROR(RuntimeOf(*device).Use());
      const Value& part = outputs_[feed.output][0][IndexOf(device->position)];
      TensorView& view = View(*device, feed.reg, 0);
      if (part.view.bytes() != view.bytes()) {
        return Defect(StrCat("output ", Quote(plan_.graph.tensor(plan_.graph.outputs[feed.output]).name),
                             " does not end as the input lies that it is tied to"));
      }
      SBP_RETURN_IF_ERROR(device->spaces.compute->Write(view, [&](const TensorView& to) {
        if (to.bytes() > 0) std::memcpy(to.data, part.view.data, static_cast<size_t>(to.bytes()));
      }));
    }
  }
  return OkStatus();
}

Status ShardedRun::ZeroStates(const std::vector<uint32_t>& registers) {
  fed_.resize(physical_.registers.size(), false);
  for (const uint32_t reg : registers) {
    fed_[reg] = true;
    for (const std::unique_ptr<Device>& device : devices_) {
      SBP_RETURN_IF_ERROR(RuntimeOf(*device).Use());
      SBP_RETURN_IF_ERROR(device->spaces.compute->Write(View(*device, reg, 0), [](const TensorView& to) {
        if (to.bytes() > 0) std::memset(to.data, 0, static_cast<size_t>(to.bytes()));
      }));
    }
  }
  return OkStatus();
}

Status ShardedRun::MakeOutputRooms(Device& device) {
  device.output_rooms.resize(outputs_.size());
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const uint32_t r = output_registers_[i];
    if (r == kNoRegister || !HoldsTensor(TensorOf(r))) continue;
    for (uint32_t mb = 0; mb < physical_.micro_batches; ++mb) {
      SBP_ASSIGN_OR_RETURN(device.output_rooms[i].emplace_back(),
                           device.spaces.compute->AllocateOnHost(physical_.registers[r].bytes));
    }
  }
  return OkStatus();
}

Status ShardedRun::AllocateDevice(Device& device) {
  if (const Status taken = TakeMemory(device); !taken.ok()) {
    return taken.WithContext(
        StrCat("device ", device.position, " needs ", FormatBytes(static_cast<double>(device_bytes()))));
  }
  InterpreterHooks hooks;
  hooks.parameter = [this](const Graph& of, TensorId id) { return store_.GetIn(of, id); };
  hooks.cancelled = options_.cancelled;
  device.interpreter = std::make_unique<Interpreter>(*whole_compiler_, std::move(hooks), options_.seed);
  device.views.resize(physical_.registers.size());
  device.objects.resize(physical_.registers.size());
  for (uint32_t r = 0; r < physical_.registers.size(); ++r) {
    const Register& reg = physical_.registers[r];
    const TensorType& type = TensorOf(r).type;
    device.objects[r].resize(HoldsTensor(TensorOf(r)) ? 0 : reg.copies);
    for (uint32_t copy = 0; copy < reg.copies; ++copy) {
      const int64_t stride = reg.footprint() / reg.copies;
      std::byte* data = device.arena.get() + reg.offset + copy * stride;
      device.views[r].push_back(PartView(type.dtype, type.shape, reg.layout, plan_.mesh, device.coordinates, data));
    }
    if (reg.resident && TensorOf(r).role == TensorRole::kParameter) {
      SBP_RETURN_IF_ERROR(FillRegister(device, r, 0));
    }
  }
  return OkStatus();
}

bool ShardedRun::may_be_fused(uint32_t task) const {
  const LocalProgramRef& program = tasks_[task].op.program;
  return program != nullptr && program->if_declined != nullptr;
}

bool ShardedRun::was_expanded(uint32_t task) const {
  return may_be_fused(task) && std::any_of(devices_.begin(), devices_.end(), [&](const auto& device) {
           return device->runner->has_declined(*tasks_[task].op.program);
         });
}

int64_t ShardedRun::task_bytes(uint32_t task) const {
  const ComputeTask& compute = tasks_[task];
  if (compute.op.program == nullptr) return 0;
  const LocalProgram& program = was_expanded(task) ? *compute.op.program->if_declined : *compute.op.program;
  return program.workspace_bytes + compute.halo_bytes;
}

int64_t ShardedRun::device_bytes() const {
  int64_t workspace = workspace_bytes_;
  for (const auto& device : devices_) workspace = std::max(workspace, device->runner->workspace_bytes());
  return physical_.arena_bytes + workspace + halo_bytes_;
}

}  // namespace sbp
