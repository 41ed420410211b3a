// Elements from one type to another.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "base/minifloat.h"

namespace sbp {

struct ConvertOptions {
  bool saturate = true;  // to the 8-bit floats
  ScaleRounding scale_rounding = ScaleRounding::kUp;
};

// Converts n elements, strides in bytes. Elements of 4 and 2 bits are one a byte here (see Unpack). Floats to integers:
// cut towards 0; what the type cannot hold wraps (8 and 16 bits) or becomes the nearest limit, NaN becomes 0. Integers
// to integers wrap. To bool: is it different from 0? Complex numbers to others: the real part. Not for strings.
void Convert(DType from, const std::byte* source, int64_t source_stride, DType to, std::byte* target,
             int64_t target_stride, int64_t n, const ConvertOptions& options = {});

// Bytes of an element outside of packed storage: 1 for the types of 4 and 2 bits.
int64_t ElementBytes(DType type);
bool IsPacked(DType type);

// Between packed storage and one element a byte (signed integers sign-extended).
void Unpack(DType type, const std::byte* packed, int64_t n, std::byte* bytes);
void Pack(DType type, const std::byte* bytes, int64_t n, std::byte* packed);

// The type that arithmetic on elements of a type is done in: f32 for the narrower floats, i64 for bool and integers but
// u64, the type itself for the rest.
DType ComputeType(DType type);
// The same of products of matrices.
DType GemmType(DType type);

}  // namespace sbp
