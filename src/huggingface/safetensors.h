// Files of safetensors: which tensors one holds, and their bytes when they are asked for.
// The format: eight bytes, the length of a JSON text, little-endian; the text, {NAME: {"dtype", "shape",
// "data_offsets": [BEGIN, END]}}; then the bytes of all tensors, without holes, which the offsets count from.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/status.h"
#include "graph/tensor_type.h"

namespace sbp {

struct StoredWeight {
  TensorType type;
  int64_t offset = 0, length = 0;  // bytes, from the start of the file
};
using StoredWeights = std::map<std::string, StoredWeight, std::less<>>;

// The longest header; the reference implementation's limit, too.
inline constexpr int64_t kMaxSafetensorsHeader = 100'000'000;

// `start`: the file's first bytes, of which the header is looked for in all; `size`: of the whole file. Errors
// (kBadInput): cut off; a header that is too long, no JSON, or names a tensor twice; an unknown type; offsets that are
// outside of the file, overlap, leave a hole, or do not fit type and shape. Each names the tensor.
Result<StoredWeights> ReadSafetensorsHeader(std::string_view start, int64_t size);

// The tensors of a file, of which the header alone is read, or of a document of a call (io/call_files.h). Errors: as
// above, with the path; it cannot be opened.
Result<StoredWeights> ReadSafetensorsFile(const std::string& path);
// The bytes of one tensor, appended to `bytes`. Error (kBadInput): the file is not what it was.
Status AppendWeight(const std::string& path, const StoredWeight& weight, std::string& bytes);

}  // namespace sbp
