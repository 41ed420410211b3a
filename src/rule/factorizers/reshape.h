// Factors of a copy that keeps the row-major order of elements and changes the shape.
#pragma once

#include "rule/factorizer.h"
#include "rule/factorizers/carry.h"

namespace sbp {

// Factors both shapes into common compound dimensions: (6,12,24,48) to (72,24,6,8) is (a, b, c, (d e)) to ((a b), c, d,
// e). Where the sizes do not nest (6,4 to 4,6) the common major part (2) is a factor and the rest stays whole. Requires
// equal numbers of elements and that the result's shape is set.
void FactorReshape(FactorizerContext& context, size_t operand, size_t result);

}  // namespace sbp
