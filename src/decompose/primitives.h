// The primitives: ops that expansions are written in and that every backend has kernels for. Atomic (none is a useful
// composition of others, but for accuracy), useful, on whole tensors, complete (every built-in op on tensors is one or
// expands into them).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace sbp {

enum class PrimitiveClass : uint8_t {
  kElementwise,
  kCast,
  kSelect,
  kReduce,
  kDotGeneral,
  kConvolution,
  kWindow,  // windowed reduce and scans
  kGather,
  kScatter,
  kSlice,
  kPad,
  kConcat,
  kReshape,
  kTranspose,
  kBroadcast,
  kIota,
  kSort,  // order and choice: top-k, arg-max, non-zero, unique
  kRandom,
  kControl,  // If, Loop, Scan: run by the runtime, their bodies expand
};
std::string_view PrimitiveClassName(PrimitiveClass c);

struct PrimitiveRow {
  std::string_view op;
  PrimitiveClass kind;
};
std::span<const PrimitiveRow> AllPrimitives();  // sorted by op; all_primitives.cc
const PrimitiveRow* FindPrimitive(std::string_view op);

}  // namespace sbp
