// autoparallel: the placements of PyTorch's AutoParallel, by the nodes of the graph that it traced.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "export/exporter.h"
#include "export/plan_table.h"
#include "graph/graph.h"
#include "graph/producers.h"
#include "graph/tensor_type.h"
#include "io/file.h"
#include "memory/memory.h"
#include "plan/plan.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"
#include "sbp/signature.h"
#include "torch/reader.h"

namespace sbp {
namespace {

using Json = nlohmann::ordered_json;

// "S(0)R": a letter per mesh axis, as torch prints placements.
std::string Placement(const NdSbp& layout) {
  std::string text;
  for (const Sbp sbp : layout) {
    text += sbp.is_broadcast() ? "R" : sbp == Sbp::Partial(ReduceKind::kProd) ? "P(product)" : ToString(sbp);
  }
  return text;
}

std::string Joined(const std::vector<std::string>& names, std::string_view separator = ", ") {
  constexpr size_t kShown = 5;
  const std::vector<std::string> shown(names.begin(),
                                       names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kShown)));
  return StrCat(Join(shown, separator), names.size() > kShown ? StrCat(separator, "...") : "");
}

class PlacementWriter {
 public:
  explicit PlacementWriter(const Plan& plan) : plan_(plan), whole_(plan.graph.ops.size()) {
    for (size_t i = 0; i < plan.graph.tensors.size(); ++i) tensors_.emplace(plan.graph.tensors[i].name, TensorId(i));
    for (size_t i = 0; i < plan.graph.ops.size(); ++i) {
      const std::string_view node = NodeOf(plan, plan.graph.ops[i]);
      if (!node.empty()) ops_[node].push_back(OpId(i));
      FindWhole(OpId(i));
    }
  }

  void Add(const TorchNode& node) {
    const std::optional<Json> entry = node.kind == TorchNode::Kind::kInput  ? OfInput(node)
                                      : node.kind == TorchNode::Kind::kItem ? OfItem(node)
                                                                            : OfCall(node);
    if (entry) placements_[node.name] = *entry;
  }

  const Json& placements() const { return placements_; }
  // What AutoParallel has no strategy for, with the price of what is written in its place.
  const std::vector<std::string>& refused() const { return refused_; }

  std::vector<std::string> Notes() const {
    std::vector<std::string> notes;
    for (const auto& [reason, names] : left_out_) {
      notes.push_back(StrCat(names.size(), names.size() == 1 ? " node is" : " nodes are", " left out, ", reason, ": ",
                             Joined(names)));
    }
    return notes;
  }

 private:
  // The axes on which the op takes a partial value, or a split that does not divide: it is written as whole there.
  void FindWhole(OpId id) {
    const Op& op = plan_.graph.op(id);
    const Signature& signature = plan_.decision(id).signature;
    std::vector<bool>& whole = whole_[id.index()];
    whole.assign(static_cast<size_t>(plan_.mesh.num_axes()), false);
    const auto find = [&](TensorId tensor, const NdSbp& layout, bool is_read) {
      if (!tensor.valid() || plan_.graph.tensor(tensor).type.kind != ValueKind::kTensor) return;
      const std::vector<bool> uneven = UnevenAxes(plan_.graph.tensor(tensor).type, layout);
      for (int a = 0; a < layout.size(); ++a) {
        const auto at = static_cast<size_t>(a);
        whole[at] = whole[at] || uneven[at] || (is_read && layout[a].is_partial());
      }
    };
    for (size_t k = 0; k < op.inputs.size(); ++k) find(op.inputs[k], signature.inputs[k], true);
    for (size_t k = 0; k < op.outputs.size(); ++k) find(op.outputs[k], signature.outputs[k], false);
  }

  std::vector<bool> UnevenAxes(const TensorType& type, const NdSbp& layout) const {
    std::vector<bool> uneven(static_cast<size_t>(layout.size()));
    if (!type.is_static()) return uneven;
    Shape shape = type.shape;
    for (int a = 0; a < layout.size(); ++a) {
      if (!layout[a].is_split()) continue;
      int64_t& size = shape[static_cast<size_t>(layout[a].dim())];
      uneven[static_cast<size_t>(a)] = size % plan_.mesh.size(a) != 0;
      size = (size + plan_.mesh.size(a) - 1) / plan_.mesh.size(a);
    }
    return uneven;
  }

