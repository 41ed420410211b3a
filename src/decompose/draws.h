// Which ops draw random numbers: two of them on equal operands are not one.
#pragma once

#include <string_view>

#include "rule/rule_set.h"

namespace sbp {

// A primitive that does, or an op one of whose expansions calls such an op, through however many others. Of the op's
// type: whether this form of it draws (Dropout in training) is not asked.
bool DrawsRandom(std::string_view op_type, const RuleSet& rules);

}  // namespace sbp
