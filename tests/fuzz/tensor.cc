// Tensors with all their values: a TensorProto, or a .npy file.
#include "fuzz/target.h"
#include "io/npz.h"
#include "onnx/reader.h"

namespace sbp::fuzz {
namespace {

void Check(const Result<TensorData>& data) {
  if (!data.ok()) return RequireRefusal(data.status());
  Require(data->type.is_static(), "a tensor without sizes");
  Require(static_cast<int64_t>(data->bytes.size()) == data->type.num_bytes(), "bytes that do not fit the type");
}

}  // namespace

void RunTensor(std::string_view bytes) {
  Check(ReadOnnxTensorData(bytes, "input.pb"));
  Check(ReadNpyData(bytes, "input.npy"));
  const Result<Literal> literal = ReadOnnxTensor(bytes, "input.pb");
  if (!literal.ok()) RequireRefusal(literal.status());
}

}  // namespace sbp::fuzz
