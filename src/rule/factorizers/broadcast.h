// Elementwise ops: numpy broadcasting of operands into one result.
#pragma once

#include <span>

#include "base/status.h"
#include "rule/factorizer.h"

namespace sbp {

// Infers the shape of result 0 from the operands and gives each of its dimensions a factor, carried by every one of the
// operands that has that dimension in full. Absent operands are skipped.
Status BroadcastInto(FactorizerContext& context, std::span<const size_t> operands);

// All present operands.
Status BroadcastAll(FactorizerContext& context);

}  // namespace sbp