  // How an op takes or leaves a tensor, B on the axes on which it is written as whole.
  NdSbp Written(OpId op, NdSbp layout) const {
    for (int a = 0; a < layout.size(); ++a) {
      if (whole_[op.index()][static_cast<size_t>(a)]) layout[a] = Sbp::Broadcast();
    }
    return layout;
  }

  // How a tensor lies behind what makes it.
  NdSbp Left(TensorId id) {
    const Tensor& tensor = plan_.graph.tensor(id);
    const NdSbp& layout = plan_.source_layouts[id.index()];
    if (tensor.producer.valid()) return Written(tensor.producer, layout);
    NdSbp start = layout;
    const std::vector<bool> uneven = UnevenAxes(tensor.type, layout);
    for (int a = 0; a < layout.size(); ++a) {
      if (layout[a].is_partial() || uneven[static_cast<size_t>(a)]) start[a] = Sbp::Broadcast();
    }
    if (start != layout && started_.insert(id).second) {
      const int64_t more = LocalBytes(tensor.type, start, plan_.mesh) - LocalBytes(tensor.type, layout, plan_.mesh);
      refused_.push_back(StrCat(Quote(tensor.name), " starts as ", ToString(layout), ", written as ", Placement(start),
                                ": ", FormatBytes(static_cast<double>(more)), " more on a device"));
    }
    return start;
  }

  std::optional<TensorId> Find(const std::string& name) const {
    const auto alias = aliases_.find(name);
    const auto found = tensors_.find(alias == aliases_.end() ? name : alias->second);
    return name.empty() || found == tensors_.end() ? std::nullopt : std::optional(found->second);
  }

  // A call that the plan's graph has not since it copies nothing, or since its result is known: what it takes and
  // makes.
  std::optional<Json> OfGone(const TorchNode& node) {
    if (node.outputs.size() != 1 || node.outputs[0].empty()) return std::nullopt;
    const bool is_alias =
        node.target.find("aten.alias.") != std::string::npos || node.target.find("aten.detach.") != std::string::npos;
    const std::optional<TensorId> source = node.inputs.size() == 1 ? Find(node.inputs[0]) : std::nullopt;
    if (is_alias && source) {
      aliases_[node.outputs[0]] = plan_.graph.tensor(*source).name;
      const std::string text = Placement(Left(*source));
      return Json{{"output", text}, {"inputs", {text}}};
    }
    const bool is_like = source && node.target.find("_like.") != std::string::npos;
    const bool is_known =
        std::ranges::all_of(node.inputs, [&](const std::string& name) { return known_.contains(name); });
    if (!is_like && !is_known) return std::nullopt;
    NdSbp layout(plan_.mesh.num_axes());
    if (is_like) layout = WithoutPartial(Left(*source));
    known_.emplace(node.outputs[0], layout);
    Json inputs = Json::array();
    for (const std::string& name : node.inputs) inputs.push_back(Placement(is_like ? layout : known_.at(name)));
    return Json{{"output", Placement(layout)}, {"inputs", std::move(inputs)}};
  }

  static NdSbp WithoutPartial(NdSbp layout) {
    for (int a = 0; a < layout.size(); ++a) layout[a] = layout[a].is_partial() ? Sbp::Broadcast() : layout[a];
    return layout;
  }

  void LeaveOut(const TorchNode& node, const std::string& reason) { left_out_[reason].push_back(node.name); }

  std::optional<Json> OfInput(const TorchNode& node) {
    const std::optional<TensorId> tensor = Find(node.outputs.front());
    if (!tensor) {
      LeaveOut(node, "inputs and parameters that the plan does not read");
      return std::nullopt;
    }
    const std::string text = Placement(Left(*tensor));
    return Json{{"output", text}, {"inputs", {text}}};
  }

  std::optional<Json> OfItem(const TorchNode& node) {
    const std::optional<std::vector<NdSbp>> all = Results(node.inputs);
    const std::optional<TensorId> item = Find(node.outputs.front());
    if (!all || !item) return std::nullopt;  // its call is left out, or nobody reads this result
    Json inputs = Json::array();
    for (const NdSbp& layout : *all) inputs.push_back(Placement(layout));
    return Json{{"output", Placement(Left(*item))}, {"inputs", std::move(inputs)}};
  }

