// Expansions that text cannot say: constants that are computed, index arithmetic.
#pragma once

#include <span>
#include <string_view>

#include "base/status.h"
#include "decompose/expansion_builder.h"

namespace sbp {

struct ExpansionRow {
  std::string_view op;
  // Sets every wanted result of the builder.
  Status (*run)(ExpansionBuilder& builder);
};
std::span<const ExpansionRow> AllExpansions();  // sorted by op; all_expansions.cc
const ExpansionRow* FindExpansion(std::string_view op);

// constant.cc: the value as a parameter.
Status ExpandConstant(ExpansionBuilder& builder);
// resize.cc: where each output element lies, and the weights of its neighbours.
Status ExpandResize(ExpansionBuilder& builder);

}  // namespace sbp
