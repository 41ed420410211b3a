#include "runtime/data/reduce.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/text.h"
#include "kernel/scalar/half.h"

namespace sbp {
namespace {

// Storage types of 16 bits: combined as floats.
struct Half {
  uint16_t bits;
};
struct Brain {
  uint16_t bits;
};

float Load(Half value) { return scalar::HalfToFloat(value.bits); }
void Store(float value, Half& target) { target.bits = scalar::FloatToHalf(value); }
float Load(Brain value) { return scalar::BFloatToFloat(value.bits); }
void Store(float value, Brain& target) { target.bits = scalar::FloatToBFloat(value); }

template <typename T>
T Load(T value) {
  return value;
}
template <typename T>
void Store(T value, T& target) {
  target = value;
}

template <typename T>
using ComputeType = decltype(Load(std::declval<T>()));

struct SumOp {
  template <typename C>
  static C Apply(C a, C b) {
    if constexpr (std::is_same_v<C, bool>) {
      return a || b;
    } else if constexpr (std::is_integral_v<C>) {
      return static_cast<C>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    } else {
      return a + b;
    }
  }
  template <typename T>
  static constexpr ComputeType<T> kNeutral{0};
};

struct ProdOp {
  template <typename C>
  static C Apply(C a, C b) {
    if constexpr (std::is_same_v<C, bool>) {
      return a && b;
    } else if constexpr (std::is_integral_v<C>) {
      return static_cast<C>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    } else {
      return a * b;
    }
  }
  template <typename T>
  static constexpr ComputeType<T> kNeutral{1};
};

// Comparisons with NaN are false: `a` wins where it is NaN, `b` by the second test.
struct MaxOp {
  template <typename C>
  static C Apply(C a, C b) {
    return a < b || b != b ? b : a;
  }
  template <typename T>
  static constexpr ComputeType<T> kNeutral = std::is_floating_point_v<ComputeType<T>>
                                                 ? -std::numeric_limits<ComputeType<T>>::infinity()
                                                 : std::numeric_limits<ComputeType<T>>::lowest();
};

struct MinOp {
  template <typename C>
  static C Apply(C a, C b) {
    return b < a || b != b ? b : a;
  }
  template <typename T>
  static constexpr ComputeType<T> kNeutral = std::is_floating_point_v<ComputeType<T>>
                                                 ? std::numeric_limits<ComputeType<T>>::infinity()
                                                 : std::numeric_limits<ComputeType<T>>::max();
};

constexpr int64_t kBlock = 1024;  // elements: the sums of a block stay in the first-level cache

// Unaligned loads and stores: pieces of a message start anywhere.
template <typename T>
void Read(const std::byte* source, int64_t at, int64_t count, ComputeType<T>* values) {
  if constexpr (std::is_same_v<T, ComputeType<T>>) {
    std::memcpy(values, source + at * static_cast<int64_t>(sizeof(T)), static_cast<size_t>(count) * sizeof(T));
  } else {
    T stored[kBlock];
    std::memcpy(stored, source + at * static_cast<int64_t>(sizeof(T)), static_cast<size_t>(count) * sizeof(T));
    for (int64_t i = 0; i < count; ++i) values[i] = Load(stored[i]);
  }
}

template <typename T, typename Op>
void Reduce(std::span<const std::byte* const> sources, std::byte* target, int64_t count) {
  using C = ComputeType<T>;
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t n = std::min(kBlock, count - begin);
    C sums[kBlock], next[kBlock];
    Read<T>(sources[0], begin, n, sums);
    for (size_t s = 1; s < sources.size(); ++s) {
      Read<T>(sources[s], begin, n, next);
      for (int64_t i = 0; i < n; ++i) sums[i] = Op::Apply(sums[i], next[i]);
    }
    std::byte* out = target + begin * static_cast<int64_t>(sizeof(T));
    if constexpr (std::is_same_v<T, C>) {
      std::memcpy(out, sums, static_cast<size_t>(n) * sizeof(T));
    } else {
      T rounded[kBlock];
      for (int64_t i = 0; i < n; ++i) Store(sums[i], rounded[i]);
      std::memcpy(out, rounded, static_cast<size_t>(n) * sizeof(T));
    }
  }
}

template <typename T, typename Op>
void Fill(std::byte* target, int64_t count) {
  T value;
  Store(Op::template kNeutral<T>, value);
  for (int64_t i = 0; i < count; ++i) std::memcpy(target + i * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

// Calls action.operator()<T, Op>() for the element type and the kind; false: there is no such combination.
template <typename T, typename Action>
bool WithKind(ReduceKind kind, const Action& action) {
  constexpr bool kOrdered = !std::is_same_v<T, std::complex<float>> && !std::is_same_v<T, std::complex<double>>;
  if (kind == ReduceKind::kSum) action.template operator()<T, SumOp>();
  if (kind == ReduceKind::kProd) action.template operator()<T, ProdOp>();
  if constexpr (kOrdered) {
    if (kind == ReduceKind::kMax) action.template operator()<T, MaxOp>();
    if (kind == ReduceKind::kMin) action.template operator()<T, MinOp>();
  }
  return kOrdered || kind == ReduceKind::kSum || kind == ReduceKind::kProd;
}

template <typename Action>
bool WithTypeAndKind(DType dtype, ReduceKind kind, const Action& action) {
  switch (dtype) {
    case DType::kF32:
      return WithKind<float>(kind, action);
    case DType::kF64:
      return WithKind<double>(kind, action);
    case DType::kF16:
      return WithKind<Half>(kind, action);
    case DType::kBF16:
      return WithKind<Brain>(kind, action);
    case DType::kI8:
      return WithKind<int8_t>(kind, action);
    case DType::kI16:
      return WithKind<int16_t>(kind, action);
    case DType::kI32:
      return WithKind<int32_t>(kind, action);
    case DType::kI64:
      return WithKind<int64_t>(kind, action);
    case DType::kU8:
      return WithKind<uint8_t>(kind, action);
    case DType::kU16:
      return WithKind<uint16_t>(kind, action);
    case DType::kU32:
      return WithKind<uint32_t>(kind, action);
    case DType::kU64:
      return WithKind<uint64_t>(kind, action);
    case DType::kBool:
      return WithKind<bool>(kind, action);
    case DType::kC64:
      return WithKind<std::complex<float>>(kind, action);
    case DType::kC128:
      return WithKind<std::complex<double>>(kind, action);
    default:
      return false;
  }
}

}  // namespace

Status CanReduce(DType dtype, ReduceKind kind) {
  if (WithTypeAndKind(dtype, kind, []<typename T, typename Op>() {})) return OkStatus();
  return Status(Code::kRunFailed,
                StrCat("partial values of type ", DTypeName(dtype), " cannot be combined by ", ReduceKindName(kind)));
}

void ReduceElements(DType dtype, ReduceKind kind, std::span<const std::byte* const> sources, std::byte* target,
                    int64_t count) {
  WithTypeAndKind(dtype, kind, [&]<typename T, typename Op>() { Reduce<T, Op>(sources, target, count); });
}

void FillNeutral(DType dtype, ReduceKind kind, std::byte* target, int64_t count) {
  WithTypeAndKind(dtype, kind, [&]<typename T, typename Op>() { Fill<T, Op>(target, count); });
}

}  // namespace sbp