  // nothing: one of them is not in the plan.
  std::optional<std::vector<NdSbp>> Results(const std::vector<std::string>& names) {
    std::vector<NdSbp> layouts;
    for (const std::string& name : names) {
      const std::optional<TensorId> tensor = Find(name);
      if (!tensor) return std::nullopt;
      layouts.push_back(Left(*tensor));
    }
    return layouts;
  }

  std::optional<Json> OfCall(const TorchNode& node) {
    const auto found = ops_.find(std::string_view(node.name));
    const std::vector<OpId> ops = found == ops_.end() ? std::vector<OpId>() : found->second;
    const std::optional<std::vector<NdSbp>> results = Results(node.outputs);
    if (!results) {
      if (std::optional<Json> entry = ops.empty() ? OfGone(node) : std::nullopt) return entry;
      LeaveOut(node, ops.empty() ? "which the plan's graph has in other words, or not at all (--no-simplify keeps more)"
                                 : "of which the plan lays out a part of the results");
      return std::nullopt;
    }
    if (MovesInside(ops)) {
      LeaveOut(node, "inside of which the plan moves a tensor, which no strategy of one op does");
      return std::nullopt;
    }
    Json inputs = Json::array();
    for (const std::string& name : node.inputs) {
      const std::optional<NdSbp> taken = Taken(node, ops, name);
      if (!taken) return std::nullopt;
      inputs.push_back(Placement(*taken));
    }
    for (const OpId op : ops) NoteOp(op);
    std::vector<std::string> outputs;
    for (const NdSbp& layout : *results) outputs.push_back(Placement(layout));
    const std::string output = outputs.size() == 1 ? outputs.front() : StrCat("(", Join(outputs, ", "), ")");
    return Json{{"output", output}, {"inputs", std::move(inputs)}};
  }

  // Does one of a node's ops read what another made in another layout?
  bool MovesInside(const std::vector<OpId>& ops) const {
    return std::ranges::any_of(ops, [&](OpId id) {
      const Op& op = plan_.graph.op(id);
      for (size_t k = 0; k < op.inputs.size(); ++k) {
        if (!op.inputs[k].valid()) continue;
        const OpId producer = plan_.graph.tensor(op.inputs[k]).producer;
        if (!producer.valid() || !std::ranges::binary_search(ops, producer)) continue;
        if (plan_.decision(id).signature.inputs[k] != plan_.source_layouts[op.inputs[k].index()]) return true;
      }
      return false;
    });
  }

  // How the node's ops read a tensor; one that they know the values of, as it lies.
  std::optional<NdSbp> Taken(const TorchNode& node, const std::vector<OpId>& ops, const std::string& name) {
    if (const auto known = known_.find(name); known != known_.end()) return known->second;
    const std::optional<TensorId> tensor = Find(name);
    if (!tensor) {
      LeaveOut(node, "whose operand the plan's graph has in other words");
      return std::nullopt;
    }
    std::set<NdSbp> layouts;
    for (const OpId id : ops) {
      const Op& op = plan_.graph.op(id);
      for (size_t k = 0; k < op.inputs.size(); ++k) {
        if (op.inputs[k] == *tensor) layouts.insert(Written(id, plan_.decision(id).signature.inputs[k]));
      }
    }
    if (layouts.size() > 1) {
      LeaveOut(node, "whose parts take one operand in several layouts");
      return std::nullopt;
    }
    if (!layouts.empty()) return *layouts.begin();
    return WithoutPartial(Left(*tensor));
  }

