#include "annotation/specs_of_plan.h"

#include <algorithm>
#include <set>
#include <utility>

#include "annotation/check_specs.h"
#include "annotation/layout_pins.h"
#include "annotation/placement.h"
#include "base/dtype.h"
#include "base/ids.h"
#include "base/text.h"
#include "check/findings.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"
#include "sbp/signature.h"

namespace sbp {
std::vector<NdSbp> LaidOut(const Plan& plan) {
  std::vector<NdSbp> layouts = plan.source_layouts;
  std::vector<bool> done(layouts.size(), false);
  for (const Transition& transition : plan.transitions) {
    const size_t t = transition.tensor.index();
    if (done[t] || transition.to.has_partial() || !plan.source_layouts[t].has_partial()) continue;
    done[t] = true;
    for (int a = 0; a < layouts[t].size(); ++a) {
      if (layouts[t][a].is_partial()) layouts[t][a] = transition.to[a];
    }
    if (ValidateLayout(plan.graph.tensor(transition.tensor).type.shape, layouts[t], plan.mesh).ok()) continue;
    layouts[t] = plan.source_layouts[t];  // splits that do not nest: whole, and split by the next reader
    done[t] = false;
  }
  for (NdSbp& layout : layouts) {
    for (int a = 0; a < layout.size(); ++a) layout[a] = layout[a].is_partial() ? Sbp::Broadcast() : layout[a];
  }
  return layouts;
}

namespace {

class SpecWriter {
 public:
  SpecWriter(const Plan& plan, bool lossy)
      : plan_(plan), finder_(plan.graph), laid_out_(LaidOut(plan)), lossy_(lossy) {}

  void Add(const NodeAnnotation& node, std::map<int64_t, NodeAddition>& additions) {
    const std::vector<OpId> ops = finder_.OpsOf(node);
    if (ops.empty()) {
      ++gone_;
      return;
    }
    NodeAddition addition;
    std::set<std::string> seen;
    for (const std::vector<std::string>* names : {&node.inputs, &node.outputs}) {
      for (const std::string& name : *names) {
        if (!name.empty() && seen.insert(name).second) AddSpec(ops, name, addition);
      }
    }
    const DecisionRecord& decision = plan_.decision(ops.front());
    if (ops.size() == 1) {
      addition.metadata.emplace_back(StrCat(kMetadataPrefix, "nd_sbp"), ToString(decision.signature));
      if (!decision.reason.empty()) addition.metadata.emplace_back(StrCat(kMetadataPrefix, "reason"), decision.reason);
    }
    additions.emplace(node.number, std::move(addition));
  }

  Status Partial() const {
    if (partial_.empty() || lossy_) return OkStatus();
    constexpr size_t kShown = 3;
    const std::vector<std::string> shown(
        partial_.begin(), partial_.begin() + static_cast<std::ptrdiff_t>(std::min(partial_.size(), kShown)));
    return BadInput(StrCat("ONNX has no partial values, and ops of the plan take ", partial_.size(),
                           " of them: ", Join(shown, "; "), partial_.size() > kShown ? "; ..." : "",
                           "; --lossy writes these ops as whole on the axes of the sum"));
  }

  std::vector<std::string> Notes() const {
    std::vector<std::string> notes;
    if (gone_ > 0) {
      notes.push_back(StrCat(Counted(gone_, "node"), " that the plan's graph folded or rewrote not annotated"));
    }
    if (ambiguous_ > 0) {
      notes.push_back(
          StrCat(Counted(ambiguous_, "use"), " of a tensor that a node takes in two layouts not annotated"));
    }
    if (!partial_.empty()) {
      notes.push_back(
          StrCat(Counted(static_cast<int64_t>(partial_.size()), "use"),
                 " of partial values reduced at the producer, the ops whole on those axes: ", partial_.front(),
                 partial_.size() > 1 ? ", ..." : "", "; `sbp-plan check` of the file prices it"));
    }
    NoteStarts(notes);
    NoteEnds(notes);
    return notes;
  }

