// Opening: which nodes of an outline a drawing opens, and which op stands for each op of a folded copy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "render/outline_tree.h"

namespace sbp {

struct Opening {
  std::vector<bool> open;           // per outline node; scopes and ranges: items shown; repeats: every copy shown
  std::vector<uint32_t> stand_in;   // per op: itself, or its counterpart in the first copy
  size_t closed_for_size = 0;       // nodes that stay closed because the drawing is full
  size_t closed_though_wanted = 0;  // of these, nodes that patterns name
};

struct OpeningOptions {
  std::vector<std::string> expand;  // patterns over scope paths; also matched against the end of a path
  size_t max_nodes = 240;           // without expansion
  size_t max_expanded = 1000;       // with it
  bool open_parts = false;          // of training steps: also what one op became, and updates
};

// Per node of the outline: do patterns name it, or a node in it? Of a repeat: must it be opened for that? Error: a
// pattern that matches nothing.
Result<std::vector<bool>> WantedNodes(const Outline& outline, const std::vector<std::string>& patterns);

// Per op: itself, or where repeats are closed its counterpart in the first copy.
std::vector<uint32_t> StandIns(const Outline& outline, const std::vector<bool>& open);

// Level by level from the root, in order, while the drawing has room. Error: a pattern that matches nothing.
Result<Opening> ChooseOpening(const Outline& outline, const std::vector<uint32_t>& op_weights,
                              const OpeningOptions& options);

}  // namespace sbp
