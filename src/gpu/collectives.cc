#include "gpu/collectives.h"

namespace sbp::gpu {

std::optional<NativeReduction> NativeReductionFor(DType dtype, ReduceKind kind) {
  const bool extreme = kind == ReduceKind::kMax || kind == ReduceKind::kMin;
  switch (dtype) {
    case DType::kF16:
    case DType::kBF16:
    case DType::kF32:
    case DType::kF64:
      if (extreme) return std::nullopt;
      return NativeReduction{dtype, kind, 1};
    case DType::kI8:
    case DType::kU8:
    case DType::kI32:
    case DType::kU32:
    case DType::kI64:
    case DType::kU64:
      return NativeReduction{dtype, kind, 1};
    case DType::kBool:  // one byte, 0 or 1
      if (extreme) return NativeReduction{DType::kU8, kind, 1};
      return NativeReduction{DType::kU8, kind == ReduceKind::kSum ? ReduceKind::kMax : ReduceKind::kMin, 1};
    case DType::kC64:
      if (kind != ReduceKind::kSum) return std::nullopt;
      return NativeReduction{DType::kF32, kind, 2};
    case DType::kC128:
      if (kind != ReduceKind::kSum) return std::nullopt;
      return NativeReduction{DType::kF64, kind, 2};
    default:
      return std::nullopt;
  }
}

}  // namespace sbp::gpu
