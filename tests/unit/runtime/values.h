// Tensors of small integers in any element type, for tests.
#pragma once

#include <vector>

#include "kernel/view.h"
#include "runtime/data/box.h"

namespace sbp {

// Integers of magnitude up to 256 in every type that has them; smaller types keep the low bits. Bool: is it above 0?
std::vector<std::byte> Encode(DType dtype, const std::vector<double>& values);
std::vector<double> Decode(DType dtype, const std::byte* data, int64_t count);

// A part of a tensor that owns its bytes.
struct OwnedPart {
  std::vector<std::byte> bytes;
  TensorView view;
};
// The bytes are all ones until something is written. Do not move the part afterwards.
void MakePart(DType dtype, const Shape& whole, const Box& box, OwnedPart& part);

}  // namespace sbp
