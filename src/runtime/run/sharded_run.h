// ShardedRun: the devices of a plan that live in this process: their arenas, their parts of every tensor, and what each
// task does to them. The engine (actor_engine.h) decides when.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/status.h"
#include "graph/graph.h"
#include "kernel/view.h"
#include "plan/physical_plan.h"
#include "plan/plan.h"
#include "rule/rule_set.h"
#include "runtime/actors/actor_engine.h"
#include "runtime/data/box.h"
#include "runtime/data/value.h"
#include "runtime/exchange/communicator.h"
#include "runtime/exchange/halo.h"
#include "runtime/execute/device_runtime.h"
#include "runtime/execute/interpreter.h"
#include "runtime/execute/local_program.h"
#include "runtime/execute/op_runner.h"
#include "runtime/run/tensor_store.h"
#include "sbp/sbp.h"

namespace sbp {

struct ShardedOptions {
  std::vector<int64_t> devices;  // positions of the mesh that run here
  bool keep_tensors = false;     // parts of every tensor, of the first micro-batch
  uint64_t seed = 0;             // of random ops; as the interpreter's
  // By index into `devices`; empty: each is HostRuntime(). They outlive the run.
  std::vector<DeviceRuntime*> runtimes;
  std::function<bool()> cancelled;  // asked by what runs bodies of control flow, from any thread. May be null
};

class ShardedRun : public TaskRunner {
 public:
  // Compiles every op and fills the parameters. All arguments outlive the run. Errors name the op; out of memory
  // (kRunFailed) says how much a device needs.
  static Result<std::unique_ptr<ShardedRun>> Make(const Plan& plan, const PhysicalPlan& physical, const RuleSet& rules,
                                                  TensorStore& store, MeshCommunicators communicators,
                                                  ShardedOptions options);
  ~ShardedRun() override;

  // On an asynchronous device (DeviceRuntime), what Begin, Run and End do is not done when they return: it happens in
  // the order of the calls on the device's two streams, which whoever fires the tasks orders (Backend::RunActors).
  // Settle waits for all of it.
  bool is_asynchronous() const;
  Status Settle() override;
  // Before the first collective, where devices are asynchronous: runs every task once that computes on the device
  // alone, on whatever is in its memory, so that kernels are loaded, and libraries have their handles and workspaces,
  // while no collective waits on a device. What fails will fail again.
  void Warm();
  // After the run: has a kernel noted a failure, or does an output hold NaN? Then a careful run finds out which task it
  // was: one that waits for each task and looks at what it wrote, as is done anyway where that is at hand.
  bool doubtful() const;
  void BeCareful(bool careful) { careful_ = careful; }
  // What kernels noted in the run before.
  const Status& noted() const { return noted_; }

  // For ActorOptions.
  std::vector<std::vector<uint32_t>> halos() const;

  Status Begin(int64_t device, uint32_t micro_batch) override;
  Status Run(int64_t device, uint32_t actor, uint32_t micro_batch) override;
  Status End(int64_t device, uint32_t micro_batch) override;
  void Abort(const Status& failure) override;
  Status Poll(int64_t device) override;

  // For runs of several steps. From now on only these tasks do anything (empty: all do): a section of the step. What
  // they read of the others lies where the run before left it.
  void OnlyTasks(std::vector<bool> active) { active_ = std::move(active); }
  // Which random inputs the next runs take, and which draw of random ops, in place of the engine's micro-batch.
  void SetBatch(uint32_t batch, uint64_t draw) {
    batch_ = batch;
    draw_ = draw;
  }
  // After a run: the parts of an output become those of an input or parameter, of the same layout, for the runs that
  // follow; from then on that input is not filled from the store any more.
  struct StateFeed {
    uint32_t output = 0;          // index into graph.outputs
    uint32_t reg = ~uint32_t{0};  // of the input
  };
  Status FeedStates(const std::vector<StateFeed>& feeds);
  Status ZeroStates(const std::vector<uint32_t>& registers);

  // From now on steps run for their time alone: values are neither looked at for NaN nor kept.
  void OnlyTime() { only_time_ = true; }

