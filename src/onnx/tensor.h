// Decodes constants and types of a model file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/strided_ints.h"
#include "graph/tensor_type.h"
#include "onnx/onnx_ir.pb.h"
#include "onnx/reader.h"

namespace sbp::onnx {

// A constant: its type, and its value or the place of its value. Neither: the file holds none (stripped weights), or
// holds a large one as a list that has no fixed width.
struct Constant {
  TensorType type;
  LiteralRef literal;
  std::optional<DataReference> data;
};

// `file` is the model file, for payloads that were left in it. Error: an unknown element type, a negative or
// overflowing size, a payload of another length than the shape says.
Result<Constant> DecodeTensor(const sbp_onnx::Tensor& tensor, std::string_view file);
Result<Constant> DecodeSparse(const sbp_onnx::SparseTensor& sparse, std::string_view file);

// Takes the value of a small constant from external data, where that is at hand.
Status ReadExternal(const ExternalReader& external, Constant& constant);

// What a large constant of indices holds, if that is a grid and its data is at hand (graph/strided_ints.h).
Result<std::optional<StridedInts>> StridesOfLarge(const Tensor& constant, std::string_view file,
                                                  const ExternalReader& external);

// A stated type; symbols[i] is the name of dimension i, "" where the size is a number. A dimension that the file leaves
// open ('?', -1, no name) is kUnknownDim with the symbol "?".
struct StatedType {
  TensorType type;
  std::vector<std::string> symbols;  // empty when every size is a number
};
Result<StatedType> DecodeType(const sbp_onnx::Type& type);

Result<DType> DecodeDType(int32_t number);

}  // namespace sbp::onnx
