#include "onnx/parse_model.h"

#include <google/protobuf/io/coded_stream.h>

#include <climits>
#include <cstdint>

#include "onnx/limits.h"

namespace sbp::onnx {

Status ParseModel(std::string_view bytes, sbp_onnx::Model& model) {
  if (bytes.size() > INT_MAX) return BadInput("more than 2 GiB beside the weights");
  google::protobuf::io::CodedInputStream input(reinterpret_cast<const uint8_t*>(bytes.data()),
                                               static_cast<int>(bytes.size()));
  input.SetRecursionLimit(kMaxMessageDepth);
  if (!model.ParseFromCodedStream(&input) || !input.ConsumedEntireMessage()) {
    return BadInput("not an ONNX model, or cut off: the protobuf message does not parse");
  }
  if (!model.has_graph()) return BadInput("an ONNX model without a graph");
  return OkStatus();
}

}  // namespace sbp::onnx
