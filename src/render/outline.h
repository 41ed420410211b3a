// Outline: the ops of a graph as a tree of scopes, repeated layers and ranges. Drawing and tables open some of its
// nodes and show the others as one line.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plan/plan.h"
#include "render/outline_tree.h"

namespace sbp {

struct OutlineOptions {
  size_t max_items = 200;  // more direct items than this are cut into ranges
};

// Linear in ops x depth; scopes deeper than kMaxOutlineDepth levels are cut there.
inline constexpr uint32_t kMaxOutlineDepth = 16;
Outline BuildOutline(const Plan& plan, const OutlineOptions& options);

}  // namespace sbp
