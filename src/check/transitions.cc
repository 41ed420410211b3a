#include "check/transitions.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/text.h"
#include "boxing/boxing.h"
#include "cluster/cluster.h"
#include "cost/collective.h"
#include "cost/cost.h"
#include "graph/graph.h"
#include "graph/sections.h"
#include "graph/tensor_type.h"
#include "plan/ends.h"
#include "plan/pins.h"
#include "plan/plan.h"
#include "plan/transition_runs.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"
#include "sbp/signature.h"

namespace sbp {
namespace {

class TransitionChecker {
 public:
  TransitionChecker(const Plan& plan, Findings& findings)
      : plan_(plan), graph_(plan.graph), findings_(findings), runs_(RunsOfTransitions(plan, StepRuns(plan.graph))) {
    for (int axis = 0; axis < plan.mesh.num_axes(); ++axis) {
      groups_.push_back(AxisGroupShape(plan.cluster, plan.mesh, axis));
    }
  }

  BoxingTotals Run() {
    for (uint32_t i = 0; i < plan_.transitions.size(); ++i) CheckTransition(i);
    CheckUses();
    CheckEnds();
    for (uint32_t i = 0; i < plan_.transitions.size(); ++i) {
      const Transition& transition = plan_.transitions[i];
      if (transition.consumers.empty() && !needed_[i]) {
        findings_.Add(Place(transition), "nobody needs it", "a reader, a later transition, a tie or an output", "none");
      }
    }
    return totals_;
  }

 private:
  std::string Place(const Transition& t) const {
    return StrCat("boxing of ", Quote(graph_.tensor(t.tensor).name), " ", ToString(t.from), " -> ", ToString(t.to));
  }

  // The transition that made this layout of the tensor, -1: it is as written, -2: it does not exist (yet).
  int32_t Maker(TensorId tensor, const NdSbp& layout) const {
    if (plan_.source_layouts[tensor.index()] == layout) return -1;
    const auto made = made_.find(tensor);
    if (made == made_.end()) return -2;
    for (uint32_t i : made->second) {
      if (plan_.transitions[i].to == layout) return static_cast<int32_t>(i);
    }
    return -2;
  }

  void CheckTransition(uint32_t index) {
    const Transition& transition = plan_.transitions[index];
    needed_.resize(plan_.transitions.size(), false);
    const int32_t maker = Maker(transition.tensor, transition.from);
    if (maker == -2) {
      findings_.Add(Place(transition), "starts from a layout that the tensor does not have by then",
                    ToString(plan_.source_layouts[transition.tensor.index()]), ToString(transition.from));
    } else if (maker >= 0) {
      needed_[maker] = true;
    }
    // A tensor that a pin lets lie otherwise than it is written may be brought back from there for a reader.
    const int32_t known = Maker(transition.tensor, transition.to);
    if (known >= 0 || (known == -1 && maker < 0)) {
      findings_.Add(Place(transition), "makes a layout that exists already", "one transition a layout",
                    ToString(transition.to));
    }
    made_[transition.tensor].push_back(index);
    CheckSteps(transition);
    for (const Use& use : transition.consumers) {
      if (!fed_.try_emplace(UseKey(use.op, use.operand), index).second) {
        findings_.Add(Place(transition), "feeds an operand that another transition feeds", "one",
                      StrCat(PlaceOf(graph_, use.op), ", operand ", use.operand));
      }
      const std::vector<TensorId> operands = graph_.OperandsOf(graph_.op(use.op));
      if (use.operand >= operands.size() || operands[use.operand] != transition.tensor) {
        findings_.Add(Place(transition), "has a reader that does not read the tensor", "an op that reads it",
                      StrCat(PlaceOf(graph_, use.op), ", operand ", use.operand));
      }
    }
  }

  void CheckSteps(const Transition& transition) {
    const NdSbp* at = &transition.from;
    double seconds = 0, bytes = 0;
    if (transition.steps.empty()) findings_.Add(Place(transition), "has no steps", "at least one", "none");
    for (const BoxingStep& step : transition.steps) {
      if (!(step.from == *at)) {
        findings_.Add(Place(transition), "steps are not connected", ToString(*at), ToString(step.from));
      }
      CheckStep(transition, step);
      at = &step.to;
      seconds += step.seconds;
      bytes += step.wire_bytes;
    }
    if (!(*at == transition.to))
      findings_.Add(Place(transition), "steps end elsewhere", ToString(transition.to), ToString(*at));
    Figure(transition, "seconds", seconds, transition.seconds);
    Figure(transition, "bytes moved", bytes, transition.wire_bytes);
    const auto runs = static_cast<double>(runs_[&transition - plan_.transitions.data()]);
    totals_.seconds += runs * seconds;
    totals_.bytes_moved += runs * bytes;
  }

  void Figure(const Transition& transition, std::string_view what, double expected, double found) {
    if (SameFigure(expected, found)) return;
    findings_.Add(Place(transition), std::string(what), FormatDouble(expected), FormatDouble(found));
  }

