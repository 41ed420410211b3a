#include "export/plan_table.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "boxing/boxing.h"
#include "cluster/collective_kind.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/phases.h"
#include "graph/simplified.h"
#include "graph/strided_ints.h"
#include "graph/tensor_type.h"
#include "plan/ends.h"
#include "plan/plan.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/signature.h"

namespace sbp {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no infinities.
Json Number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return value;
}

Json Values(const Literal& literal) {
  Json values = Json::array();
  for (const int64_t value : literal.ints) values.push_back(value);
  for (const double value : literal.floats) values.push_back(Number(value));
  return values;
}

Json AttributeJson(const AttributeValue& value) {
  struct Writer {
    Json operator()(int64_t v) const { return v; }
    Json operator()(double v) const { return Number(v); }
    Json operator()(const std::string& v) const { return v; }
    Json operator()(const std::vector<int64_t>& v) const { return v; }
    Json operator()(const std::vector<double>& v) const {
      Json list = Json::array();
      for (const double number : v) list.push_back(Number(number));
      return list;
    }
    Json operator()(const std::vector<std::string>& v) const { return v; }
    Json operator()(const LiteralRef& v) const { return Values(*v); }
    Json operator()(const std::shared_ptr<const Graph>& /*v*/) const { return nullptr; }
  };
  return std::visit(Writer{}, value);
}

Json TensorJson(const Tensor& tensor, const NdSbp& layout) {
  Json json = {{"dtype", DTypeName(tensor.type.dtype)}, {"shape", tensor.type.shape}, {"layout", ToString(layout)}};
  json["role"] = tensor.role == TensorRole::kInput       ? "input"
                 : tensor.role == TensorRole::kParameter ? "parameter"
                                                         : "activation";
  if (tensor.role != TensorRole::kParameter) return json;
  if (tensor.part != nullptr) {
    json["part"] = {{"whole", tensor.part->whole},
                    {"shape", tensor.part->type.shape},
                    {"axis", tensor.part->axis},
                    {"start", tensor.part->start}};
  } else if (tensor.literal != nullptr) {
    json["values"] = Values(*tensor.literal);
  } else if (tensor.strided != nullptr) {
    json["grid"] = {{"offset", tensor.strided->offset}, {"strides", tensor.strided->strides}};
  }
  return json;
}

Json OpJson(const Plan& plan, OpId id) {
  const Op& op = plan.graph.op(id);
  const Signature& signature = plan.decision(id).signature;
  Json inputs = Json::array(), outputs = Json::array(), attributes = Json::object();
  for (size_t k = 0; k < op.inputs.size(); ++k) {
    Json& use = inputs.emplace_back();
    if (op.inputs[k].valid())
      use = {{"name", plan.graph.tensor(op.inputs[k]).name}, {"layout", ToString(signature.inputs[k])}};
  }
  for (const TensorId output : op.outputs) outputs.push_back(output.valid() ? plan.graph.tensor(output).name : "");
  for (const auto& [name, value] : op.attributes->entries()) attributes[name] = AttributeJson(value);
  return {{"op", op.name},
          {"type", plan.graph.type_of(op)},
          {"scope", plan.graph.scope_of(op)},
          {"inputs", std::move(inputs)},
          {"outputs", std::move(outputs)},
          {"attributes", std::move(attributes)}};
}

Json TransitionJson(const Plan& plan, const Transition& transition) {
  Json moves = Json::array();
  for (const BoxingStep& step : transition.steps) {
    moves.push_back({{"kind", CollectiveKindName(step.kind)},
                     {"axis", step.axis},
                     {"from", ToString(step.from)},
                     {"to", ToString(step.to)},
                     {"wire_bytes", step.wire_bytes}});
  }
  return {{"tensor", plan.graph.tensor(transition.tensor).name},
          {"from", ToString(transition.from)},
          {"to", ToString(transition.to)},
          {"moves", std::move(moves)}};
}

// In front of which op each transition runs; number of ops: behind all.
std::vector<size_t> PlacesOf(const Plan& plan) {
  std::vector<size_t> places;
  std::map<TensorId, std::vector<size_t>> of_tensor;
  for (const Transition& transition : plan.transitions) {
    of_tensor[transition.tensor].push_back(places.size());
    size_t place = plan.graph.ops.size();
    for (const Use& use : transition.consumers) place = std::min(place, use.op.index());
    if (transition.ahead_of.valid()) place = std::min(place, transition.ahead_of.index());
    places.push_back(place);
  }
  // What a transition starts from is there before it.
  for (size_t i = plan.transitions.size(); i-- > 0;) {
    for (const size_t k : of_tensor[plan.transitions[i].tensor]) {
      if (k < i && plan.transitions[k].to == plan.transitions[i].from) places[k] = std::min(places[k], places[i]);
    }
  }
  return places;
}

