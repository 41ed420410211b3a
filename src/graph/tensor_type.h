// TensorType: element type and shape. The unit by which prices and candidates are shared.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/dtype.h"
#include "base/hash.h"
#include "base/status.h"
#include "sbp/shard_math.h"

namespace sbp {

// What a value is. Sequences, optionals and maps have no layout other than B.
enum class ValueKind : uint8_t { kTensor, kSequence, kOptional, kMap };

inline constexpr int64_t kUnknownDim = -1;

struct TensorType {
  DType dtype = DType::kUndefined;
  Shape shape;  // kUnknownDim where unresolved; planning requires all >= 0
  ValueKind kind = ValueKind::kTensor;
  bool has_rank = true;  // false: not even the rank is known (before resolution)

  int rank() const { return static_cast<int>(shape.size()); }
  bool is_static() const;  // rank and every dimension known
  // Product of the dimensions, saturated (0 unless static); and the bytes of that many elements (packed for sub-byte
  // types).
  int64_t num_elements() const;
  int64_t num_bytes() const;
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

// Bytes of `elements` elements of a type, rounded up; saturated.
int64_t BytesOf(DType dtype, int64_t elements);
// "f32[16,32]", "i64[]", unknown dims "?"; ParseTensorType reads it back.
std::string ToString(const TensorType& type);
Result<TensorType> ParseTensorType(std::string_view text);

}  // namespace sbp

template <>
struct std::hash<sbp::TensorType> {
  size_t operator()(const sbp::TensorType& t) const noexcept {
    return sbp::HashRange(
        (static_cast<size_t>(t.dtype) << 8) + static_cast<size_t>(t.kind) + (t.has_rank ? 1 << 16 : 0), t.shape);
  }
};
