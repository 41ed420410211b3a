#include "graph/tensor_data.h"

#include <algorithm>
#include <cstdint>

#include "base/dtype.h"
#include "base/text.h"
#include "sbp/shard_math.h"

namespace sbp {

Result<TensorData> SequenceOf(std::string name, std::vector<TensorData> entries) {
  TensorData data;
  data.name = std::move(name);
  data.type.kind = ValueKind::kSequence;
  if (!entries.empty()) data.type.dtype = entries[0].type.dtype;
  Shape enclosing;
  for (const TensorData& entry : entries) {
    if (entry.type.dtype != data.type.dtype) {
      return BadInput(
          StrCat("a sequence of ", DTypeName(data.type.dtype), " with an entry of ", DTypeName(entry.type.dtype)));
    }
    enclosing.resize(std::max(enclosing.size(), entry.type.shape.size()), 1);
    for (size_t d = 0; d < entry.type.shape.size(); ++d) enclosing[d] = std::max(enclosing[d], entry.type.shape[d]);
  }
  data.type.shape = {static_cast<int64_t>(entries.size())};
  data.type.shape.insert(data.type.shape.end(), enclosing.begin(), enclosing.end());
  data.entries = std::move(entries);
  return data;
}

}  // namespace sbp
