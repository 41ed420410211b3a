// .npy and .npz files: headers, small integer values, and all values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "graph/literal.h"
#include "graph/tensor_data.h"
#include "graph/tensor_type.h"

namespace sbp {

struct NpyArray {
  std::string name;  // without ".npy"
  TensorType type;
  LiteralRef literal;  // integers and bools of at most kMaxLiteralElements elements; else null
};
// Reads headers (and small values) of all members; stored and deflated members. Errors name file and member.
Result<std::vector<NpyArray>> ReadNpz(std::string_view bytes, std::string_view where);

// The same with all values (row-major, little-endian).
Result<std::vector<TensorData>> ReadNpzData(std::string_view bytes, std::string_view where);
// One .npy file; its name is left empty.
Result<TensorData> ReadNpyData(std::string_view bytes, std::string_view where);

// Does NumPy have the type? (bf16 and narrower floats, and integers of 4 and 2 bits, it lacks.)
bool NumpyHas(DType dtype);
// An archive of the tensors, stored without compression; the same bytes for the same tensors. Requires NumpyHas of
// every type. Error: more than 4 GiB.
Result<std::string> WriteNpz(const std::vector<TensorData>& tensors);

}  // namespace sbp
