// Graphs of a single op, for tests.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "runtime/execute/op_runner.h"

namespace sbp {

struct OneOp {
  std::string type;
  std::vector<std::string> operands;  // types; "": absent
  std::string attributes;             // JSON fields
  std::string mesh;
  std::string signature;
};

// Inputs x0, x1, ...; result y; resolved.
Graph GraphOf(const OneOp& c);

}  // namespace sbp
