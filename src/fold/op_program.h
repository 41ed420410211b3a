// OpProgram: one op on small whole tensors, as the CPU's kernels compute it; an op without a kernel is expanded
// (decompose/decompose.h) until only kernels are left.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "kernel/kernel.h"
#include "kernel/view.h"
#include "rule/factor_map.h"
#include "rule/rule_set.h"

namespace sbp {

class OpProgram {
 public:
  // No tensor of a program has more elements.
  static constexpr int64_t kMostElements = 4 * kMaxLiteralElements;

  // `instance`: what the rules answered to `query`, whose values an expansion reads. Errors: the op has neither kernel
  // nor expansion for these types; the expansion does not end; a tensor is too large.
  static Result<OpProgram> Make(const OpQuery& query, const AttributesRef& attributes, const RuleInstance& instance,
                                const RuleSet& rules);

  // The elements of each of the query's operands (null: not known, or absent; aligned as kernels need them), and one
  // result for each of the instance's, in `memory` until the next run. Errors: what only data can tell (an index out of
  // range, ...); an operand's elements are read and not known.
  Result<std::vector<const TensorView*>> Run(std::span<std::byte* const> operands, Scratch& memory);

 private:
  friend class OpProgramBuilder;
  struct Slot {
    TensorView view;  // as planned; not present: an absent operand
    LiteralRef constant;
    const TensorView* now = nullptr;  // of the run: what was written
  };
  struct Step {
    KernelFn run;
    AttributesRef attributes;
    std::vector<int> inputs, outputs;  // slots; -1: absent
    KernelCall call;
  };
  Status RunStep(Step& step, Scratch& memory);

  std::vector<Slot> slots_;  // operands first
  std::vector<Step> steps_;
  std::vector<int> results_;  // slots
};

}  // namespace sbp