  void CheckStep(const Transition& transition, const BoxingStep& step) {
    bool elsewhere = false;
    for (int axis = 0; axis < plan_.mesh.num_axes(); ++axis)
      elsewhere |= axis != step.axis && !(step.from[axis] == step.to[axis]);
    const CollectiveRow& row = RowOf(step.kind);
    if (elsewhere || !row.legal(step.from, step.to, step.axis)) {
      findings_.Add(Place(transition), "step is not what its collective does", std::string(row.doc),
                    StrCat(row.name(), " over ", plan_.mesh.axes[step.axis].name, ": ", ToString(step.from), " -> ",
                           ToString(step.to)));
      return;
    }
    // A group of the axis holds what the splits of the other axes leave. All groups together hold the tensor once for
    // each copy that the other axes keep.
    const TensorType& type = graph_.tensor(transition.tensor).type;
    const int64_t ranks = plan_.mesh.size(step.axis);
    NdSbp group_layout = step.from;
    group_layout[step.axis] = Sbp::Broadcast();
    const double group_bytes = Bits(type, LocalShape(type.shape, group_layout, plan_.mesh));
    double all_groups = Bits(type, type.shape);
    for (int axis = 0; axis < plan_.mesh.num_axes(); ++axis) {
      if (axis != step.axis && !step.from[axis].is_split()) all_groups *= static_cast<double>(plan_.mesh.size(axis));
    }
    Figure(transition, "bytes of the tensor on a group", group_bytes, step.tensor_bytes);
    Figure(transition, "bytes moved by a step", WireBytes(step.kind, ranks, all_groups) * static_cast<double>(ranks),
           step.wire_bytes);
    Figure(transition, "seconds of a step",
           CollectiveSeconds(plan_.cluster, step.kind, ranks, groups_[step.axis], group_bytes,
                             RunBytes(type, step.from, step.to, plan_.mesh, step.axis))
               .seconds,
           step.seconds);
  }

  // Bytes, fractions of one kept: packed types are priced by their bits.
  static double Bits(const TensorType& type, const Shape& shape) {
    double bytes = DTypeBits(type.dtype) / 8.0;
    for (int64_t size : shape) bytes *= static_cast<double>(size);
    return bytes;
  }

  void CheckUses() {
    for (size_t o = 0; o < graph_.ops.size(); ++o) {
      const Signature& signature = plan_.decision(OpId(o)).signature;
      const std::vector<TensorId> operands = graph_.OperandsOf(graph_.ops[o]);
      for (uint32_t i = 0; i < operands.size(); ++i) {
        if (!operands[i].valid()) continue;
        const auto fed = fed_.find(UseKey(OpId(o), i));
        const bool boxed = fed != fed_.end() && plan_.transitions[fed->second].tensor == operands[i];
        const NdSbp& has = boxed ? plan_.transitions[fed->second].to : plan_.source_layouts[operands[i].index()];
        if (has == signature.inputs[i]) continue;
        findings_.Add(StrCat(PlaceOf(graph_, OpId(o)), ", operand ", i), "does not get the layout it needs",
                      ToString(signature.inputs[i]), ToString(has));
      }
    }
  }

  // Ties and outputs end in layouts that are there. (Which ones outputs may have: check/pins.h.)
  void CheckEnds() {
    for (const Tie& tie : graph_.ties) {
      const NdSbp& wanted = plan_.source_layouts[tie.input.index()];
      if (Ends(tie.output, wanted)) continue;
      findings_.Add(PlaceOf(graph_, tie.output),
                    StrCat("tie to ", Quote(graph_.tensor(tie.input).name), " is not held"), ToString(wanted),
                    ToString(plan_.source_layouts[tie.output.index()]));
    }
    const std::vector<NdSbp> layouts = OutputLayoutsOf(plan_);
    for (size_t i = 0; i < layouts.size(); ++i) {
      if (Ends(graph_.outputs[i], layouts[i])) continue;
      findings_.Add(PlaceOf(graph_, graph_.outputs[i]), "an output ends in a layout that it does not have",
                    ToString(plan_.source_layouts[graph_.outputs[i].index()]), ToString(layouts[i]));
    }
  }

  bool Ends(TensorId tensor, const NdSbp& layout) {
    const int32_t maker = Maker(tensor, layout);
    if (maker >= 0) needed_[maker] = true;
    return maker != -2;
  }

  const Plan& plan_;
  const Graph& graph_;
  Findings& findings_;
  std::vector<GroupShape> groups_;
  std::unordered_map<TensorId, std::vector<uint32_t>> made_;  // per tensor: its transitions so far
  std::unordered_map<uint64_t, uint32_t> fed_;                // use -> transition
  std::vector<bool> needed_;                                  // by a later transition, a tie or an output
  BoxingTotals totals_;
  std::vector<int64_t> runs_;  // per transition, in a step
};

}  // namespace

BoxingTotals CheckTransitions(const Plan& plan, Findings& findings) { return TransitionChecker(plan, findings).Run(); }

}  // namespace sbp
