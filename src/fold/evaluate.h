// Computes small ops on known values, by the CPU's kernels and the expansions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "fold/foldable.h"
#include "fold/instance_cache.h"
#include "fold/op_program.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "kernel/kernel.h"
#include "kernel/view.h"
#include "rule/factor_map.h"
#include "rule/rule_set.h"

namespace sbp {

struct FoldRequest {
  OpQuery query;  // every result is wanted; a value that is not known is null
  AttributesRef attributes;
  std::string* why = nullptr;  // where to say why the values cannot be computed; null: nobody asks
};

struct Evaluated {
  std::vector<Literal> values;  // one a result, none of them large
  // Of a row that moves or converts elements: which element of an operand each element of a result is. They are counted
  // through the operands that the row moves (or the converted one), one after the other. Of a row that reads types
  // alone: sizes are counted so. Empty: the elements are computed.
  std::vector<std::vector<int64_t>> places;
};

// One per resolution: programs are kept for the next op that is alike.
class OpEvaluator {
 public:
  explicit OpEvaluator(InstanceCache& cache) : cache_(cache) {}

  // Nothing: the values cannot be computed (operands that are not known, an element type that is not computed, too
  // large, division by zero, indices out of range): the op stays, and its rule says what is wrong with it. Of the
  // request's operands the sizes (of a row that reads types alone: the ranks) are left, but not types and values.
  std::optional<Evaluated> Run(const FoldableOp& row, FoldRequest& request);

 private:
  // Per operand: does the form of the program follow from its value?
  const std::vector<bool>& DecidesForm(const FoldableOp& row, size_t operands);
  // Results, until the next run. `first`: operands whose elements are counted from there, in place of what they are;
  // -1: not this one.
  Result<std::vector<const TensorView*>> RunProgram(const FoldableOp& row, FoldRequest& request,
                                                    const std::vector<int64_t>& first);
  Result<std::vector<Literal>> Compute(const FoldableOp& row, FoldRequest& request);
  std::optional<Evaluated> Move(const FoldableOp& row, FoldRequest& request);

  InstanceCache& cache_;
  std::unordered_map<RuleInstanceRef, std::optional<OpProgram>> programs_;  // nothing: there is none
  std::unordered_map<const FoldableOp*, std::vector<bool>> decides_form_;
  Scratch memory_;
};

// The elements at `places` of lists, one after the other.
template <typename List>
List ElementsAt(const std::vector<int64_t>& places, const List& list) {
  List picked;
  picked.reserve(places.size());
  for (const int64_t place : places) picked.push_back(list[static_cast<size_t>(place)]);
  return picked;
}

}  // namespace sbp
