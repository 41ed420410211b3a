// ShardedRun's own: what it keeps of each device of this process.
#pragma once

#include "runtime/data/space.h"
#include "runtime/execute/interpreter.h"
#include "runtime/execute/op_runner.h"
#include "runtime/run/sharded_run.h"

namespace sbp {

struct ShardedRun::Device {
  int64_t position = 0;
  std::vector<int64_t> coordinates;
  std::unique_ptr<Space> compute_space, communication_space;  // of the two streams; their memory is one
  std::shared_ptr<std::byte> arena, halo;
  std::vector<std::vector<TensorView>> views;                         // register, copy
  std::vector<std::vector<Value>> objects;                            // of registers that hold no tensor
  std::vector<std::vector<std::shared_ptr<std::byte>>> output_rooms;  // on GPUs: output, micro-batch
  std::vector<TensorView> operands, results;                          // of the compute task that runs
  const TensorView absent{};
  DeviceCommunicators communicators;
  std::unique_ptr<OpRunner> runner;
  std::unique_ptr<Interpreter> interpreter;
};

inline bool HoldsTensor(const Tensor& tensor) { return tensor.type.kind == ValueKind::kTensor; }

}  // namespace sbp
