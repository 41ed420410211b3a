#include "kernel/gpu/all_gpu_kernels.h"

#include "kernel/gpu/kernels.h"

namespace sbp::SBP_GPU_BUILD {
namespace {

using enum DType;
using enum KernelDevice;

constexpr TypeSet kFloats{kF32, kF64, kF16, kBF16};
constexpr TypeSet kIntegers{kI8, kI16, kI32, kI64, kU8, kU16, kU32, kU64};
constexpr TypeSet kComplex{kC64, kC128};
constexpr TypeSet kLogical{kBool};
constexpr TypeSet kNumbers = kFloats | kIntegers;
constexpr TypeSet kStorage{kF8E4M3FN, kF8E4M3FNUZ, kF8E5M2, kF8E5M2FNUZ, kF8E8M0, kF4E2M1, kI4, kU4, kI2, kU2};
constexpr TypeSet kAll = kNumbers | kComplex | kLogical | kStorage;  // but strings

constexpr KernelRow kRows[] = {
    {"BitCast", kAll, kCuda, BitCast},
    {"Cast", kAll, kCuda, Cast},
};

}  // namespace

std::span<const KernelRow> KernelRows() { return kRows; }

}  // namespace sbp::SBP_GPU_BUILD
