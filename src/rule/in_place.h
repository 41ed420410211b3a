// Which results of an op may be written where an operand lies: element i of the result then needs element i of that
// operand and no other of it, both in row-major order.
#pragma once

#include <vector>

#include "rule/factor_map.h"

namespace sbp {

struct InPlacePair {
  int result = 0, operand = 0;
  // Does the rule prove it? Otherwise operand and result are alike, and only a kernel made for it (an update of a
  // state) writes one over the other.
  bool elementwise = true;
  friend bool operator==(const InPlacePair&, const InPlacePair&) = default;
};

// Proved by the rule itself: where operand and result are made of the same factors in the same order, and every one of
// them may be split anywhere without neighbours, ranks that hold one element each compute the op, so that no element of
// the result sees another one of the operand. That covers element-wise ops, and those that only give a tensor another
// shape. Ordered by result, then operand. Types whose elements are smaller than a byte, or whose sizes differ, and ops
// without a rule have none.
std::vector<InPlacePair> InPlacePairs(const RuleInstance& instance);

}  // namespace sbp
