// A conversion is a load into one of five wide types, which hold every value of the type exactly, and a store from it:
// each pair of types needs no code of its own.
#include "kernel/convert.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <type_traits>

#include "kernel/scalar/convert.h"
#include "kernel/scalar/half.h"

namespace sbp {
namespace {

constexpr int64_t kBlock = 256;  // elements of the buffer between load and store

template <typename T>
T Read(const std::byte* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}
template <typename T>
void Write(std::byte* p, T value) {
  std::memcpy(p, &value, sizeof value);
}

template <typename Stored, typename Wide, typename F>
void LoadWith(const std::byte* source, int64_t stride, int64_t n, Wide* out, F decode) {
  if (stride == static_cast<int64_t>(sizeof(Stored))) {
    for (int64_t i = 0; i < n; ++i) out[i] = decode(Read<Stored>(source + i * static_cast<int64_t>(sizeof(Stored))));
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = decode(Read<Stored>(source + i * stride));
  }
}
template <typename Stored, typename Wide, typename F>
void StoreWith(const Wide* in, int64_t n, std::byte* target, int64_t stride, F encode) {
  if (stride == static_cast<int64_t>(sizeof(Stored))) {
    for (int64_t i = 0; i < n; ++i)
      Write<Stored>(target + i * static_cast<int64_t>(sizeof(Stored)), static_cast<Stored>(encode(in[i])));
  } else {
    for (int64_t i = 0; i < n; ++i) Write<Stored>(target + i * stride, static_cast<Stored>(encode(in[i])));
  }
}

template <typename T>
struct WideOf {
  using Type = std::conditional_t<std::is_same_v<T, float>, float,
                                  std::conditional_t<std::is_same_v<T, double>, double, int64_t>>;
};

template <typename Stored, typename Wide>
void LoadPlain(const std::byte* source, int64_t stride, int64_t n, Wide* out) {
  LoadWith<Stored>(source, stride, n, out, [](Stored v) { return static_cast<Wide>(v); });
}
template <const FloatLayout& kLayout>
void LoadNarrow(const std::byte* source, int64_t stride, int64_t n, float* out) {
  LoadWith<uint8_t>(source, stride, n, out, [](uint8_t v) { return static_cast<float>(DecodeMinifloat(kLayout, v)); });
}

void LoadFloats(DType from, const std::byte* source, int64_t stride, int64_t n, float* out) {
  switch (from) {
    case DType::kF32:
      return LoadPlain<float>(source, stride, n, out);
    case DType::kF16:
      return LoadWith<uint16_t>(source, stride, n, out, [](uint16_t v) { return scalar::HalfToFloat(v); });
    case DType::kBF16:
      return LoadWith<uint16_t>(source, stride, n, out, [](uint16_t v) { return scalar::BFloatToFloat(v); });
    case DType::kF8E4M3FN:
      return LoadNarrow<kF8E4M3FNLayout>(source, stride, n, out);
    case DType::kF8E4M3FNUZ:
      return LoadNarrow<kF8E4M3FNUZLayout>(source, stride, n, out);
    case DType::kF8E5M2:
      return LoadNarrow<kF8E5M2Layout>(source, stride, n, out);
    case DType::kF8E5M2FNUZ:
      return LoadNarrow<kF8E5M2FNUZLayout>(source, stride, n, out);
    case DType::kF8E8M0:
      return LoadNarrow<kF8E8M0Layout>(source, stride, n, out);
    default:
      return LoadNarrow<kF4E2M1Layout>(source, stride, n, out);
  }
}

void LoadIntegers(DType from, const std::byte* source, int64_t stride, int64_t n, int64_t* out) {
  switch (from) {
    case DType::kI8:
    case DType::kI4:
    case DType::kI2:
      return LoadPlain<int8_t>(source, stride, n, out);
    case DType::kU8:
    case DType::kU4:
    case DType::kU2:
      return LoadPlain<uint8_t>(source, stride, n, out);
    case DType::kI16:
      return LoadPlain<int16_t>(source, stride, n, out);
    case DType::kU16:
      return LoadPlain<uint16_t>(source, stride, n, out);
    case DType::kI32:
      return LoadPlain<int32_t>(source, stride, n, out);
    case DType::kU32:
      return LoadPlain<uint32_t>(source, stride, n, out);
    case DType::kI64:
      return LoadPlain<int64_t>(source, stride, n, out);
    default:
      return LoadWith<uint8_t>(source, stride, n, out, [](uint8_t v) { return static_cast<int64_t>(v != 0); });
  }
}

template <typename Real>
void LoadComplex(const std::byte* source, int64_t stride, int64_t n, std::complex<double>* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = std::complex<double>(Read<std::complex<Real>>(source + i * stride));
}

// The real part, of numbers that have one.
template <typename Wide>
auto Real(Wide v) {
  if constexpr (std::is_same_v<Wide, std::complex<double>>)
    return v.real();
  else
    return v;
}

template <typename T, typename Wide>
void StoreIntegers(const Wide* in, int64_t n, std::byte* target, int64_t stride) {
  StoreWith<T>(in, n, target, stride, [](Wide v) { return scalar::ToInteger<T>(Real(v)); });
}

// The low bits of an integer of 4 or 2 bits, as Unpack gives them.
template <int kBits, bool kSigned, typename Wide>
void StoreSmallIntegers(const Wide* in, int64_t n, std::byte* target, int64_t stride) {
  StoreWith<uint8_t>(in, n, target, stride, [](Wide v) { return scalar::ToSmallInteger<kBits, kSigned>(Real(v)); });
}

template <const FloatLayout& kLayout, typename Wide>
void StoreNarrow(const Wide* in, int64_t n, std::byte* target, int64_t stride, bool saturate) {
  StoreWith<uint8_t>(in, n, target, stride,
                     [&](Wide v) { return EncodeMinifloat(kLayout, static_cast<double>(Real(v)), saturate); });
}

template <typename Wide>
void StoreHalf(DType to, const Wide* in, int64_t n, std::byte* target, int64_t stride) {
  if constexpr (std::is_same_v<Wide, float>) {
    if (to == DType::kF16) return StoreWith<uint16_t>(in, n, target, stride, scalar::FloatToHalf);
    StoreWith<uint16_t>(in, n, target, stride, scalar::FloatToBFloat);
  } else {
    const FloatLayout& layout = to == DType::kF16 ? kF16Layout : kBF16Layout;
    StoreWith<uint16_t>(in, n, target, stride,
                        [&](Wide v) { return EncodeMinifloat(layout, static_cast<double>(Real(v)), false); });
  }
}

template <typename Complex, typename Wide>
void StoreComplex(const Wide* in, int64_t n, std::byte* target, int64_t stride) {
  using Part = typename Complex::value_type;
  for (int64_t i = 0; i < n; ++i) {
    Complex value;
    if constexpr (std::is_same_v<Wide, std::complex<double>>)
      value = Complex(static_cast<Part>(in[i].real()), static_cast<Part>(in[i].imag()));
    else
      value = Complex(static_cast<Part>(in[i]), 0);
    Write(target + i * stride, value);
  }
}

template <typename Wide>
void StoreFloats(DType to, const Wide* in, int64_t n, std::byte* target, int64_t stride,
                 const ConvertOptions& options) {
  switch (to) {
    case DType::kF32:
      return StoreWith<float>(in, n, target, stride, [](Wide v) { return static_cast<float>(Real(v)); });
    case DType::kF64:
      return StoreWith<double>(in, n, target, stride, [](Wide v) { return static_cast<double>(Real(v)); });
    case DType::kF16:
    case DType::kBF16:
      return StoreHalf(to, in, n, target, stride);
    case DType::kF8E4M3FN:
      return StoreNarrow<kF8E4M3FNLayout>(in, n, target, stride, options.saturate);
    case DType::kF8E4M3FNUZ:
      return StoreNarrow<kF8E4M3FNUZLayout>(in, n, target, stride, options.saturate);
    case DType::kF8E5M2:
      return StoreNarrow<kF8E5M2Layout>(in, n, target, stride, options.saturate);
    case DType::kF8E5M2FNUZ:
      return StoreNarrow<kF8E5M2FNUZLayout>(in, n, target, stride, options.saturate);
    case DType::kF8E8M0:
      return StoreWith<uint8_t>(in, n, target, stride, [&](Wide v) {
        return EncodeScale(static_cast<float>(Real(v)), options.saturate, options.scale_rounding);
      });
    default:
      return StoreNarrow<kF4E2M1Layout>(in, n, target, stride, true);
  }
}

template <typename Wide>
void Store(DType to, const Wide* in, int64_t n, std::byte* target, int64_t stride, const ConvertOptions& options) {
  switch (to) {
    case DType::kI8:
      return StoreIntegers<int8_t>(in, n, target, stride);
    case DType::kU8:
      return StoreIntegers<uint8_t>(in, n, target, stride);
    case DType::kI16:
      return StoreIntegers<int16_t>(in, n, target, stride);
    case DType::kU16:
      return StoreIntegers<uint16_t>(in, n, target, stride);
    case DType::kI32:
      return StoreIntegers<int32_t>(in, n, target, stride);
    case DType::kU32:
      return StoreIntegers<uint32_t>(in, n, target, stride);
    case DType::kI64:
      return StoreIntegers<int64_t>(in, n, target, stride);
    case DType::kU64:
      return StoreIntegers<uint64_t>(in, n, target, stride);
    case DType::kI4:
      return StoreSmallIntegers<4, true>(in, n, target, stride);
    case DType::kU4:
      return StoreSmallIntegers<4, false>(in, n, target, stride);
    case DType::kI2:
      return StoreSmallIntegers<2, true>(in, n, target, stride);
    case DType::kU2:
      return StoreSmallIntegers<2, false>(in, n, target, stride);
    case DType::kBool:
      return StoreWith<uint8_t>(in, n, target, stride, [](Wide v) { return v != Wide{0}; });
    case DType::kC64:
      return StoreComplex<std::complex<float>>(in, n, target, stride);
    case DType::kC128:
      return StoreComplex<std::complex<double>>(in, n, target, stride);
    default:
      return StoreFloats(to, in, n, target, stride, options);
  }
}

template <typename Wide, typename Load>
void InBlocks(const std::byte* source, int64_t source_stride, DType to, std::byte* target, int64_t target_stride,
              int64_t n, const ConvertOptions& options, Load load) {
  Wide buffer[kBlock];
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t m = std::min(kBlock, n - i);
    load(source + i * source_stride, source_stride, m, buffer);
    Store(to, buffer, m, target + i * target_stride, target_stride, options);
  }
}

template <typename T>
void CopyElements(const std::byte* source, int64_t source_stride, std::byte* target, int64_t target_stride, int64_t n) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(target + i * target_stride, source + i * source_stride, sizeof(T));
}

