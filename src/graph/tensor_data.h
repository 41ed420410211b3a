// TensorData: a named tensor (or sequence, or optional) with all its values, as files hold it.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "graph/tensor_type.h"

namespace sbp {

struct TensorData {
  std::string name;
  TensorType type;    // of a sequence: its tensors stacked, each dimension the largest
  std::string bytes;  // row-major, little-endian; elements of 4 and 2 bits packed, the first in the low bits
  std::vector<TensorData> entries;  // of a sequence; of an optional: what it holds, if anything. Then `bytes` is empty
};

// Tensors of one element type as a sequence. Error: another type at some entry.
Result<TensorData> SequenceOf(std::string name, std::vector<TensorData> entries);

}  // namespace sbp
