#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "decompose/expansions.h"

namespace sbp {
namespace {

constexpr std::array<ExpansionRow, 2> kExpansions = {{
    {"Constant", ExpandConstant},
    {"Resize", ExpandResize},
}};

}  // namespace

std::span<const ExpansionRow> AllExpansions() { return kExpansions; }

const ExpansionRow* FindExpansion(std::string_view op) {
  const std::span<const ExpansionRow> rows = AllExpansions();
  const auto it = std::find_if(rows.begin(), rows.end(), [&](const ExpansionRow& row) { return row.op == op; });
  return it == rows.end() ? nullptr : &*it;
}

}  // namespace sbp
