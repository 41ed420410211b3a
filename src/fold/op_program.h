// OpProgram: one op on small whole tensors, as the CPU's kernels compute it; an op without a kernel is expanded
// (decompose/decompose.h) until only kernels are left.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "graph/graph.h"
#include "kernel/kernel.h"
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

  // One operand for each of the query's (absent ones are not present), one result for each of the instance's, in
  // `memory`. What is not read needs no data. Errors: what only data can tell (an index out of range, ...).
  Result<std::vector<TensorView>> Run(std::span<const TensorView> operands, Scratch& memory) const;

 private:
  friend class OpProgramBuilder;
  struct Slot {
    TensorType type;
    LiteralRef constant;
  };
  struct Step {
    const KernelRow* kernel;
    AttributesRef attributes;
    std::vector<int> inputs, outputs;  // slots; -1: absent
  };

  size_t num_operands_ = 0;
  std::vector<Slot> slots_;  // operands first
  std::vector<Step> steps_;
  std::vector<int> results_;  // slots
};

}  // namespace sbp
