// TensorData: a named tensor with all its values, as files hold it.
#pragma once

#include <string>

#include "graph/tensor_type.h"

namespace sbp {

struct TensorData {
  std::string name;
  TensorType type;
  std::string bytes;  // row-major, little-endian; elements of 4 and 2 bits packed, the first in the low bits
};

}  // namespace sbp
