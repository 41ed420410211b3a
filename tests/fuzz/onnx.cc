#include "fuzz/target.h"
#include "onnx/reader.h"

namespace sbp::fuzz {

void RunOnnx(std::string_view bytes) {
  (void)ReadOnnxTensor(bytes, "input.pb");
  RequireModel(ReadOnnx(bytes, "input.onnx"), "input.onnx");
}

}  // namespace sbp::fuzz
