// LocalProgram: what one device does to compute its parts of one op's results: kernels, and the local changes of layout
// between them. An op with a kernel is one step; a composite one is expanded, again and again, down to kernels.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "kernel/kernel.h"
#include "rule/in_place.h"
#include "rule/rule_set.h"
#include "runtime/data/value.h"
#include "runtime/exchange/halo.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/signature.h"

namespace sbp {

// A tensor of the program. Operands come first, then results, then what the steps hand on.
struct LocalSlot {
  TensorType type;  // of the whole tensor; sizes that data decide at their bound
  NdSbp layout;
  LiteralRef constant;  // with a value that is part of the program; as a tensor:
  Value value;
  int64_t offset = -1;  // bytes from the start of the workspace; -1: operand, result or constant
  int64_t bytes = 0;    // of the largest part
};

struct LocalStep {
  const KernelRow* kernel = nullptr;  // nullptr: a change of layout, from inputs[0] to outputs[0]
  bool on_host = false;               // of a program for a GPU: a kernel of the CPU, on copies of its operands
  std::string op_type;
  AttributesRef attributes;
  std::vector<int32_t> inputs, outputs;  // slots; -1: absent
  std::vector<bool> reads_value;         // per input: does the rule read it? (Its sizes may follow from it.)
  std::vector<InPlacePair> pairs;        // of a step that makes a result of the program from an operand
  NdSbp from, to;                        // of a change
};

struct LocalProgram {
  std::vector<LocalSlot> slots;
  uint32_t num_operands = 0, num_results = 0;
  std::vector<HaloWidths> halos;  // per operand: what its parts hold of neighbours' elements; kernels read them so
  std::vector<LocalStep> steps;
  int64_t workspace_bytes = 0;
  // Results that the steps may write where an operand lies (result, operand): no step reads the operand afterwards, and
  // the one that writes does so element by element.
  std::vector<std::pair<uint32_t, uint32_t>> in_place;
  // The signatures of the inner ops of each expansion, in the order in which they were expanded; none where that could
  // not be laid out, and the CPU's kernel runs instead.
  std::vector<std::vector<Signature>> inner_layouts;
  // Results whose sizes data decide: the steps set them.
  bool data_dependent = false;
  bool draws_random = false;  // a step does
  // Where a kernel may decline (KernelRow::may_decline): the program to run if one does. It has the same operands and
  // results.
  std::shared_ptr<const LocalProgram> if_declined;
};
using LocalProgramRef = std::shared_ptr<const LocalProgram>;

// An op with everything but the concrete sizes of its operands.
struct OpForm {
  std::string type;
  AttributesRef attributes;
  Signature signature;  // on the compiler's mesh
  std::vector<bool> wanted;
  std::vector<TensorType> stated;  // as in OpQuery
};

// Makes programs, one per different question. Safe to share between threads.
//
// Programs for a GPU use its kernels where there is one, expand what has none, and take the CPU's kernel for what
// cannot be expanded, or whose expansion cannot be laid out.
class LocalCompiler {
 public:
  // `gpu_kernels`: rows of the GPU's kernels, sorted by op; empty: programs for the CPU.
  LocalCompiler(const RuleSet& rules, Mesh mesh, std::span<const KernelRow> gpu_kernels = {})
      : rules_(rules), mesh_(std::move(mesh)), gpu_kernels_(gpu_kernels) {}

  // `operands` are whole; absent ones have dtype kUndefined. `values`: what is known of them (nullptr: nothing), used
  // where the rule or the expansion reads them. Error: the op has neither kernel nor expansion, or its expansion cannot
  // be laid out.
  // `like`: the program for the planned sizes, whose layouts are taken over: on the sizes that data decided, parts may
  // be empty, which no candidate allows.
  Result<LocalProgramRef> Compile(const OpForm& form, const std::vector<TensorType>& operands,
                                  const std::vector<LiteralRef>& values, const LocalProgram* like = nullptr);
  const RuleSet& rules() const { return rules_; }
  const Mesh& mesh() const { return mesh_; }
  bool for_gpu() const { return !gpu_kernels_.empty(); }

 private:
  const RuleSet& rules_;
  Mesh mesh_;
  std::span<const KernelRow> gpu_kernels_;
  std::mutex mutex_;
  std::map<std::string, LocalProgramRef> programs_;  // by everything that decides
  std::vector<AttributesRef> kept_;                  // attributes whose addresses are parts of keys
};

// What LocalProgram::in_place is, ascending. Every step that reads the operand comes before the result's first write,
// or is that step, alone in what it writes, and element-wise in both. A program of several steps one of which may
// decline starts again from its operands, and so leaves them as they are.
std::vector<std::pair<uint32_t, uint32_t>> InPlaceResults(const LocalProgram& program);

// The canonical text: a line a slot and a step. For tests.
std::string Dump(const LocalProgram& program);

}  // namespace sbp
