// .npy and .npz files: headers, and small integer values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "graph/literal.h"

namespace sbp {

struct NpyArray {
  std::string name;  // without ".npy"
  TensorType type;
  LiteralRef literal;  // integers and bools of at most kMaxLiteralElements elements; else null
};
// Reads headers (and small values) of all members; stored and deflated members. Errors name file and member.
Result<std::vector<NpyArray>> ReadNpz(std::string_view bytes, std::string_view where);

}  // namespace sbp
