// Models of tests, written as text (protobuf's text format of onnx_ir.proto).
#pragma once

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "onnx/onnx_ir.pb.h"

namespace sbp {

// The bytes of a model with this graph and, behind it, these other fields of the model.
inline std::string ModelBytes(const std::string& graph,
                              const std::string& model_fields = "opset_import { version: 20 }") {
  sbp_onnx::Model model;
  const std::string text = "ir_version: 8 graph { " + graph + " } " + model_fields;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &model)) << text;
  return model.SerializeAsString();
}

// "x" with element type 1 (float) and dimensions such as "dim_value: 2", "dim_param: 'n'".
inline std::string InputText(const std::string& name, const std::vector<std::string>& dims, int dtype = 1) {
  std::string text =
      "input { name: '" + name + "' type { tensor_type { elem_type: " + std::to_string(dtype) + " shape { ";
  for (const std::string& dim : dims) text += "dim { " + dim + " } ";
  return text + "} } } } ";
}

inline std::string OutputText(const std::string& name) { return "output { name: '" + name + "' } "; }

}  // namespace sbp
