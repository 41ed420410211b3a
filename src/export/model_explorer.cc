// model-explorer: a plan as a graph of Google's Model Explorer, with node data of time and memory; two plans side by
// side. Collectives are edge overlays, one for each kind.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "boxing/boxing.h"
#include "cluster/collective_kind.h"
#include "export/exporter.h"
#include "graph/graph.h"
#include "graph/sections.h"
#include "memory/memory.h"
#include "naming/module_names.h"
#include "plan/ends.h"
#include "plan/plan.h"
#include "plan/transition_runs.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"
#include "sbp/signature.h"

namespace sbp {
namespace {

using MeJson = nlohmann::ordered_json;

std::string PrintMe(const MeJson& json) { return json.dump(1, ' ', false, MeJson::error_handler_t::replace) + "\n"; }

MeJson Attribute(std::string_view key, const std::string& value) { return {{"key", key}, {"value", value}}; }

constexpr double kMicroseconds = 1e6;
constexpr std::array<std::string_view, 8> kEdgeColours = {"#1f77b4", "#d62728", "#2ca02c", "#9467bd",
                                                          "#7f7f7f", "#bcbd22", "#8c564b", "#17becf"};

// What a node of the graph costs a device in a step.
struct MeCost {
  double compute = 0, collectives = 0;  // seconds
  double bytes = 0;                     // of what it writes, or is
};

// One plan as one graph.
class MeGraph {
 public:
  MeGraph(const Plan& plan, std::string id) : plan_(plan), id_(std::move(id)), names_(plan.graph), runs_(plan.graph) {
    transition_runs_ = RunsOfTransitions(plan, runs_);
    for (size_t i = 0; i < plan.transitions.size(); ++i) {
      of_tensor_[plan.transitions[i].tensor].push_back(i);
      for (const Use& use : plan.transitions[i].consumers) feeding_[{use.op, use.operand}] = i;
    }
    NameNodes();
  }

  MeJson Graph(bool is_right) {
    MeJson nodes = MeJson::array();
    AddSources(nodes);
    for (size_t i = 0; i < plan_.graph.ops.size(); ++i) nodes.push_back(OpNode(OpId(i)));
    AddOutputs(nodes);
    MeJson overlays = {{"type", "edge_overlays"}, {"name", "collectives"}, {"overlays", Overlays()}};
    const char* pane = is_right ? "edgeOverlaysDataListRightPane" : "edgeOverlaysDataListLeftPane";
    MeJson groups = Groups();  // after all costs are known
    return {{"id", id_},
            {"nodes", std::move(nodes)},
            {"groupNodeAttributes", std::move(groups)},
            {"tasksData", {{pane, MeJson::array({std::move(overlays)})}}}};
  }

  // Per node that has any: a value of its costs, once Graph is made.
  template <typename Get>
  MeJson Data(std::string_view name, Get get) const {
    MeJson results = MeJson::object();
    for (const auto& [node, cost] : costs_) {
      if (get(cost) > 0) results[node] = {{"value", get(cost)}};
    }
    return {{"name", name},
            {"results", std::move(results)},
            {"gradient", {{{"stop", 0}, {"bgColor", "#ffffff"}}, {{"stop", 1}, {"bgColor", "#ff4040"}}}}};
  }

  const std::string& id() const { return id_; }
  const std::string& OpNodeId(OpId op) const { return ops_[op.index()]; }
  // Where a tensor comes from: the op that writes it, or a node of its own.
  const std::string& Source(TensorId tensor) const {
    const OpId producer = plan_.graph.tensor(tensor).producer;
    return producer.valid() ? ops_[producer.index()] : sources_[tensor.index()];
  }
  // Names by which nodes of two plans belong together.
  const std::vector<std::string>& all() const { return all_; }

 private:
  std::string Unique(std::string id) {
    while (!taken_.insert(id).second) id += "'";
    all_.push_back(id);
    return id;
  }

  void NameNodes() {
    for (const Op& op : plan_.graph.ops) ops_.push_back(Unique(op.name));
    for (const Tensor& tensor : plan_.graph.tensors) {
      const bool is_source = tensor.role != TensorRole::kActivation;
      const char* kind = tensor.role == TensorRole::kInput ? "input:" : "parameter:";
      sources_.push_back(is_source ? Unique(StrCat(kind, tensor.name)) : "");
    }
    for (const TensorId id : plan_.graph.outputs) {
      outputs_.push_back(Unique(StrCat("output:", plan_.graph.tensor(id).name)));
    }
  }

