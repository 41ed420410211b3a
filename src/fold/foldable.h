// The ops that are computed where their operands are known: the shape arithmetic of exported graphs. What they compute
// is the kernels' and expansions' to say (op_program.h); a row says what follows from it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "rule/rule_set.h"

namespace sbp {

// What the elements of the results are.
enum class Elements : uint8_t {
  kComputed,
  kCombined,   // computed, each of several of the first operand's; of none nothing is computed
  kConverted,  // of the operand that `moved` names, each in its place and of another type
  kMoved,      // operands', unchanged, placed by the other operands
};

struct FoldableOp {
  std::string_view op;
  int required = 1;  // so many leading operands must be there; kAll: every one
  Elements elements = Elements::kComputed;
  int moved = 0;             // these operands' elements, if kConverted or kMoved; bit i for operand i, kAll
  bool needs_values = true;  // false: only types of operands are read (Shape, Size); moved are the sizes
  // Why the op is left to the run on these operands, in words; empty: it is not. For what has no defined result, or one
  // that differs between runtimes. Null: kernels tell.
  std::string_view (*leave)(const OpQuery& query) = nullptr;
  std::string_view failure = "";  // why a kernel gives no result, for a user
  int size = -1;                  // at least 0: the result is this size of the operand, a sequence
  static constexpr int kAll = -1;

  bool moves(size_t operand) const { return moved == kAll || (operand < 31 && (moved >> operand & 1) != 0); }
};

std::span<const FoldableOp> AllFoldableOps();  // sorted by op
const FoldableOp* FindFoldableOp(std::string_view op);

}  // namespace sbp
