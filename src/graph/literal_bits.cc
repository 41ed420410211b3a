#include "graph/literal_bits.h"

#include <bit>
#include <cstddef>
#include <cstring>
#include <optional>

#include "base/dtype.h"
#include "base/minifloat.h"
#include "graph/tensor_type.h"

namespace sbp {
namespace {

static_assert(std::endian::native == std::endian::little, "files hold little-endian values");

// Element `index` of `bits` bits in little-endian bytes; narrow elements are packed, lowest bits first.
uint64_t RawBits(std::string_view raw, int bits, int64_t index) {
  if (bits >= 8) {
    uint64_t value = 0;
    const size_t width = static_cast<size_t>(bits) / 8;
    std::memcpy(&value, raw.data() + static_cast<size_t>(index) * width, width);
    return value;
  }
  const int64_t first_bit = index * bits;
  const auto byte = static_cast<uint8_t>(raw[static_cast<size_t>(first_bit / 8)]);
  return (byte >> (first_bit % 8)) & ((1u << bits) - 1);
}

int64_t SignExtend(uint64_t value, int bits) {
  if (bits == 64) return static_cast<int64_t>(value);
  const uint64_t sign = uint64_t{1} << (bits - 1);
  return static_cast<int64_t>((value ^ sign) - sign);
}

}  // namespace

void AppendElement(uint64_t pattern, Literal& out) {
  const DType dtype = out.type.dtype;
  if (out.is_integral()) {
    const auto plain = static_cast<int64_t>(pattern);
    out.ints.push_back(dtype == DType::kBool ? (pattern != 0 ? 1 : 0)
                                             : (IsSigned(dtype) ? SignExtend(pattern, DTypeBits(dtype)) : plain));
  } else if (dtype == DType::kF32) {
    float value;
    const auto bits = static_cast<uint32_t>(pattern);
    std::memcpy(&value, &bits, sizeof value);
    out.floats.push_back(value);
  } else if (dtype == DType::kF64) {
    double value;
    std::memcpy(&value, &pattern, sizeof value);
    out.floats.push_back(value);
  } else if (const std::optional<FloatLayout> layout = LayoutOf(dtype)) {
    out.floats.push_back(DecodeMinifloat(*layout, static_cast<uint32_t>(pattern)));
  }
}

void AppendElements(std::string_view bytes, Literal& out) {
  const DType dtype = out.type.dtype;
  if (IsComplex(dtype)) {
    out.raw = bytes;
    return;
  }
  const int64_t count = out.type.num_elements();
  for (int64_t i = 0; i < count; ++i) AppendElement(RawBits(bytes, DTypeBits(dtype), i), out);
}

}  // namespace sbp
