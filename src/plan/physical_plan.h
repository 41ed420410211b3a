// PhysicalPlan: what the devices execute. Plain data; physical/ makes it, io/ reads and writes it, check/ verifies it.
//
// Every device of the mesh runs the same tasks in the same order; devices differ in the slices that they hold. Sizes
// are those of the largest part, so that a register lies at the same offset on every device and all ranks issue their
// collectives in one order: the order of the tasks.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/ids.h"
#include "sbp/sbp.h"

namespace sbp {

inline constexpr uint32_t kNoRegister = std::numeric_limits<uint32_t>::max();
inline constexpr int64_t kArenaAlignment = 64;  // bytes: a cache line, and the widest vector load

// A buffer that one task fills (or that is there from the start) and that others read.
struct Register {
  TensorId tensor;
  int32_t transition = -1;  // index into Plan::transitions; -1: the tensor as its producer writes it
  int32_t step = -1;        // which step of the transition writes it
  NdSbp layout;
  int64_t bytes = 0;      // of the largest part; one copy
  uint32_t copies = 1;    // micro-batches that it holds at once
  bool resident = false;  // a parameter or an input: filled before the first task
  uint32_t first = 0,
           last = 0;   // positions in the task order: holds data from the start of `first` to the end of `last`
  int64_t offset = 0;  // bytes from the start of the arena; copies follow each other
  uint32_t over = kNoRegister;  // the register in whose place it is written, by the last task that uses that one

  int64_t footprint() const;  // bytes of all copies, each rounded up to kArenaAlignment
  friend bool operator==(const Register&, const Register&) = default;
};

struct Task {
  OpId op;                  // a compute task; invalid: a boxing task
  int32_t transition = -1;  // a boxing task: this step of this transition
  int32_t step = -1;
  std::vector<uint32_t> reads;   // registers, in the order of the operands (captures last); kNoRegister where absent
  std::vector<uint32_t> writes;  // registers, in the order of the results; kNoRegister where nobody asked for one
  // Tasks that must have ended although no data flows from them: they use memory that this one overwrites, and may run
  // on the other stream.
  std::vector<uint32_t> after;
  friend bool operator==(const Task&, const Task&) = default;
};

struct PhysicalPlan {
  uint32_t micro_batches = 1;
  std::vector<Register> registers;
  std::vector<Task> tasks;
  int64_t arena_bytes = 0;        // on each device
  int64_t lower_bound_bytes = 0;  // most bytes of registers that hold data at one time: no arena is smaller
  std::string placement;          // the algorithm whose arena was smallest
  friend bool operator==(const PhysicalPlan&, const PhysicalPlan&) = default;
};

}  // namespace sbp
