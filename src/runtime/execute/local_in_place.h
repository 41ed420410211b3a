// Which results of a local program its steps may write where an operand lies.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/execute/local_program.h"

namespace sbp {

// Result, operand; ascending. Every step that reads the operand must come before the result's first write, or be that
// step, alone in what it writes, and element-wise in both. A program of several steps one of which may decline starts
// again from its operands, and so must leave them as they are.
std::vector<std::pair<uint32_t, uint32_t>> InPlaceResults(const LocalProgram& program);

}  // namespace sbp
