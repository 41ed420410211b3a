#include "fuzz/target.h"
#include "onnx/annotate.h"
#include "onnx/annotations.h"
#include "onnx/reader.h"

namespace sbp::fuzz {

void RunOnnx(std::string_view bytes) {
  (void)ReadOnnxTensor(bytes, "input.pb");
  if (const auto annotations = ReadShardingAnnotations(bytes, "input.onnx"); annotations.ok()) {
    (void)Annotate(bytes, {"c", 1, {}}, {{0, {}}});
  }
  RequireModel(ReadOnnx(bytes, "input.onnx"), "input.onnx");
}

}  // namespace sbp::fuzz