Json StepsJson(const Plan& plan) {
  const std::vector<size_t> places = PlacesOf(plan);
  std::vector<std::vector<size_t>> before(plan.graph.ops.size() + 1);
  for (size_t i = 0; i < places.size(); ++i) before[places[i]].push_back(i);
  Json steps = Json::array();
  for (size_t op = 0; op <= plan.graph.ops.size(); ++op) {
    for (const size_t transition : before[op]) steps.push_back(TransitionJson(plan, plan.transitions[transition]));
    if (op < plan.graph.ops.size()) steps.push_back(OpJson(plan, OpId(op)));
  }
  return steps;
}

// Was the op made with a training step, where the model itself has none of it?
bool IsOfStep(const Plan& plan, const Op& op) {
  const std::string& scope = plan.graph.scope_of(op);
  const bool of_loss = scope == kLossScope || scope.starts_with(StrCat(kLossScope, "/"));
  return !plan.options.train.empty() && (of_loss || PhaseOf(plan.graph, op) != Phase::kForward);
}

// Names of the model's nodes.
Json NodesJson(const Plan& plan) {
  Json nodes = Json::array();
  std::set<std::string_view> seen;
  for (const Op& op : plan.graph.ops) {
    const std::string_view name = NodeOf(plan, op);
    if (!name.empty() && seen.insert(name).second) nodes.push_back(name);
  }
  return nodes;
}

void AddMesh(const Mesh& mesh, Json& table) {
  table["mesh"] = ToString(mesh);
  table["mesh_axes"] = Json::array();
  table["mesh_shape"] = Json::array();
  table["mesh_ranks"] = mesh.ranks;
  for (const MeshAxis& axis : mesh.axes) {
    table["mesh_axes"].push_back(axis.name);
    table["mesh_shape"].push_back(axis.size);
  }
}

// Names of a model need not be UTF-8.
std::string Dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// A line an entry, so that the table can be read and compared.
std::string Lines(const Json& table) {
  std::string text = "{";
  for (const auto& [key, value] : table.items()) {
    text += (text.size() > 1 ? ",\n" : "\n") + Dump(key) + ": ";
    if (!value.is_structured() || value.empty() || (key != "tensors" && key != "steps")) {
      text += Dump(value);
      continue;
    }
    text += value.is_object() ? "{" : "[";
    bool first = true;
    for (const auto& [name, entry] : value.items()) {
      text += first ? "\n " : ",\n ";
      first = false;
      if (value.is_object()) text += Dump(name) + ": ";
      text += Dump(entry);
    }
    text += value.is_object() ? "\n}" : "\n]";
  }
  return text + "\n}\n";
}

}  // namespace

std::string PlanTable(const Plan& plan) {
  const Graph& graph = plan.graph;
  Json table = {{"model", plan.model_path}, {"fingerprint", plan.model_fingerprint}};
  AddMesh(plan.mesh, table);
  table["inputs"] = Json::array();
  for (const TensorId input : graph.inputs) table["inputs"].push_back(graph.tensor(input).name);
  table["outputs"] = Json::array();
  const std::vector<NdSbp> ends = OutputLayoutsOf(plan);
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    table["outputs"].push_back({{"name", graph.tensor(graph.outputs[i]).name}, {"layout", ToString(ends[i])}});
  }
  table["ties"] = Json::array();
  for (const Tie& tie : graph.ties)
    table["ties"].push_back({{"output", graph.tensor(tie.output).name},
                             {"input", graph.tensor(tie.input).name},
                             {"restarts", tie.restarts}});
  table["train"] = Json::array();
  for (const auto& [flag, value] : plan.options.train) table["train"].push_back({flag, value});
  table["nodes"] = NodesJson(plan);
  Json& tensors = table["tensors"] = Json::object();
  for (size_t i = 0; i < graph.tensors.size(); ++i)
    tensors[graph.tensors[i].name] = TensorJson(graph.tensors[i], plan.source_layouts[i]);
  table["steps"] = StepsJson(plan);
  return Lines(table);
}

std::string_view NodeOf(const Plan& plan, const Op& op) {
  const bool rewritten = std::ranges::any_of(op.metadata, [](const auto& m) { return m.first == kSimplifiedFrom; });
  if (rewritten || IsOfStep(plan, op)) return "";
  return std::string_view(op.name).substr(0, op.name.find_first_of("/["));
}

std::string_view TrainingFlag(const Plan& plan, std::string_view flag) {
  for (const auto& [name, value] : plan.options.train) {
    if (name == flag) return value;
  }
  return "";
}

Status CheckOnePass(const Plan& plan, std::string_view program) {
  if (plan.graph.micro_batches <= 1) return OkStatus();
  return BadInput(StrCat("the plan's step sums gradients over ", plan.graph.micro_batches,
                         " micro-batches, and a call of ", program, " is one pass: plan it without --accumulate"));
}

}  // namespace sbp
