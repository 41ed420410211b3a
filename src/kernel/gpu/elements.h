// One element of a tensor on a device, from and to its stored type. The type is looked at for every element: all
// threads look at the same one, which costs little beside the memory's time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/dtype.h"
#include "base/host_device.h"
#include "base/minifloat.h"
#include "kernel/gpu/complex.h"
#include "kernel/scalar/convert.h"
#include "kernel/scalar/half.h"

namespace sbp::SBP_GPU_BUILD {

// The 16-bit floats as they are stored.
struct Half {
  uint16_t bits;
};
struct Brain {
  uint16_t bits;
};

template <typename T>
SBP_HD T Decode(T stored) {
  return stored;
}
SBP_HD inline float Decode(Half stored) { return scalar::HalfToFloat(stored.bits); }
SBP_HD inline float Decode(Brain stored) { return scalar::BFloatToFloat(stored.bits); }

// By value: constants of a namespace have no place on the device.
SBP_HD inline FloatLayout HalfLayout() { return {5, 10, 15, true, FloatLayout::Special::kIeee}; }
SBP_HD inline FloatLayout BrainLayout() { return {8, 7, 127, true, FloatLayout::Special::kIeee}; }

// value as a Stored.
template <typename Stored, typename C>
SBP_HD Stored Encode(C value) {
  if constexpr (std::is_same_v<Stored, Half> || std::is_same_v<Stored, Brain>) {
    constexpr bool kHalf = std::is_same_v<Stored, Half>;
    if constexpr (std::is_same_v<C, double>) {  // rounded once
      return {static_cast<uint16_t>(EncodeMinifloat(kHalf ? HalfLayout() : BrainLayout(), value, false))};
    } else {
      return {kHalf ? scalar::FloatToHalf(static_cast<float>(value))
                    : scalar::FloatToBFloat(static_cast<float>(value))};
    }
  } else if constexpr (std::is_integral_v<Stored>) {
    return scalar::ToInteger<Stored>(value);
  } else {
    return static_cast<Stored>(value);
  }
}

template <typename T>
SBP_HD const T& At(const std::byte* data, int64_t i) {
  return reinterpret_cast<const T*>(data)[i];
}
template <typename T>
SBP_HD T& At(std::byte* data, int64_t i) {
  return reinterpret_cast<T*>(data)[i];
}

SBP_HD inline int64_t LoadInteger(DType type, const std::byte* data, int64_t i) {
  switch (type) {
    case DType::kI8:
    case DType::kI4:
    case DType::kI2:
      return At<int8_t>(data, i);
    case DType::kU8:
    case DType::kU4:
    case DType::kU2:
      return At<uint8_t>(data, i);
    case DType::kI16:
      return At<int16_t>(data, i);
    case DType::kU16:
      return At<uint16_t>(data, i);
    case DType::kI32:
      return At<int32_t>(data, i);
    case DType::kU32:
      return At<uint32_t>(data, i);
    case DType::kBool:
      return At<uint8_t>(data, i) != 0;
    default:
      return At<int64_t>(data, i);
  }
}

// Of the types that arithmetic in C knows. C = float: f32, f16, bf16; double: f64; int64_t: integers and bool;
// uint64_t: u64, and integers as their bits; complex numbers: of their own width or less.
template <typename C>
SBP_HD C LoadNumber(DType type, const std::byte* data, int64_t i) {
  if constexpr (std::is_same_v<C, float>) {
    if (type == DType::kF32) return At<float>(data, i);
    const uint16_t bits = At<uint16_t>(data, i);
    return type == DType::kF16 ? scalar::HalfToFloat(bits) : scalar::BFloatToFloat(bits);
  } else if constexpr (std::is_same_v<C, double>) {
    return At<double>(data, i);
  } else if constexpr (std::is_integral_v<C>) {
    return static_cast<C>(LoadInteger(type, data, i));
  } else if constexpr (std::is_same_v<C, Complex<float>>) {
    return At<C>(data, i);
  } else {
    return type == DType::kC64 ? C(At<Complex<float>>(data, i)) : At<C>(data, i);
  }
}

template <typename C>
SBP_HD void StoreInteger(DType type, std::byte* data, int64_t i, C value) {
  switch (type) {
    case DType::kI8:
    case DType::kU8:
      At<uint8_t>(data, i) = static_cast<uint8_t>(value);
      return;
    case DType::kI16:
    case DType::kU16:
      At<uint16_t>(data, i) = static_cast<uint16_t>(value);
      return;
    case DType::kI32:
    case DType::kU32:
      At<uint32_t>(data, i) = static_cast<uint32_t>(value);
      return;
    case DType::kBool:
      At<uint8_t>(data, i) = value != 0;
      return;
    default:
      At<uint64_t>(data, i) = static_cast<uint64_t>(value);
  }
}

// Into the types that LoadNumber<C> knows; C = bool: into bool; double: into any float of 16 bits or more.
template <typename C>
SBP_HD void StoreNumber(DType type, std::byte* data, int64_t i, C value) {
  if constexpr (std::is_same_v<C, bool>) {
    At<uint8_t>(data, i) = value;
  } else if constexpr (std::is_integral_v<C>) {
    StoreInteger(type, data, i, value);
  } else if constexpr (kIsComplex<C>) {
    if (type == DType::kC64)
      At<Complex<float>>(data, i) = Complex<float>(value);
    else
      At<Complex<double>>(data, i) = Complex<double>(value);
  } else {
    if (std::is_same_v<C, double> && type == DType::kF64)
      At<double>(data, i) = static_cast<double>(value);
    else if (type == DType::kF32)
      At<float>(data, i) = static_cast<float>(value);
    else if (type == DType::kF16)
      At<Half>(data, i) = Encode<Half>(value);
    else
      At<Brain>(data, i) = Encode<Brain>(value);
  }
}

// The layout of a float type of 8 bits and less.
SBP_HD inline FloatLayout NarrowLayout(DType type) {
  using Special = FloatLayout::Special;
  switch (type) {
    case DType::kF8E4M3FN:
      return {4, 3, 7, true, Special::kNanAllOnes};
    case DType::kF8E4M3FNUZ:
      return {4, 3, 8, true, Special::kNanNegativeZero};
    case DType::kF8E5M2:
      return {5, 2, 15, true, Special::kIeee};
    case DType::kF8E5M2FNUZ:
      return {5, 2, 16, true, Special::kNanNegativeZero};
    case DType::kF8E8M0:
      return {8, 0, 127, false, Special::kNanAllOnes};
    default:
      return {2, 1, 1, true, Special::kNone};  // f4e2m1
  }
}

// Any float but f64.
SBP_HD inline float LoadFloat(DType type, const std::byte* data, int64_t i) {
  if (type == DType::kF32 || type == DType::kF16 || type == DType::kBF16) return LoadNumber<float>(type, data, i);
  return static_cast<float>(DecodeMinifloat(NarrowLayout(type), At<uint8_t>(data, i)));
}

// Any real type, as C: float, double, int64_t or uint64_t; of complex numbers the real part. As Cast converts. Elements
// of 4 and 2 bits are one a byte.
template <typename C>
SBP_HD C LoadAs(DType type, const std::byte* data, int64_t i) {
  switch (type) {
    case DType::kF64:
      return Encode<C>(At<double>(data, i));
    case DType::kU64:
      return static_cast<C>(At<uint64_t>(data, i));
    case DType::kC64:
      return Encode<C>(At<Complex<float>>(data, i).re);
    case DType::kC128:
      return Encode<C>(At<Complex<double>>(data, i).re);
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
    case DType::kF8E4M3FN:
    case DType::kF8E4M3FNUZ:
    case DType::kF8E5M2:
    case DType::kF8E5M2FNUZ:
    case DType::kF8E8M0:
    case DType::kF4E2M1:
      return Encode<C>(LoadFloat(type, data, i));
    default:
      return static_cast<C>(LoadInteger(type, data, i));
  }
}

struct Rounding {
  bool saturate = true;  // to the 8-bit floats
  ScaleRounding scale = ScaleRounding::kUp;
};

// Into any type; C as LoadAs gives it, exactly as Cast converts.
template <typename C>
SBP_HD void StoreAs(DType type, std::byte* data, int64_t i, C value, Rounding rounding = {}) {
  switch (type) {
    case DType::kI8:
    case DType::kU8:
      At<uint8_t>(data, i) = scalar::ToInteger<uint8_t>(value);
      return;
    case DType::kI16:
    case DType::kU16:
      At<uint16_t>(data, i) = scalar::ToInteger<uint16_t>(value);
      return;
    case DType::kI32:
      At<int32_t>(data, i) = scalar::ToInteger<int32_t>(value);
      return;
    case DType::kU32:
      At<uint32_t>(data, i) = scalar::ToInteger<uint32_t>(value);
      return;
    case DType::kI64:
      At<int64_t>(data, i) = scalar::ToInteger<int64_t>(value);
      return;
    case DType::kU64:
      At<uint64_t>(data, i) = scalar::ToInteger<uint64_t>(value);
      return;
    case DType::kI4:
      At<uint8_t>(data, i) = scalar::ToSmallInteger<4, true>(value);
      return;
    case DType::kU4:
      At<uint8_t>(data, i) = scalar::ToSmallInteger<4, false>(value);
      return;
    case DType::kI2:
      At<uint8_t>(data, i) = scalar::ToSmallInteger<2, true>(value);
      return;
    case DType::kU2:
      At<uint8_t>(data, i) = scalar::ToSmallInteger<2, false>(value);
      return;
    case DType::kBool:
      At<uint8_t>(data, i) = value != C{0};
      return;
    case DType::kF32:
      At<float>(data, i) = static_cast<float>(value);
      return;
    case DType::kF64:
      At<double>(data, i) = static_cast<double>(value);
      return;
    case DType::kF16:
    case DType::kBF16:
      if constexpr (std::is_same_v<C, float>)
        StoreNumber(type, data, i, value);
      else
        StoreNumber(type, data, i, static_cast<double>(value));
      return;
    case DType::kC64:
      At<Complex<float>>(data, i) = {static_cast<float>(value), 0};
      return;
    case DType::kC128:
      At<Complex<double>>(data, i) = {static_cast<double>(value), 0};
      return;
    case DType::kF8E8M0:
      At<uint8_t>(data, i) =
          static_cast<uint8_t>(EncodeScale(static_cast<float>(value), rounding.saturate, rounding.scale));
      return;
    default:
      At<uint8_t>(data, i) =
          static_cast<uint8_t>(EncodeMinifloat(NarrowLayout(type), static_cast<double>(value), rounding.saturate));
  }
}

}  // namespace sbp::SBP_GPU_BUILD
