// ShardedRun's own: what it keeps of each device of this process.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "kernel/view.h"
#include "runtime/data/value.h"
#include "runtime/exchange/communicator.h"
#include "runtime/execute/device_runtime.h"
#include "runtime/execute/interpreter.h"
#include "runtime/execute/op_runner.h"
#include "runtime/run/sharded_run.h"

namespace sbp {

struct ShardedRun::Device {
  int64_t position = 0;
  std::vector<int64_t> coordinates;
  DeviceRuntime::Spaces spaces;
  std::shared_ptr<std::byte> arena, halo;
  std::vector<std::vector<TensorView>> views;                         // register, copy
  std::vector<std::vector<Value>> objects;                            // of registers that hold no tensor
  std::vector<std::vector<std::shared_ptr<std::byte>>> output_rooms;  // output, micro-batch; as AllocateOnHost gives
  std::vector<bool> overwritten;  // registers that were filled before the run and that a task has written over
  std::vector<TensorView> operands, results;  // of the compute task that runs
  const TensorView absent{};
  DeviceCommunicators communicators;
  std::unique_ptr<OpRunner> runner;
  std::unique_ptr<Interpreter> interpreter;
};

inline bool HoldsTensor(const Tensor& tensor) { return tensor.type.kind == ValueKind::kTensor; }

}  // namespace sbp
