#include "io/npz.h"

#include "fuzz/target.h"

namespace sbp::fuzz {

void RunNpz(std::string_view bytes) {
  const Result<std::vector<NpyArray>> arrays = ReadNpz(bytes, "input.npz");
  if (!arrays.ok()) return RequireRefusal(arrays.status());
  for (const NpyArray& array : *arrays) {
    if (!array.literal) continue;
    Require(static_cast<int64_t>(array.literal->ints.size()) == array.type.num_elements(),
            "an array has another number of values than its type");
  }
  const Result<std::vector<TensorData>> tensors = ReadNpzData(bytes, "input.npz");
  if (!tensors.ok()) return RequireRefusal(tensors.status());
  for (const TensorData& tensor : *tensors) {
    Require(static_cast<int64_t>(tensor.bytes.size()) == tensor.type.num_bytes(), "bytes that do not fit the type");
  }
}

}  // namespace sbp::fuzz
