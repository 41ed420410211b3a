// Operands on which an op is left to the run: FoldableOp::leave. All are as known as its row needs them.
#pragma once

#include <string_view>

#include "rule/rule_set.h"

namespace sbp {

// The first operand has more elements than can be counted; is of floats; is of integers, whose means runtimes round in
// different ways.
std::string_view LeaveUncountable(const OpQuery& query);
std::string_view LeaveFloats(const OpQuery& query);
std::string_view LeaveIntegers(const OpQuery& query);
// Floats that no integer of 64 bits is near, where the result's type is not that of floats.
std::string_view LeaveBeyondIntegers(const OpQuery& query);
// Of integers: by 0, results that do not fit; of floats, remainders of the divisor's sign.
std::string_view LeaveUndefinedQuotient(const OpQuery& query);
std::string_view LeaveUndefinedRemainder(const OpQuery& query);
std::string_view LeaveUndefinedPower(const OpQuery& query);
std::string_view LeaveUndefinedRange(const OpQuery& query);  // bounds that are no single numbers

}  // namespace sbp