void CopySame(DType type, const std::byte* source, int64_t source_stride, std::byte* target, int64_t target_stride,
              int64_t n) {
  switch (ElementBytes(type)) {
    case 1:
      return CopyElements<uint8_t>(source, source_stride, target, target_stride, n);
    case 2:
      return CopyElements<uint16_t>(source, source_stride, target, target_stride, n);
    case 4:
      return CopyElements<uint32_t>(source, source_stride, target, target_stride, n);
    case 8:
      return CopyElements<uint64_t>(source, source_stride, target, target_stride, n);
    default:
      return CopyElements<std::complex<double>>(source, source_stride, target, target_stride, n);
  }
}

}  // namespace

void Convert(DType from, const std::byte* source, int64_t source_stride, DType to, std::byte* target,
             int64_t target_stride, int64_t n, const ConvertOptions& options) {
  if (from == to) return CopySame(from, source, source_stride, target, target_stride, n);
  const auto run = [&]<typename Wide>(Wide, auto load) {
    InBlocks<Wide>(source, source_stride, to, target, target_stride, n, options, load);
  };
  if (from == DType::kF64) return run(double{}, LoadPlain<double, double>);
  if (from == DType::kU64) return run(uint64_t{}, LoadPlain<uint64_t, uint64_t>);
  if (from == DType::kC64) return run(std::complex<double>{}, LoadComplex<float>);
  if (from == DType::kC128) return run(std::complex<double>{}, LoadComplex<double>);
  if (IsFloat(from)) {
    if (to == DType::kF32 && target_stride == 4)
      return LoadFloats(from, source, source_stride, n, reinterpret_cast<float*>(target));
    return run(float{},
               [&](const std::byte* p, int64_t stride, int64_t m, float* out) { LoadFloats(from, p, stride, m, out); });
  }
  if (to == DType::kI64 && target_stride == 8)
    return LoadIntegers(from, source, source_stride, n, reinterpret_cast<int64_t*>(target));
  run(int64_t{},
      [&](const std::byte* p, int64_t stride, int64_t m, int64_t* out) { LoadIntegers(from, p, stride, m, out); });
}

