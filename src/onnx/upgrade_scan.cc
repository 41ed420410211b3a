#include "onnx/upgrade_scan.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/text.h"
#include "graph/builder.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"

namespace sbp::onnx {
namespace {

TensorType Unknown() {
  TensorType type;
  type.has_rank = false;
  return type;
}

// The graph of one sample: inputs like the body's, which `scan` gets, and what it gives.
Result<Graph> SampleGraph(const Graph& body, size_t operands, size_t results, Attributes scan) {
  GraphBuilder builder("sample");
  std::vector<std::string> inputs, outputs;
  for (size_t i = 0; i < body.inputs.size(); ++i) {
    inputs.push_back(StrCat(i < operands ? "operand_" : "captured_", i));
    builder.AddInput(inputs.back(), Unknown());
  }
  for (size_t r = 0; r < results; ++r) outputs.push_back(StrCat("result_", r));
  const std::vector<std::string> captured(inputs.begin() + static_cast<std::ptrdiff_t>(operands), inputs.end());
  inputs.resize(operands);
  const OpId op = builder.AddOp("Scan", "sample", inputs, outputs, std::move(scan));
  for (const std::string& name : captured) {
    const TensorId id = builder.Tensor(name);
    builder.graph().op(op).captures.push_back(id);
  }
  for (const std::string& name : outputs) builder.AddOutput(name);
  return builder.Build("Scan of opset 8");
}

}  // namespace

Status NestBatchedScan(NodeForm& node) {
  if (!node.inputs.empty() && !node.inputs[0].empty()) {
    return BadInput(
        "Scan of opset 8 with lengths per sample (sequence_lens) is not read; export with opset 9 or newer");
  }
  const AttributeValue* value = node.attributes.Find("body");
  const auto* body = value == nullptr ? nullptr : std::get_if<std::shared_ptr<const Graph>>(value);
  if (body == nullptr || *body == nullptr || node.inputs.empty()) return BadInput("needs operands and a body");
  node.inputs.erase(node.inputs.begin());
  const size_t operands = node.inputs.size(), results = (*body)->outputs.size();
  if ((*body)->inputs.size() < operands || node.outputs.size() > results) {
    return BadInput("its body does not fit its operands and results");
  }
  Attributes inner = node.attributes;
  if (const std::vector<int64_t>* directions = inner.Ints("directions"); directions != nullptr) {
    inner.Set("scan_input_directions", std::vector<int64_t>(*directions));
    std::erase_if(inner.mutable_entries(), [](const auto& entry) { return entry.first == "directions"; });
  }
  SBP_ASSIGN_OR_RETURN(Graph sample, SampleGraph(**body, operands, results, std::move(inner)));
  EraseAttribute(node, "directions");
  node.attributes.Set("num_scan_inputs", static_cast<int64_t>(operands));
  node.attributes.Set("body", std::shared_ptr<const Graph>(std::make_shared<Graph>(std::move(sample))));
  return OkStatus();
}

}  // namespace sbp::onnx