  MeJson TensorAttributes(TensorId id, const NdSbp& layout) const {
    const Tensor& tensor = plan_.graph.tensor(id);
    MeJson attributes = MeJson::array();
    attributes.push_back(Attribute("tensor_name", tensor.name));
    attributes.push_back(Attribute("tensor_shape", ToString(tensor.type)));
    attributes.push_back(Attribute("layout", ToString(layout)));
    attributes.push_back(Attribute("bytes on a device", StrCat(LocalBytes(tensor.type, layout, plan_.mesh))));
    return attributes;
  }

  void AddSources(MeJson& nodes) {
    for (size_t t = 0; t < sources_.size(); ++t) {
      if (sources_[t].empty()) continue;
      const Tensor& tensor = plan_.graph.tensors[t];
      const ModuleName* module = names_.Find(TensorId(t));
      MeJson node = {{"id", sources_[t]},
                     {"label", tensor.name},
                     {"namespace", module != nullptr ? module->scope : ""},
                     {"attrs", MeJson::array()},
                     {"outputsMetadata", MeJson::array()}};
      if (module != nullptr) node["attrs"].push_back(Attribute("role", module->role));
      const NdSbp& layout = plan_.source_layouts[t];
      node["outputsMetadata"].push_back({{"id", "0"}, {"attrs", TensorAttributes(TensorId(t), layout)}});
      nodes.push_back(std::move(node));
      costs_[sources_[t]].bytes = static_cast<double>(LocalBytes(tensor.type, layout, plan_.mesh));
      scopes_[sources_[t]] = module != nullptr ? module->scope : "";
    }
  }

  MeJson OpNode(OpId id) {
    const Op& op = plan_.graph.op(id);
    const DecisionRecord& decision = plan_.decision(id);
    MeCost& cost = costs_[ops_[id.index()]];
    cost.compute += decision.compute_seconds * static_cast<double>(runs_.of(id));
    scopes_[ops_[id.index()]] = plan_.graph.scope_of(op);
    MeJson node = {{"id", ops_[id.index()]},
                   {"label", plan_.graph.type_of(op)},
                   {"namespace", plan_.graph.scope_of(op)},
                   {"attrs", MeJson::array()},
                   {"incomingEdges", MeJson::array()},
                   {"inputsMetadata", MeJson::array()},
                   {"outputsMetadata", MeJson::array()}};
    MeJson& attributes = node["attrs"];
    attributes.push_back(Attribute("name", op.name));
    attributes.push_back(Attribute("signature", ToString(decision.signature)));
    attributes.push_back(Attribute("choice", decision.choice));
    attributes.push_back(Attribute("reason", decision.reason));
    attributes.push_back(Attribute("compute", FormatSeconds(decision.compute_seconds)));
    AddOperands(id, node);
    for (size_t r = 0; r < op.outputs.size(); ++r) {
      if (!op.outputs[r].valid()) continue;
      const NdSbp& layout = plan_.source_layouts[op.outputs[r].index()];
      node["outputsMetadata"].push_back({{"id", StrCat(r)}, {"attrs", TensorAttributes(op.outputs[r], layout)}});
      cost.bytes += static_cast<double>(LocalBytes(plan_.graph.tensor(op.outputs[r]).type, layout, plan_.mesh));
    }
    return node;
  }

  MeJson EdgeFrom(TensorId tensor, size_t operand) const {
    const Tensor& from = plan_.graph.tensor(tensor);
    return {{"sourceNodeId", Source(tensor)},
            {"sourceNodeOutputId", StrCat(from.producer.valid() ? from.producer_index : 0U)},
            {"targetNodeInputId", StrCat(operand)}};
  }

  void AddOperands(OpId id, MeJson& node) {
    const std::vector<TensorId> operands = plan_.graph.OperandsOf(plan_.graph.op(id));
    const Signature& signature = plan_.decision(id).signature;
    for (size_t k = 0; k < operands.size(); ++k) {
      if (!operands[k].valid()) continue;
      node["incomingEdges"].push_back(EdgeFrom(operands[k], k));
      MeJson attributes = MeJson::array();
      attributes.push_back(Attribute("__tensor_tag", plan_.graph.tensor(operands[k]).name));
      if (k < signature.inputs.size()) attributes.push_back(Attribute("layout", ToString(signature.inputs[k])));
      const auto found = feeding_.find({id, static_cast<uint32_t>(k)});
      if (found != feeding_.end()) {
        const Transition& transition = plan_.transitions[found->second];
        attributes.push_back(Attribute("boxing", Text(transition)));
        attributes.push_back(Attribute("because", transition.reason));
      }
      node["inputsMetadata"].push_back({{"id", StrCat(k)}, {"attrs", std::move(attributes)}});
    }
  }