int64_t ElementBytes(DType type) { return std::max(1, DTypeBits(type) / 8); }
bool IsPacked(DType type) { return DTypeBits(type) > 0 && DTypeBits(type) < 8; }

void Unpack(DType type, const std::byte* packed, int64_t n, std::byte* bytes) {
  const int bits = DTypeBits(type), per_byte = 8 / bits;
  const bool extend = IsInteger(type) && IsSigned(type);
  for (int64_t i = 0; i < n; ++i) {
    // To the top of the byte, and down again with or without its sign.
    const auto top = static_cast<uint8_t>(std::to_integer<unsigned>(packed[i / per_byte])
                                          << (8 - bits - bits * static_cast<int>(i % per_byte)));
    bytes[i] = static_cast<std::byte>(extend ? static_cast<int8_t>(top) >> (8 - bits) : top >> (8 - bits));
  }
}

void Pack(DType type, const std::byte* bytes, int64_t n, std::byte* packed) {
  const int bits = DTypeBits(type), per_byte = 8 / bits;
  for (int64_t i = 0; i < n; i += per_byte) {
    unsigned value = 0;
    for (int j = 0; j < per_byte && i + j < n; ++j)
      value |= (std::to_integer<unsigned>(bytes[i + j]) & ((1u << bits) - 1)) << (bits * j);
    packed[i / per_byte] = static_cast<std::byte>(value);
  }
}

DType ComputeType(DType type) {
  if (type == DType::kF64 || type == DType::kU64 || IsComplex(type)) return type;
  return IsFloat(type) ? DType::kF32 : DType::kI64;
}

DType GemmType(DType type) {
  if (type == DType::kF64 || IsComplex(type)) return type;
  if (IsFloat(type)) return DType::kF32;
  return DTypeBits(type) == 64 ? DType::kU64 : DType::kU32;
}

}  // namespace sbp
