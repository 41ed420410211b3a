// The ZIP archive that torch.export.save writes: which member holds what.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"

namespace sbp::torch {

// What a file says of one weight, buffer or constant.
struct StoredTensor {
  TensorType type;
  bool contiguous = true;              // row-major without gaps; only such values can be referred to
  std::string storage;                 // the member that holds it, and where; tied tensors share it. "": unknown
  std::optional<DataReference> place;  // nothing: the file has shapes alone, or keeps it in a way that is not read
};

// Views into the bytes of the file, which must outlive it.
struct Archive {
  std::string program;                          // the JSON text
  std::map<std::string, StoredTensor> tensors;  // by the name that the module gives it: "layers.0.mlp.weight"
};

// Errors (kBadInput): a cut or corrupt archive; no models/model.json, or several; big-endian weights.
Result<Archive> ReadArchive(std::string_view bytes);

}  // namespace sbp::torch
