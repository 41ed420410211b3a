// OpRunner: runs local programs on one device.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/status.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "kernel/kernel.h"
#include "kernel/view.h"
#include "runtime/data/space.h"
#include "runtime/data/value.h"
#include "runtime/execute/device_runtime.h"
#include "runtime/execute/local_program.h"
#include "sbp/shard_math.h"
#include "sbp/signature.h"

namespace sbp {

// A point of the mesh.
struct DevicePlace {
  std::vector<int64_t> coordinates;  // one per mesh axis
};

// An op with its planned program, for running again and again.
struct PreparedOp {
  std::string name;  // of the op in the graph, for messages
  OpForm form;
  std::vector<TensorType> operands;  // planned; whole
  std::vector<LiteralRef> values;    // known when planning
  std::vector<bool> assumed;         // ... so far as planning can: what stands in memory when the op runs counts
  // For a GPU: the values that are known when planning, as tensors, where the op's rule reads them.
  std::vector<Value> host_values;
  LocalProgramRef program;
  uint64_t seed = 0;
};
// The seed of a random op in a run of `seed`: by the op's name, which it keeps where a graph is simplified or resolved
// anew, so that a plan and its reference draw the same. What is computed again draws what it drew (graph/again.h).
uint64_t SeedOf(uint64_t seed, const Op& op);
// Without a compiler there is no planned program: sizes are known only when the op runs. Error names the op.
Result<PreparedOp> PrepareOp(const Graph& graph, const Op& op, Signature signature, uint64_t seed,
                             LocalCompiler* compiler);

struct OpRunnerOptions {
  // Where operands and results lie; nullptr: in memory of this process. Both outlive the runner.
  Space* space = nullptr;
  ProgramReplay* replay = nullptr;  // of the space's device; nullptr: nothing is kept
  bool allow_tf32 = false;          // as KernelCall's
};

// One per thread of execution. Owns the workspace that the programs' steps share. On a GPU what Run does happens in the
// order of the space's stream; only steps on the host, and values that sizes follow from, are waited for.
class OpRunner {
 public:
  // `compiler` makes programs for the kind of device that the space is of.
  OpRunner(LocalCompiler& compiler, DevicePlace place, const OpRunnerOptions& options = {})
      : compiler_(compiler), place_(std::move(place)), options_(options) {}

  // Which of their draws random ops make from now on, from 0: each takes other numbers.
  void set_draw(uint64_t draw) { draw_ = draw; }
  // The planned program, or, where data decided other sizes, the one for these operands.
  Result<LocalProgramRef> ProgramFor(const PreparedOp& op, std::span<const TensorView> operands);

  // The device's parts in, the device's parts out. `results` (absent where not wanted) have buffers that hold the
  // largest part of the planned type; their shapes, ranges and whole sizes are set here. Operands whose sizes differ
  // from the planned ones (data decided them) are fine. Errors (kRunFailed) name the op.
  Status Run(const PreparedOp& op, std::span<const TensorView> operands, std::span<TensorView> results);
  // The same with a program from ProgramFor.
  Status Run(const PreparedOp& op, const LocalProgram& program, std::span<const TensorView> operands,
             std::span<TensorView> results);

  // Bytes of workspace to have ready before the first run. Error: out of memory.
  Status Reserve(int64_t workspace_bytes);
  // Taken so far, with what results that may not lie over their operands were made in.
  int64_t workspace_bytes() const;
  // Asks the kernels of the op's program that may decline whether they will, for operands and results of these sizes
  // (whose data need not be there), so that it is known before the first run what room there has to be.
  Status Ask(const PreparedOp& op, std::span<const TensorView> operands, std::span<const TensorView> results);
  // Has a kernel of the program declined? Since then LocalProgram::if_declined runs instead.
  bool has_declined(const LocalProgram& program) const { return declined_.contains(&program); }
  // Uploads the program's constants ahead of its first run.
  Status Load(const LocalProgram& program) { return PlannedViews(program).status(); }

 private:
  Status RunProgram(const PreparedOp& op, const LocalProgram& program, std::span<const TensorView> operands,
                    std::span<TensorView> results);
  Status SetAside(const LocalProgram& program, std::span<const TensorView> operands,
                  std::span<const TensorView> results);
  Status PutBack(TensorView& made, std::byte* data);
  Status RunSteps(const PreparedOp& op, const LocalProgram& program, std::span<const TensorView> operands,
                  std::span<TensorView> results);
  std::vector<LiteralRef> CurrentValues(const PreparedOp& op, std::span<const TensorView> operands);
  bool IsAsPlanned(const PreparedOp& op, std::span<const TensorView> operands);
  Space& space() { return options_.space != nullptr ? *options_.space : host_; }
  Status SetViews(const LocalProgram& program, std::span<const TensorView> operands,
                  std::span<const TensorView> results);
  void FillCall(const PreparedOp& op, const LocalStep& step);
  void SeedCall(const PreparedOp& op, const LocalStep& step);
  Status RunKernel(const PreparedOp& op, const LocalProgram& program, const LocalStep& step);
  Status RunOnHost(const LocalProgram& program, const LocalStep& step);
  Status RunChange(const LocalProgram& program, const LocalStep& step);
  // Host copies of what the step's rule reads, for kernels of GPUs.
  Status TakeHostInputs(const PreparedOp& op, const LocalProgram& program, const LocalStep& step);
  Status SizeOutputs(const LocalProgram& program, const LocalStep& step);
  // The views of a program's slots at their planned sizes, without data (constants with, in the space). Programs stay
  // with the compiler, so that their addresses name them.
  Result<const std::vector<TensorView>*> PlannedViews(const LocalProgram& program);
  Status UploadConstants(const LocalProgram& program, std::vector<TensorView>& views);
  TensorView ViewOf(const LocalSlot& slot, const Shape& whole, std::byte* data) const;

  LocalCompiler& compiler_;
  const DevicePlace place_;
  const OpRunnerOptions options_;
  HostSpace host_;
  std::shared_ptr<std::byte> workspace_;
  int64_t workspace_bytes_ = 0;
  struct Aside {
    std::shared_ptr<std::byte> data;
    int64_t bytes = 0;
  };
  std::vector<Aside> aside_;    // per result: where it is made, if not where it belongs; grows as programs need
  std::vector<bool> is_aside_;  // per result of the running program
  Scratch scratch_;
  uint64_t draw_ = 0;
  Attributes drawn_attributes_;    // of the running step, where its own seed is another one in this draw
  std::vector<TensorView> views_;  // per slot of the running program
  std::unordered_map<const LocalProgram*, std::vector<TensorView>> planned_views_;
  std::unordered_set<const LocalProgram*> declined_;
  std::vector<std::shared_ptr<std::byte>> constants_;  // of programs, in the space
  std::vector<Value> staged_;                          // of the running step: copies in memory of this process
  const TensorView absent_{};
  KernelCall call_;
};

}  // namespace sbp