  void AddOutputs(MeJson& nodes) const {
    const std::vector<NdSbp> layouts = OutputLayoutsOf(plan_);
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const TensorId id = plan_.graph.outputs[i];
      MeJson attributes = MeJson::array({Attribute("layout", ToString(layouts[i]))});
      nodes.push_back({{"id", outputs_[i]},
                       {"label", plan_.graph.tensor(id).name},
                       {"namespace", ""},
                       {"attrs", std::move(attributes)},
                       {"incomingEdges", MeJson::array({EdgeFrom(id, 0)})}});
    }
  }

  // "all-gather over model, slice over data: 1.2 ms".
  std::string Text(const Transition& transition) const {
    std::vector<std::string> steps;
    for (const BoxingStep& step : transition.steps) {
      steps.push_back(StrCat(CollectiveKindName(step.kind), " over ", plan_.mesh.axes[step.axis].name));
    }
    return StrCat(Join(steps, ", "), ": ", FormatSeconds(transition.seconds));
  }

  // Nodes that a transition is for: who reads it, or what is made from it; else the output that it ends as.
  std::vector<std::string> Targets(const Transition& transition) const {
    std::vector<std::string> targets;
    std::vector<const Transition*> left = {&transition};
    std::set<const Transition*> seen;
    while (!left.empty()) {
      const Transition* at = left.back();
      left.pop_back();
      if (!seen.insert(at).second) continue;
      for (const Use& use : at->consumers) targets.push_back(ops_[use.op.index()]);
      if (!at->consumers.empty()) continue;
      for (const size_t next : of_tensor_.at(at->tensor)) {
        if (plan_.transitions[next].from == at->to) left.push_back(&plan_.transitions[next]);
      }
    }
    for (size_t i = 0; i < outputs_.size() && targets.empty(); ++i) {
      if (plan_.graph.outputs[i] == transition.tensor) targets.push_back(outputs_[i]);
    }
    return targets;
  }

  // Each kind's edges; and the cost of each transition, which the first node that needs it bears.
  MeJson Overlays() {
    std::map<CollectiveKind, MeJson> edges;
    for (size_t i = 0; i < plan_.transitions.size(); ++i) {
      const Transition& transition = plan_.transitions[i];
      const std::vector<std::string> targets = Targets(transition);
      const std::string& source = Source(transition.tensor);
      MeCost& cost = costs_[targets.empty() ? source : targets.front()];
      cost.collectives += transition.seconds * static_cast<double>(transition_runs_[i]);
      cost.compute += transition.cut_seconds * static_cast<double>(transition_runs_[i]);
      for (const BoxingStep& step : transition.steps) {
        const std::string label = StrCat(FormatBytes(step.tensor_bytes), " over ", plan_.mesh.axes[step.axis].name,
                                         ", ", ToString(step.from), " to ", ToString(step.to));
        MeJson& list = edges.try_emplace(step.kind, MeJson::array()).first->second;
        for (const std::string& target : targets) {
          list.push_back({{"sourceNodeId", source}, {"targetNodeId", target}, {"label", label}});
        }
      }
    }
    MeJson overlays = MeJson::array();
    for (auto& [kind, list] : edges) {
      overlays.push_back({{"name", CollectiveKindName(kind)},
                          {"edgeColor", kEdgeColours[static_cast<size_t>(kind) % kEdgeColours.size()]},
                          {"edgeWidth", 4},
                          {"edges", std::move(list)}});
    }
    return overlays;
  }

  MeJson Groups() const {
    std::map<std::string, MeCost> groups;
    for (const auto& [node, cost] : costs_) {
      const auto scope = scopes_.find(node);
      if (scope == scopes_.end()) continue;
      for (size_t end = scope->second.size(); end > 0 && end != std::string::npos;
           end = scope->second.rfind('/', end - 1)) {
        MeCost& group = groups[scope->second.substr(0, end)];
        group.compute += cost.compute;
        group.collectives += cost.collectives;
      }
    }
    MeJson attributes = MeJson::object();
    attributes[""] = {{"mesh", ToString(plan_.mesh)},
                      {"compute", FormatSeconds(plan_.total.compute_seconds)},
                      {"collectives", FormatSeconds(plan_.total.collective_seconds)},
                      {"peak memory of a device", FormatBytes(static_cast<double>(plan_.memory.peak_bytes))},
                      {"strategy", plan_.options.strategy}};
    for (const auto& [scope, cost] : groups) {
      attributes[scope] = {{"compute", FormatSeconds(cost.compute)}, {"collectives", FormatSeconds(cost.collectives)}};
    }
    return attributes;
  }

