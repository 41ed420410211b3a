// Building blocks of evaluators: indices, broadcasting, element types.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fold/evaluate.h"
#include "graph/literal.h"

namespace sbp {

// Number of elements when the shape is valid and small enough to hold in memory.
std::optional<int64_t> SmallCount(const Shape& shape);

// An empty literal with room for the elements of its shape; its lists are still empty.
Literal EmptyLiteral(DType dtype, Shape shape);

// `source`'s elements at `indices` (flat, in range), as a literal of `shape`.
Literal Pick(const Literal& source, const std::vector<int64_t>& indices, Shape shape);
// Appends element `index` of `source`, which has the same element type.
void AppendElementOf(const Literal& source, size_t index, Literal& out);

// Row-major strides; 0 where the size is 1 and `shape` is stretched to `target` (aligned at the right).
std::vector<int64_t> Strides(const Shape& shape);
std::vector<int64_t> BroadcastStrides(const Shape& shape, const Shape& target);
std::optional<Shape> BroadcastShape(const Shape& a, const Shape& b);

// For every index of `shape` in row-major order, the flat index into a tensor with `strides`. Empty for large shapes.
std::vector<int64_t> FlatIndices(const Shape& shape, const std::vector<int64_t>& strides);

// Counted from the end when negative; nothing when out of range.
std::optional<size_t> Axis(int64_t axis, size_t rank);
// The integers of an operand of rank 0 or 1.
std::optional<std::vector<int64_t>> IntsOf(const FoldRequest& request, size_t operand);
// The axes of operand `operand` (all different, in range), or of attribute `name`; `fallback` when neither is given.
std::optional<std::vector<size_t>> AxesOf(const FoldRequest& request, size_t operand, std::string_view name,
                                          size_t rank, std::vector<size_t> fallback);

// An integer as its type stores it (two's complement), a float rounded to its type; nothing for types whose rounding is
// not known here.
int64_t WrapInteger(DType dtype, int64_t value);
std::optional<double> RoundFloat(DType dtype, double value);
bool CanRound(DType dtype);

}  // namespace sbp
