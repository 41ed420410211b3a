// Products of 8-bit floats, as tensor cores make them: operands are cast, sums are wide.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "grad/update.h"
#include "graph/graph.h"
#include "rule/rule_set.h"

namespace sbp {

// Lets the products of data and weights of `graph` (resolved; computed in f16 or bf16) read 8-bit floats: each operand
// through a Cast "narrow/T" that all such readers share, to e4m3, of cotangents to e5m2, whose range is wider
// (Micikevicius et al. 2022, arXiv 2209.05433); the product is an sbp::NarrowEinsum of the type that it was. Transposes
// of operands move behind the casts. Of the backward pass, the cotangents of such operands: products that read a
// weight, and those that make the gradient of a weight of `trained`.
// What a Gemm adds is added behind the product.
//
// Left wide, as Transformer Engine and torchao leave them: products of activations alone (attention), and those with
// the weights of the last product in front of the outputs (the head), tied ones too. Casts do not scale: values beyond
// the type's range become its greatest. Returns how many products read 8 bits. Ids of ops change.
Result<int64_t> NarrowProducts(Graph& graph, std::span<const Trained> trained, const RuleSet& rules);

}  // namespace sbp
