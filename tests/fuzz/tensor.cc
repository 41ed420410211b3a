// Values as files hold them: a TensorProto, SequenceProto or OptionalProto, or a .npy file.
#include "fuzz/target.h"
#include "io/npz.h"
#include "onnx/reader.h"

namespace sbp::fuzz {
namespace {

void CheckData(const TensorData& data) {
  Require(data.type.is_static(), "a tensor without sizes");
  for (const TensorData& entry : data.entries) CheckData(entry);
  if (data.type.kind != ValueKind::kTensor) return;
  Require(static_cast<int64_t>(data.bytes.size()) == data.type.num_bytes(), "bytes that do not fit the type");
}

void Check(const Result<TensorData>& data) {
  if (!data.ok()) return RequireRefusal(data.status());
  CheckData(*data);
}

}  // namespace

void RunTensor(std::string_view bytes) {
  for (const ValueKind kind : {ValueKind::kTensor, ValueKind::kSequence, ValueKind::kOptional}) {
    Check(ReadOnnxData(bytes, "input.pb", kind));
  }
  Check(ReadNpyData(bytes, "input.npy"));
  const Result<Literal> literal = ReadOnnxTensor(bytes, "input.pb");
  if (!literal.ok()) RequireRefusal(literal.status());
}

}  // namespace sbp::fuzz