  // What it takes that AutoParallel does not offer, and what that costs.
  void NoteOp(OpId id) {
    const Op& op = plan_.graph.op(id);
    const Signature& signature = plan_.decision(id).signature;
    std::set<TensorId> seen;
    // Of results only what is split: that partial ones are reduced, the operands that they come from say.
    const auto note = [&](TensorId tensor, const NdSbp& layout, std::string_view how, bool is_result) {
      if (!tensor.valid() || !seen.insert(tensor).second) return;
      const NdSbp written = Written(id, layout);
      bool reduced = false, gathered = false;
      for (int a = 0; a < layout.size(); ++a) {
        if (written[a] != layout[a]) (layout[a].is_partial() ? reduced : gathered) = true;
      }
      if (!gathered && (is_result || !reduced)) return;
      const TensorType& type = plan_.graph.tensor(tensor).type;
      const std::string price =
          reduced && !is_result
              ? StrCat("an all-reduce of ", FormatBytes(static_cast<double>(LocalBytes(type, layout, plan_.mesh))),
                       " on each device")
              : StrCat(FormatBytes(static_cast<double>(LocalBytes(type, written, plan_.mesh) -
                                                       LocalBytes(type, layout, plan_.mesh))),
                       " more on each device");
      refused_.push_back(StrCat(plan_.graph.type_of(op), " ", Quote(op.name), " ", how, " ",
                                Quote(plan_.graph.tensor(tensor).name), " as ", ToString(layout), ", written as ",
                                Placement(written), ": ", price));
    };
    for (size_t k = 0; k < op.inputs.size(); ++k) note(op.inputs[k], signature.inputs[k], "takes", false);
    for (size_t k = 0; k < op.outputs.size(); ++k) note(op.outputs[k], signature.outputs[k], "leaves", true);
  }

  const Plan& plan_;
  std::map<std::string_view, TensorId> tensors_;
  std::map<std::string_view, std::vector<OpId>> ops_;  // of the plan, by node
  std::vector<std::vector<bool>> whole_;               // per op and axis
  std::map<std::string, std::string> aliases_;         // tensors of the model that are others of the plan
  std::map<std::string, NdSbp> known_;                 // those that the plan knows the values of, and has not
  Json placements_ = Json::object();
  std::vector<std::string> refused_;
  std::map<std::string, std::vector<std::string>> left_out_;  // reason -> nodes
  std::set<TensorId> started_;
};

Result<std::vector<TorchNode>> NodesOf(const Plan& plan) {
  if (!IsProducedBy(plan.graph, kTorchProducer)) {
    return BadInput(StrCat("the plan is of ", plan.model_path.empty() ? "no model file" : plan.model_path,
                           ", and AutoParallel's placements are by nodes of what torch.export.save wrote (.pt2)"));
  }
  if (plan.model_path.empty() || plan.model_path == "-")
    return BadInput("the plan is of no model file, whose nodes AutoParallel's placements are by");
  SBP_ASSIGN_OR_RETURN(const std::string model, ReadFile(plan.model_path));
  if (Fingerprint(model) != plan.model_fingerprint)
    return BadInput(StrCat(plan.model_path, " has changed since the plan was made of it"));
  return ReadTorchNodes(model, plan.model_path);
}

Result<PlanExport> WritePlacements(const Plan& plan, const ExportOptions& options) {
  SBP_ASSIGN_OR_RETURN(const std::vector<TorchNode> nodes, NodesOf(plan));
  PlacementWriter writer(plan);
  for (const TorchNode& node : nodes) writer.Add(node);
  if (writer.placements().empty()) return BadInput("no node of the model stands in the plan");
  if (!writer.refused().empty() && !options.lossy) {
    return BadInput(StrCat("AutoParallel offers no partial operands and no uneven parts, and the plan has ",
                           writer.refused().size(),
                           " of them (--lossy writes them whole over the axis): ", Joined(writer.refused(), "; ")));
  }
  PlanExport made;
  made.report = writer.Notes();
  made.report.insert(made.report.end(), writer.refused().begin(), writer.refused().end());
  Json names = Json::array(), sizes = Json::array();
  for (const MeshAxis& axis : plan.mesh.axes) {
    names.push_back(axis.name);
    sizes.push_back(axis.size);
  }
  // A line a node, so that files can be read and compared.
  std::string text = StrCat("{\"version\": 1, \"mesh_shape\": ", sizes.dump(),
                            ", \"mesh_dim_names\": ", names.dump(-1, ' ', false, Json::error_handler_t::replace),
                            ",\n\"placements\": {");
  bool first = true;
  for (const auto& [node, entry] : writer.placements().items()) {
    text += StrCat(first ? "\n " : ",\n ", Json(node).dump(-1, ' ', false, Json::error_handler_t::replace), ": ",
                   entry.dump());
    first = false;
  }
  made.files.push_back({"placements.json", text + "\n}}\n"});
  return made;
}

}  // namespace

ExporterRow AutoparallelExporter() {
  return {.name = "autoparallel",
          .doc = "the plan of a .pt2 model as placements of AutoParallel, by nodes of torch.fx",
          .extension = "json",
          .write_plan = WritePlacements};
}

}  // namespace sbp
