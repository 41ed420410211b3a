// Recurrent cells. Layout 0: x (time, batch, width), states (directions, batch, hidden), y (time, directions, batch,
// hidden); layout 1: batch first in each.
#include <cstdint>

#include "base/status.h"
#include "rule/factor_map.h"
#include "rule/factorizer.h"
#include "rule/factorizers/composite.h"
#include "rule/factorizers/layout.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

struct Cell {
  int64_t gates = 1, time = 0, batch = 0, width = 0, hidden = 0, directions = 1;
  bool batch_first = false;
  FactorId b = -1, r = -1;  // batch, direction
};

Result<Cell> ReadCell(FactorizerContext& context) {
  const size_t x = context.operand("X"), w = context.operand("W"), r = context.operand("R");
  for (size_t i : {x, w, r}) SBP_RETURN_IF_ERROR(ExpectRank(context, i, 3));
  Cell cell;
  cell.gates = context.int_arguments[0];
  cell.batch_first = context.Int("layout") != 0;
  cell.time = context.shape(x)[cell.batch_first ? 1 : 0];
  cell.batch = context.shape(x)[cell.batch_first ? 0 : 1];
  cell.width = context.shape(x)[2];
  cell.directions = context.String("direction", "forward") == "bidirectional" ? 2 : 1;
  SBP_RETURN_IF_ERROR(ExpectDim(context, w, 0, cell.directions, "directions"));
  SBP_RETURN_IF_ERROR(ExpectDim(context, r, 0, cell.directions, "directions"));
  return cell;
}

// The states, [directions, batch, hidden], and peepholes, [directions, ...].
void PutStates(FactorizerContext& context, const Cell& cell) {
  SetOperandDim(context, context.operand("P"), 0, {cell.r});
  for (const char* name : {"initial_h", "initial_c"}) {
    const size_t i = context.operand(name);
    if (!context.has(i) || context.rank(i) != 3) continue;
    SetOperandDim(context, i, cell.batch_first ? 1 : 0, {cell.r});
    SetOperandDim(context, i, cell.batch_first ? 0 : 1, {cell.b});
  }
}

void PutResults(FactorizerContext& context, const Cell& cell) {
  for (size_t r = 0; r < context.num_results(); ++r) {
    if (r == 0) {
      context.SetResult(0, cell.batch_first ? Shape{cell.batch, cell.time, cell.directions, cell.hidden}
                                            : Shape{cell.time, cell.directions, cell.batch, cell.hidden});
      SetResultDim(context, 0, cell.batch_first ? 2 : 1, {cell.r});
      SetResultDim(context, 0, cell.batch_first ? 0 : 2, {cell.b});
      continue;
    }
    context.SetResult(r, cell.batch_first ? Shape{cell.batch, cell.directions, cell.hidden}
                                          : Shape{cell.directions, cell.batch, cell.hidden});
    SetResultDim(context, r, cell.batch_first ? 1 : 0, {cell.r});
    SetResultDim(context, r, cell.batch_first ? 0 : 1, {cell.b});
  }
}

void SetFlops(FactorizerContext& context, const Cell& cell) {
  context.out().flops = 2.0 * static_cast<double>(cell.time) * static_cast<double>(cell.batch) *
                        static_cast<double>(cell.directions * cell.gates) * static_cast<double>(cell.hidden) *
                        static_cast<double>(cell.width + cell.hidden);
  context.map().notes.push_back("each step needs the whole hidden state of the step before");
}

}  // namespace

// @recurrent(gates): weights [directions, gates * hidden, width] and [directions, gates * hidden, hidden].
Status FactorizeRecurrent(FactorizerContext& context) {
  const size_t x = context.operand("X"), w = context.operand("W"), r = context.operand("R");
  SBP_ASSIGN_OR_RETURN(Cell cell, ReadCell(context));
  cell.hidden = context.shape(r)[2];
  SBP_RETURN_IF_ERROR(ExpectDim(context, w, 2, cell.width, "the width of X"));
  SBP_RETURN_IF_ERROR(ExpectDim(context, w, 1, cell.gates * cell.hidden, "gates times hidden size"));
  SBP_RETURN_IF_ERROR(ExpectDim(context, r, 1, cell.gates * cell.hidden, "gates times hidden size"));
  cell.b = context.map().AddFactor("b", cell.batch);
  cell.r = context.map().AddFactor("r", cell.directions);
  context.map().factors[cell.r].aware = true;  // the second direction runs backwards
  SetOperandDim(context, x, cell.batch_first ? 0 : 1, {cell.b});
  for (size_t i : {w, r, context.operand("B")}) SetOperandDim(context, i, 0, {cell.r});
  SetOperandDim(context, context.operand("sequence_lens"), 0, {cell.b});
  PutStates(context, cell);
  PutResults(context, cell);
  SetFlops(context, cell);
  return OkStatus();
}

// @dynamic_recurrent(gates): 8-bit weights [directions, width, gates * hidden]; the batch stays whole.
Status FactorizeDynamicRecurrent(FactorizerContext& context) {
  const size_t w = context.operand("W"), r = context.operand("R");
  SBP_ASSIGN_OR_RETURN(Cell cell, ReadCell(context));
  cell.hidden = context.shape(r)[1];
  SBP_RETURN_IF_ERROR(ExpectDim(context, w, 1, cell.width, "the width of X"));
  SBP_RETURN_IF_ERROR(ExpectDim(context, w, 2, cell.gates * cell.hidden, "gates times hidden size"));
  SBP_RETURN_IF_ERROR(ExpectDim(context, r, 2, cell.gates * cell.hidden, "gates times hidden size"));
  cell.b = context.map().AddFactor("b", cell.batch);
  cell.r = context.map().AddFactor("r", cell.directions);
  context.map().factors[cell.b].whole = true;
  context.map().factors[cell.r].aware = true;
  for (const char* name : {"W", "R", "B", "W_scale", "W_zero_point", "R_scale", "R_zero_point"}) {
    const size_t i = context.operand(name);
    if (context.has(i) && context.rank(i) > 0) SetOperandDim(context, i, 0, {cell.r});
  }
  PutStates(context, cell);
  PutResults(context, cell);
  SetFlops(context, cell);
  return OkStatus();
}

}  // namespace sbp
