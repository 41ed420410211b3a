// Combining partial values: the arithmetic of P(sum), P(prod), P(max) and P(min).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/dtype.h"
#include "base/status.h"
#include "sbp/sbp.h"

namespace sbp {

// Error (kRunFailed): values of the type cannot be combined so: 8-bit and narrower floats, packed types and strings not
// at all, complex ones by sum and prod only. On bool, max and sum are "or", min and prod "and".
Status CanReduce(DType dtype, ReduceKind kind);

// target[k] = sources[0][k] op sources[1][k] op ..., from left to right, for `count` elements. f16 and bf16 are
// combined in f32 and rounded once; integers wrap around; max and min pass NaN on. `target` may be one of the sources.
// Requires CanReduce.
void ReduceElements(DType dtype, ReduceKind kind, std::span<const std::byte* const> sources, std::byte* target,
                    int64_t count);

// Fills `count` elements with the neutral element: 0, 1, the lowest or the highest value (infinite for floats).
void FillNeutral(DType dtype, ReduceKind kind, std::byte* target, int64_t count);

}  // namespace sbp
