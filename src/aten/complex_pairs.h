// Complex numbers of torch's programs, as pairs of real ones: rotary embeddings of Llama's own code are products of
// such.
#pragma once

#include "graph/graph.h"

namespace sbp {

// Each complex tensor, inputs and weights among them, has one dimension more at the end, of size 2, real part first:
// the same bytes. Foreign ops (lower.h) that read or write one are of the type "complex::OP" (rules/aten/complex.aten),
// whose dimensions still count as torch counts them: without the pair. Where of two operands the second is real the
// name ends in "_by_real", where the first is in "_of_real".
void PairComplexNumbers(Graph& graph);

}  // namespace sbp
