// Evaluates small ops on known values: the shape arithmetic of exported graphs. One row an op in all_evaluators.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace sbp {

struct FoldOperand {
  bool present = false;
  const TensorType* type = nullptr;  // null or with unknown parts: not known yet
  const Literal* value = nullptr;    // null: not known
};

struct FoldRequest {
  const Attributes* attributes = nullptr;  // never null
  std::vector<FoldOperand> operands;
  size_t num_results = 1;
  std::string* why = nullptr;  // where to say why the values cannot be computed; null: nobody asks

  bool has(size_t operand) const { return operand < operands.size() && operands[operand].present; }
  // Requires has(operand) and a known value.
  const Literal& value(size_t operand) const { return *operands[operand].value; }
  // False, and the reason to whoever asks.
  bool Refuse(std::string_view reason) const {
    if (why != nullptr) *why = reason;
    return false;
  }
};

// Called with the operands that its row requires. Writes the results and returns true; false: the values cannot be
// computed here (unsupported element type, too large, division by zero, indices out of range): the op stays, and its
// rule says what is wrong with it.
using Evaluator = bool (*)(const FoldRequest& request, std::vector<Literal>& results);

struct EvaluatorRow {
  std::string_view op;
  Evaluator run;
  int required = 1;          // so many leading operands must be there; kAll: every one
  bool needs_values = true;  // false: only types of operands are read (Shape, Size)
  // Operands whose elements (sizes, if no values are needed) the results consist of, unchanged and placed by the other
  // operands: bit i for operand i, kAll; 0: the elements are computed.
  int moves = 0;
  static constexpr int kAll = -1;
};

std::span<const EvaluatorRow> AllEvaluators();
const EvaluatorRow* FindEvaluator(std::string_view op);

// Runs the row if the operands allow it. On success there are as many results as asked for, none of them large.
bool Evaluate(const EvaluatorRow& row, const FoldRequest& request, std::vector<Literal>& results);

}  // namespace sbp
