// The graph: ops, tensors, scopes.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/text.h"
#include "graph/adopt.h"
#include "graph/graph.h"
#include "graph/phases.h"
#include "graph/tensor_type.h"
#include "naming/module_names.h"
#include "page/interned.h"
#include "page/sections.h"

namespace sbp {
namespace {

Json Ids(const std::vector<TensorId>& tensors) {
  Json ids = Json::array();
  for (const TensorId tensor : tensors) ids.push_back(tensor.valid() ? static_cast<int64_t>(tensor.index()) : -1);
  return ids;
}

std::string AttributeLines(const Attributes& attributes) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : attributes.entries()) lines.push_back(StrCat(name, ": ", ToString(value)));
  return Join(lines, "\n");
}

std::string NoteLines(const Op& op) {
  std::vector<std::string> lines;
  for (const auto& [key, value] : op.metadata) lines.push_back(StrCat(key, ": ", value));
  return Join(lines, "\n");
}

Json OpColumns(const Graph& graph, const std::vector<Phase>& of_op, Interned& texts) {
  const std::vector<std::string_view> scopes = AdoptScopes(graph);
  Json names = Json::array(), types = Json::array(), inputs = Json::array(), outputs = Json::array(),
       in_scopes = Json::array(), phases = Json::array(), attributes = Json::array(), notes = Json::array();
  std::map<const Attributes*, uint32_t> known;  // sets are shared between ops
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    names.push_back(op.name);
    types.push_back(op.type);
    inputs.push_back(Ids(graph.OperandsOf(op)));
    outputs.push_back(Ids(op.outputs));
    in_scopes.push_back(texts.Find(std::string(scopes[i])));
    phases.push_back(static_cast<int>(of_op[i]));
    const auto [entry, is_new] = known.try_emplace(op.attributes.get(), 0);
    if (is_new) entry->second = texts.Find(AttributeLines(*op.attributes));
    attributes.push_back(entry->second);
    notes.push_back(texts.Find(NoteLines(op)));
  }
  return {{"name", std::move(names)},
          {"type", std::move(types)},
          {"inputs", std::move(inputs)},
          {"outputs", std::move(outputs)},
          {"scope", std::move(in_scopes)},
          {"phase", std::move(phases)},
          {"attributes", std::move(attributes)},
          {"notes", std::move(notes)}};
}

// Also fills `types`.
Json TensorColumns(const Graph& graph, Interned& texts, Json& types) {
  const ModuleNames modules(graph);
  Json names = Json::array(), type_of = Json::array(), roles = Json::array(), labels = Json::array();
  std::map<std::pair<DType, std::vector<int64_t>>, size_t> known;
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    const Tensor& tensor = graph.tensors[i];
    const auto [entry, is_new] = known.try_emplace({tensor.type.dtype, tensor.type.shape}, types.size());
    if (is_new) types.push_back({{"dtype", DTypeName(tensor.type.dtype)}, {"shape", tensor.type.shape}});
    names.push_back(tensor.name);
    type_of.push_back(entry->second);
    roles.push_back(static_cast<int>(tensor.role));
    const ModuleName* module = modules.Find(TensorId(static_cast<uint32_t>(i)));
    labels.push_back(texts.Find(module == nullptr ? "" : module->Text()));
  }
  return {{"name", std::move(names)},
          {"type", std::move(type_of)},
          {"role", std::move(roles)},
          {"label", std::move(labels)}};
}

}  // namespace

Json GraphSection(const PageFacts& facts) {
  const Graph& graph = facts.plan.graph;
  Interned texts;
  texts.Find("");
  Json types = Json::array();
  Json ops = OpColumns(graph, facts.phases, texts);
  Json tensors = TensorColumns(graph, texts, types);
  return {{"op_types", graph.op_types}, {"ops", std::move(ops)},       {"tensors", std::move(tensors)},
          {"types", std::move(types)},  {"inputs", Ids(graph.inputs)}, {"outputs", Ids(graph.outputs)},
          {"texts", texts.all()}};
}

}  // namespace sbp
