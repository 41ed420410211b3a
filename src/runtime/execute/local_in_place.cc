// Which results of a local program its steps may write where an operand lies.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "decompose/primitives.h"
#include "rule/in_place.h"
#include "runtime/execute/local_program.h"

namespace sbp {
namespace {

bool Reads(const LocalStep& step, int32_t slot) { return std::ranges::find(step.inputs, slot) != step.inputs.end(); }
bool Writes(const LocalStep& step, int32_t slot) { return std::ranges::find(step.outputs, slot) != step.outputs.end(); }

// Does the op's kernel read each element before it writes the one in its place, and nothing else of an operand that the
// rule pairs with the result? Others may be element-wise for these sizes alone (a Pad by nothing) and fill first.
bool GoesElementByElement(const LocalStep& step) {
  const PrimitiveRow* primitive = FindPrimitive(step.op_type);
  if (primitive == nullptr) return false;
  switch (primitive->kind) {
    case PrimitiveClass::kElementwise:
    case PrimitiveClass::kCast:
    case PrimitiveClass::kSelect:
    case PrimitiveClass::kReshape:
      return true;
    default:
      return false;
  }
}

// May the step write `to` over `from`, which it reads?
bool BearsIt(const LocalStep& step, int32_t from, int32_t to) {
  if (step.kernel == nullptr) return step.from == step.to;
  if (!GoesElementByElement(step)) return false;
  if (std::ranges::count_if(step.outputs, [](int32_t slot) { return slot >= 0; }) != 1) return false;
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    if (step.inputs[i] != from) continue;
    const bool paired = std::ranges::any_of(step.pairs, [&](const InPlacePair& pair) {
      return pair.elementwise && pair.operand == static_cast<int>(i) && step.outputs[pair.result] == to;
    });
    if (!paired) return false;
  }
  return true;
}

bool MayWriteOver(const LocalProgram& program, int32_t operand, int32_t result) {
  bool is_written = false;
  for (const LocalStep& step : program.steps) {
    const bool reads = Reads(step, operand);
    if (reads && is_written) return false;
    if (!Writes(step, result)) continue;
    if (reads && !BearsIt(step, operand, result)) return false;
    is_written = true;
  }
  return true;
}

}  // namespace

std::vector<std::pair<uint32_t, uint32_t>> InPlaceResults(const LocalProgram& program) {
  std::vector<std::pair<uint32_t, uint32_t>> found;
  const bool starts_again = program.steps.size() > 1 && std::ranges::any_of(program.steps, [](const LocalStep& step) {
                              return step.kernel != nullptr && step.kernel->may_decline();
                            });
  if (starts_again) return found;
  for (uint32_t r = 0; r < program.num_results; ++r) {
    for (uint32_t i = 0; i < program.num_operands; ++i) {
      if (MayWriteOver(program, static_cast<int32_t>(i), static_cast<int32_t>(program.num_operands + r))) {
        found.emplace_back(r, i);
      }
    }
  }
  return found;
}

}  // namespace sbp