  // After the run. Parts of output `output` (an index into graph.outputs), by index into options.devices.
  const std::vector<Value>& OutputParts(size_t output, uint32_t micro_batch) const;
  // Parts of what a register held; kept only on request; empty where the register was never written.
  const std::vector<Value>& RegisterParts(uint32_t reg) const;
  // The first task, in the order of micro-batches and tasks, that made a NaN from none; nothing: no task did.
  struct NaNOrigin {
    uint32_t micro_batch = 0, task = 0;
    int64_t device = 0;
    friend auto operator<=>(const NaNOrigin&, const NaNOrigin&) = default;
  };
  std::optional<NaNOrigin> first_nan() const;
  // May the devices' libraries have a fused kernel for the task (KernelRow::may_decline)? After the run: was it
  // expanded on one of this process's devices, for want of one?
  bool may_be_fused(uint32_t task) const;
  bool was_expanded(uint32_t task) const;
  // Of a task, after the run: workspace and halo buffers.
  int64_t task_bytes(uint32_t task) const;
  // Memory of one device, after the run: arena, workspace and halo buffers.
  int64_t device_bytes() const;

 private:
  struct Device;
  // The operand's elements that neighbours hold.
  struct HaloOperand {
    size_t operand = 0;
    HaloWidths widths;
    int64_t offset = 0;  // in the halo buffer
  };
  struct ComputeTask {
    PreparedOp op;
    bool special = false;  // control flow or sequences: run by the interpreter
    std::vector<HaloOperand> halos;
    int64_t halo_bytes = 0;
    std::vector<uint32_t> overwrites;  // registers that it reads and writes in place
  };

  ShardedRun(const Plan& plan, const PhysicalPlan& physical, TensorStore& store, ShardedOptions options);
  DeviceRuntime& RuntimeOf(const Device& device) const;
  Status Prepare(const RuleSet& rules, MeshCommunicators communicators);
  Status PrepareTask(uint32_t task);
  void PlaceHalos(ComputeTask& compute);
  Status CheckMemory() const;
  Status TakeMemory(Device& device);
  Status AskKernels(Device& device);
  bool CanWarm(uint32_t task) const;
  Status AllocateDevice(Device& device);
  Status FillRegister(Device& device, uint32_t reg, uint32_t micro_batch);
  static Status CheckRoom(const PreparedOp& op, const LocalProgram& program);
  Status RunCompute(Device& device, uint32_t task, uint32_t micro_batch);
  Status RunSpecial(Device& device, uint32_t task, uint32_t micro_batch);
  Status RunBoxing(Device& device, uint32_t task, uint32_t micro_batch);
  Status LookAt(Device& device, uint32_t task, bool had_nan, uint32_t micro_batch);
  Result<bool> HoldsNaN(Device& device, const std::vector<uint32_t>& registers, uint32_t micro_batch) const;
  Status RunHalo(Device& device, uint32_t task, uint32_t micro_batch);
  // The part of an operand with its neighbours' elements, in the halo buffer; and that of every device.
  TensorView WithHalo(Device& device, const HaloOperand& halo, const TensorView& part, std::vector<Box>& wanted) const;
  const NdSbp& LayoutOf(uint32_t task, const HaloOperand& halo) const;
  Status NoteNaN(Device& device, uint32_t task, uint32_t micro_batch);
  Status Keep(Device& device, bool wrote_by_collective, uint32_t reg, uint32_t micro_batch);
  size_t IndexOf(int64_t position) const;
  Status MakeOutputRooms(Device& device);
  Device& DeviceAt(int64_t position) { return *devices_[IndexOf(position)]; }
  TensorView& View(Device& device, uint32_t reg, uint32_t micro_batch) const;
  const Tensor& TensorOf(uint32_t reg) const { return plan_.graph.tensor(physical_.registers[reg].tensor); }

  const Plan& plan_;
  const PhysicalPlan& physical_;
  TensorStore& store_;
  ShardedOptions options_;
  std::unique_ptr<LocalCompiler> compiler_, whole_compiler_;
  bool only_time_ = false;
  std::vector<ComputeTask> tasks_;
  std::vector<uint32_t> halo_tasks_;  // those with halos, ascending
  std::vector<uint32_t> output_registers_;
  std::vector<uint32_t> owners_;  // per register: BufferOwners
  int64_t workspace_bytes_ = 0, halo_bytes_ = 0;
  std::vector<std::unique_ptr<Device>> devices_;

  std::vector<bool> active_;  // tasks; empty: all
  std::vector<bool> fed_;     // registers that hold a state of the step before
  std::optional<uint32_t> batch_;
  std::optional<uint64_t> draw_;

  bool careful_ = false;
  Status noted_;

  mutable std::mutex mutex_;
  std::optional<NaNOrigin> first_nan_;
  std::vector<std::vector<std::vector<Value>>> outputs_;  // output, micro-batch, device
  std::vector<std::vector<Value>> kept_;                  // register, device
};

}  // namespace sbp