  const Plan& plan_;
  std::string id_;
  ModuleNames names_;
  StepRuns runs_;
  std::vector<int64_t> transition_runs_;
  std::map<std::pair<OpId, uint32_t>, size_t> feeding_;  // use -> transition
  std::map<TensorId, std::vector<size_t>> of_tensor_;    // transitions
  std::vector<std::string> ops_, sources_, outputs_;     // node ids; sources_ by tensor, "" for activations
  std::vector<std::string> all_;
  std::set<std::string> taken_;
  std::map<std::string, MeCost> costs_;
  std::map<std::string, std::string> scopes_;
};

void AddData(const std::vector<const MeGraph*>& graphs, PlanExport& made) {
  MeJson compute = MeJson::object(), collectives = MeJson::object(), memory = MeJson::object();
  for (const MeGraph* graph : graphs) {
    compute[graph->id()] =
        graph->Data("compute, us a step", [](const MeCost& cost) { return cost.compute * kMicroseconds; });
    collectives[graph->id()] =
        graph->Data("collectives, us a step", [](const MeCost& cost) { return cost.collectives * kMicroseconds; });
    memory[graph->id()] = graph->Data("bytes on a device", [](const MeCost& cost) { return cost.bytes; });
  }
  made.files.push_back({"compute.json", PrintMe(compute)});
  made.files.push_back({"collectives.json", PrintMe(collectives)});
  made.files.push_back({"memory.json", PrintMe(memory)});
}

// Which nodes belong together, and which ops of both plans are laid out differently.
void AddComparison(const Plan& plan, const Plan& against, const MeGraph& left, const MeGraph& right, PlanExport& made) {
  const std::set<std::string> there(right.all().begin(), right.all().end());
  MeJson entries = MeJson::array();
  for (const std::string& id : left.all()) {
    if (!there.contains(id)) continue;
    entries.push_back({{"leftNodeIds", MeJson::array({id})}, {"rightNodeIds", MeJson::array({id})}});
  }
  made.files.push_back({"sync.json", PrintMe({{"type", "sync_navigation"},
                                              {"mappingEntries", std::move(entries)},
                                              {"showDiffHighlights", true},
                                              {"relatedNodesBorderColor", "#ff00be"}})});
  const NameIndex index(against.graph);
  MeJson lefts = MeJson::object(), rights = MeJson::object();
  for (size_t i = 0; i < plan.graph.ops.size(); ++i) {
    const OpId other = index.op(plan.graph.ops[i].name);
    if (!other.valid() || plan.decision(OpId(i)).signature == against.decision(other).signature) continue;
    lefts[left.OpNodeId(OpId(i))] = {{"value", "other layouts"}, {"bgColor", "#ffd966"}};
    rights[right.OpNodeId(other)] = {{"value", "other layouts"}, {"bgColor", "#ffd966"}};
  }
  made.report.push_back(StrCat(lefts.size(), " ops of both plans are laid out differently: differences.json"));
  made.files.push_back({"differences.json", PrintMe({{left.id(), {{"name", "differences"}, {"results", lefts}}},
                                                     {right.id(), {{"name", "differences"}, {"results", rights}}}})});
}

Result<PlanExport> WriteModelExplorer(const Plan& plan, const ExportOptions& options) {
  PlanExport made;
  const auto add = [&](MeGraph& graph, bool is_right) {
    made.files.push_back({StrCat(graph.id(), ".json"),
                          PrintMe({{"label", graph.id()}, {"graphs", MeJson::array({graph.Graph(is_right)})}})});
  };
  MeGraph left(plan, "plan");
  add(left, false);
  if (options.against == nullptr) {
    AddData({&left}, made);
    return made;
  }
  MeGraph right(*options.against, "against");
  add(right, true);
  AddData({&left, &right}, made);
  AddComparison(plan, *options.against, left, right, made);
  return made;
}

}  // namespace

ExporterRow ModelExplorerExporter() {
  return {.name = "model-explorer",
          .doc = "a graph for Model Explorer with collectives, and node data of time and memory",
          .extension = "",
          .compares = true,
          .write_plan = WriteModelExplorer};
}

}  // namespace sbp
