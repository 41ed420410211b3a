// DeviceRuntime: one device of a backend, as a run sees it: where its data lie, which kernels it has of its own, and
// when what was started there is known to be done. Backends hand out one a device (backends/backend.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "base/status.h"
#include "kernel/kernel.h"
#include "kernel/view.h"
#include "runtime/data/space.h"
#include "runtime/execute/local_program.h"

namespace sbp {

// Starts what an op's program does, and may keep it, to start all of it at once when the op runs again on the same
// memory, as it does in the micro-batches and steps that follow. Used by one thread.
class ProgramReplay {
 public:
  virtual ~ProgramReplay() = default;
  // `work` starts the program's kernels and sets the views of `results`; it does the same each time that `op` runs it
  // with operands and results that lie where they did. Returns its failures.
  virtual Status Run(const void* op, const LocalProgram& program, std::span<const TensorView> operands,
                     std::span<TensorView> results, const std::function<Status()>& work) = 0;
  // What was kept refers to memory that is gone.
  virtual void Clear() = 0;
};

class DeviceRuntime {
 public:
  virtual ~DeviceRuntime() = default;

  // The kernels of its own, where ops prefer them; empty: those of the CPU alone.
  virtual std::span<const KernelRow> kernels() const { return {}; }
  // May its products of f32 round their operands to tf32?
  virtual bool allow_tf32() const { return false; }

  // What this thread calls from now on concerns this device.
  virtual Status Use() { return OkStatus(); }

  // The memory of the device, as its two streams see it: made for each run, which the device outlives.
  struct Spaces {
    std::unique_ptr<Space> compute, communication;
    std::unique_ptr<ProgramReplay>
        replay;  // of `compute`'s stream, which it does not outlive; nullptr: nothing is kept
  };
  virtual Spaces MakeSpaces() = 0;

  // Is what a task starts still to be done when its call returns? Then nobody looks at what it wrote before the run's
  // end, and what a first call loads (kernels, libraries) is loaded ahead of the run.
  virtual bool is_asynchronous() const { return false; }
  // What kernels of the compute stream noted since the last time, after all that was put into it. Error (kRunFailed).
  virtual Status TakeErrors() { return OkStatus(); }

  // Memory that all devices of this process may take together, where nobody refuses what is not there.
  virtual std::optional<int64_t> AvailableBytes() const { return std::nullopt; }
};

// A device that is threads and memory of this process. Has no state: one stands for all.
DeviceRuntime& HostRuntime();

}  // namespace sbp