 private:
  void AddSpec(const std::vector<OpId>& ops, const std::string& name, NodeAddition& addition) {
    std::set<NdSbp> layouts;
    TensorId tensor;
    for (const OpId id : ops) {
      const Op& op = plan_.graph.op(id);
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        if (!finder_.IsCalled(op.inputs[i], name)) continue;
        tensor = op.inputs[i];
        const NdSbp& taken = plan_.decision(id).signature.inputs[i];
        if (taken.has_partial()) partial_.push_back(PartialUse(name, tensor, id, taken));
        first_use_.emplace(tensor, *layouts.insert(WholeWherePartial(id, taken)).first);
      }
      for (const TensorId output : op.outputs) {
        if (!finder_.IsCalled(output, name)) continue;
        tensor = output;
        layouts.insert(WholeWherePartial(id, laid_out_[output.index()]));
      }
    }
    if (layouts.size() > 1) ++ambiguous_;
    if (layouts.size() != 1) return;
    Shape shape = plan_.graph.tensor(tensor).type.shape;
    const auto& part = plan_.graph.tensor(tensor).part;
    if (part != nullptr) shape = part->type.shape;
    addition.specs.push_back(SpecOf(name, shape, *layouts.begin(), plan_.mesh));
  }

  // With what the nearest form sends: the value is reduced where it is made.
  std::string PartialUse(const std::string& name, TensorId tensor, OpId reader, const NdSbp& taken) const {
    const TensorType& type = plan_.graph.tensor(tensor).type;
    double bytes = static_cast<double>(DTypeBits(type.dtype)) / 8;
    for (const int64_t size : LocalShape(type.shape, taken, plan_.mesh)) bytes *= static_cast<double>(size);
    return StrCat(Quote(name), " by ", PlaceOf(plan_.graph, reader), " (whole: an all-reduce of ", FormatBytes(bytes),
                  " on each device)");
  }

  // B on the mesh axes on which the op takes a partial value.
  NdSbp WholeWherePartial(OpId op, NdSbp layout) const {
    for (const NdSbp& taken : plan_.decision(op).signature.inputs) {
      for (int a = 0; a < layout.size(); ++a) {
        if (taken[a].is_partial()) layout[a] = Sbp::Broadcast();
      }
    }
    return layout;
  }

  void NoteStarts(std::vector<std::string>& notes) const {
    int64_t count = 0;
    std::string first;
    for (const auto& [tensor, use] : first_use_) {
      if (plan_.graph.tensor(tensor).producer.valid() || plan_.source_layouts[tensor.index()] == use) continue;
      if (count++ > 0) continue;
      first = StrCat(Quote(plan_.graph.tensor(tensor).name), " ", ToString(plan_.source_layouts[tensor.index()]),
                     ", first read ", ToString(use));
    }
    if (count > 0) {
      notes.push_back(StrCat("where ", Counted(count, "input"),
                             " and parameters start cannot be said, only how they are first read: ", first,
                             count > 1 ? ", ..." : ""));
    }
  }

  void NoteEnds(std::vector<std::string>& notes) const {
    for (size_t i = 0; i < plan_.graph.outputs.size() && i < plan_.output_layouts.size(); ++i) {
      const TensorId output = plan_.graph.outputs[i];
      if (plan_.output_layouts[i] == laid_out_[output.index()]) continue;
      notes.push_back(StrCat("output ", Quote(plan_.graph.tensor(output).name), " ends ",
                             ToString(plan_.output_layouts[i]), " in the plan, and is annotated as ",
                             ToString(laid_out_[output.index()])));
    }
  }

  const Plan& plan_;
  NodeFinder finder_;
  std::vector<NdSbp> laid_out_;
  std::map<TensorId, NdSbp> first_use_;
  std::vector<std::string> partial_;
  bool lossy_;
  int64_t gone_ = 0, ambiguous_ = 0;
};

}  // namespace

Result<PlanSpecs> SpecsOf(const Plan& plan, const std::vector<NodeAnnotation>& nodes, bool lossy) {
  PlanSpecs specs;
  specs.configuration.name = ToString(plan.mesh);
  specs.configuration.num_devices = plan.mesh.num_devices();
  for (int64_t position = 0; position < plan.mesh.num_devices(); ++position) {
    specs.configuration.devices.push_back(DeviceName(plan.mesh, position));
  }
  SpecWriter writer(plan, lossy);
  for (const NodeAnnotation& node : nodes) writer.Add(node, specs.additions);
  SBP_RETURN_IF_ERROR(writer.Partial());
  specs.notes = writer.Notes();
  return specs;
}

}  // namespace sbp
