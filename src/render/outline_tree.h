// The tree of an outline (render/outline.h): scopes, repeated layers and ranges, with ops as leaves.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sbp {

struct OutlineItem {
  bool is_op = true;
  uint32_t index = 0;  // into Graph::ops or Outline::nodes
};

struct OutlineNode {
  enum class Kind : uint8_t {
    kScope,   // ops that share a scope
    kRange,   // neighbours that share nothing but their place; keeps long flat graphs readable
    kRepeat,  // its items are equal copies (scopes or ranges); folded: only the first one is shown
  };
  Kind kind = Kind::kScope;
  std::string label;  // the last component of the scope, "layers.0 .. layers.31", "ops 64 .. 127"
  std::string path;   // the whole scope, for --expand; of a range: its label
  int32_t parent = -1;
  uint32_t depth = 0;
  std::vector<OutlineItem> items;  // by first op
  uint32_t first_op = 0;
  uint32_t num_ops = 0;       // in the whole subtree
  bool stays_closed = false;  // unless it is asked for: the vjp of one op
};

// nodes[0] is the whole graph; a node's parent may stand after it.
struct Outline {
  std::vector<OutlineNode> nodes;
  std::vector<int32_t> op_node;  // per op: the node that holds it

  // The ops of a subtree in the order of its items: equal copies list corresponding ops at equal places.
  std::vector<uint32_t> OpsOf(uint32_t node) const;
};

}  // namespace sbp
