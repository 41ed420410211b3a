#include "onnx/reader.h"

#include <google/protobuf/arena.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/text.h"
#include "onnx/graph_reader.h"
#include "onnx/limits.h"
#include "onnx/onnx_ir.pb.h"
#include "onnx/parse_model.h"
#include "onnx/wire.h"

namespace sbp {
namespace {

void ReadModelMetadata(const sbp_onnx::Model& model, std::vector<std::pair<std::string, std::string>>& metadata) {
  const auto add = [&](std::string key, std::string value) {
    if (!value.empty()) metadata.emplace_back(std::move(key), std::move(value));
  };
  add("ir_version", StrCat(model.ir_version()));
  add("producer_name", model.producer_name());
  add("producer_version", model.producer_version());
  add("domain", model.domain());
  if (model.model_version() != 0) add("model_version", StrCat(model.model_version()));
  for (const sbp_onnx::Entry& entry : model.metadata_props()) metadata.emplace_back(entry.key(), entry.value());
  for (const auto& configuration : model.configuration()) {
    metadata.emplace_back("onnx.device_configuration", configuration.ShortDebugString());
  }
  for (const sbp_onnx::TrainingInfo& info : model.training_info()) {
    for (const auto& binding : info.update_binding()) {
      metadata.emplace_back("onnx.training.update_binding", StrCat(binding.key(), "=", binding.value()));
    }
  }
}

Result<Graph> ReadModel(std::string_view bytes, std::string_view where, const ExternalReader& external) {
  SBP_ASSIGN_OR_RETURN(const std::optional<std::string> shorter, onnx::LeavePayloadsInFile(bytes));
  google::protobuf::Arena arena;
  auto& model = *google::protobuf::Arena::CreateMessage<sbp_onnx::Model>(&arena);
  SBP_RETURN_IF_ERROR(onnx::ParseModel(shorter ? *shorter : bytes, model));

  onnx::ModelContext context;
  context.file = bytes;
  context.where = where;
  context.external = &external;
  int64_t nodes = model.graph().node_size();
  for (const sbp_onnx::Function& function : model.functions()) {
    const std::string domain = function.domain() == "ai.onnx" ? "" : function.domain();
    context.functions[{domain, function.name(), function.overload()}] = &function;
    nodes += function.node_size();
  }
  // Subgraphs are not counted here: a budget of the file's size covers them.
  nodes += static_cast<int64_t>(bytes.size()) / 16;
  context.nodes_left = std::min(onnx::kMaxInlinedNodes, nodes * onnx::kMaxInlining);

  const onnx::OperatorSets opsets = onnx::ReadOperatorSets(model.opset_import());
  onnx::GraphReader reader(context, model.graph().name());
  ReadModelMetadata(model, reader.builder().graph().metadata);
  onnx::Frame frame;
  frame.opsets = &opsets;
  return reader.Read(model.graph(), frame);
}

}  // namespace

Result<Graph> ReadOnnx(std::string_view bytes, std::string_view where, const ExternalReader& external) {
  Result<Graph> graph = ReadModel(bytes, where, external);
  if (graph.ok() || graph.status().message().starts_with(where)) return graph;
  return graph.status().WithContext(where);
}

}  // namespace sbp
