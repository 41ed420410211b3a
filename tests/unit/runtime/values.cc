#include "unit/runtime/values.h"

#include <bit>
#include <cmath>
#include <complex>
#include <cstring>

namespace sbp {
namespace {

// Sign, exponent and mantissa of an integer that the type holds exactly.
uint16_t SmallFloat(double value, int mantissa_bits, int bias) {
  if (value == 0) return 0;
  if (std::isinf(value)) {
    const int ones = (1 << (15 - mantissa_bits)) - 1;
    return static_cast<uint16_t>((value < 0 ? 0x8000 : 0) | ones << mantissa_bits);
  }
  int exponent = 0;
  const double fraction = std::frexp(std::abs(value), &exponent);  // 0.5 .. 1
  const auto mantissa = static_cast<int>((2 * fraction - 1) * (1 << mantissa_bits));
  return static_cast<uint16_t>((value < 0 ? 0x8000 : 0) | (exponent - 1 + bias) << mantissa_bits | mantissa);
}

double FromSmallFloat(uint16_t bits, int mantissa_bits, int bias) {
  const int exponent = (bits & 0x7fff) >> mantissa_bits, mantissa = bits & ((1 << mantissa_bits) - 1);
  if (exponent == (1 << (15 - mantissa_bits)) - 1) return (bits & 0x8000) != 0 ? -INFINITY : INFINITY;
  const double magnitude =
      (bits & 0x7fff) == 0 ? 0 : std::ldexp(1 + static_cast<double>(mantissa) / (1 << mantissa_bits), exponent - bias);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

template <typename T>
void Put(std::byte* target, T value) {
  std::memcpy(target, &value, sizeof(T));
}
template <typename T>
T Get(const std::byte* source) {
  T value;
  std::memcpy(&value, source, sizeof(T));
  return value;
}

void EncodeOne(DType dtype, double value, std::byte* target) {
  switch (dtype) {
    case DType::kF32:
      return Put(target, static_cast<float>(value));
    case DType::kF64:
      return Put(target, value);
    case DType::kC64:
      return Put(target, std::complex<float>(static_cast<float>(value), 0));
    case DType::kC128:
      return Put(target, std::complex<double>(value, 0));
    case DType::kF16:
      return Put(target, SmallFloat(value, 10, 15));
    case DType::kBF16:
      return Put(target, SmallFloat(value, 7, 127));
    case DType::kBool:
      return Put(target, static_cast<uint8_t>(value > 0));
    default: {
      const auto integer = static_cast<int64_t>(value);
      std::memcpy(target, &integer, static_cast<size_t>(DTypeBits(dtype) / 8));
    }
  }
}

double DecodeOne(DType dtype, const std::byte* source) {
  switch (dtype) {
    case DType::kF32:
      return Get<float>(source);
    case DType::kF64:
      return Get<double>(source);
    case DType::kC64:
      return Get<std::complex<float>>(source).real();
    case DType::kC128:
      return Get<std::complex<double>>(source).real();
    case DType::kF16:
      return FromSmallFloat(Get<uint16_t>(source), 10, 15);
    case DType::kBF16:
      return FromSmallFloat(Get<uint16_t>(source), 7, 127);
    case DType::kI8:
      return Get<int8_t>(source);
    case DType::kI16:
      return Get<int16_t>(source);
    case DType::kI32:
      return Get<int32_t>(source);
    case DType::kI64:
      return static_cast<double>(Get<int64_t>(source));
    default: {
      uint64_t integer = 0;
      std::memcpy(&integer, source, static_cast<size_t>(DTypeBits(dtype) / 8));
      return static_cast<double>(integer);
    }
  }
}

}  // namespace

std::vector<std::byte> Encode(DType dtype, const std::vector<double>& values) {
  const int bits = DTypeBits(dtype);
  std::vector<std::byte> bytes(
      static_cast<size_t>(TensorView::StorageBytes(dtype, static_cast<int64_t>(values.size()))));
  for (size_t i = 0; i < values.size(); ++i) {
    if (bits >= 8) {
      EncodeOne(dtype, values[i], bytes.data() + i * static_cast<size_t>(bits / 8));
    } else {
      const auto low = static_cast<unsigned>(static_cast<int64_t>(values[i])) & ((1U << bits) - 1);
      bytes[i * bits / 8] |= static_cast<std::byte>(low << (i * bits % 8));
    }
  }
  return bytes;
}

std::vector<double> Decode(DType dtype, const std::byte* data, int64_t count) {
  const int bits = DTypeBits(dtype);
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    if (bits >= 8) {
      values.push_back(DecodeOne(dtype, data + i * (bits / 8)));
    } else {
      values.push_back((std::to_integer<unsigned>(data[i * bits / 8]) >> (i * bits % 8)) & ((1U << bits) - 1));
    }
  }
  return values;
}

void MakePart(DType dtype, const Shape& whole, const Box& box, OwnedPart& part) {
  part.view.dtype = dtype;
  part.view.whole = whole;
  part.view.ranges = box;
  part.view.shape.clear();
  for (const Range& range : box) part.view.shape.push_back(range.size());
  part.bytes.assign(static_cast<size_t>(part.view.bytes()), std::byte{0xff});
  part.view.data = part.bytes.data();
}

}  // namespace sbp
