#include "api/annotations.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "annotation/check_specs.h"
#include "annotation/layout_pins.h"
#include "annotation/placement.h"
#include "api/annotation_pins.h"
#include "api/model.h"
#include "base/ids.h"
#include "base/text.h"
#include "check/findings.h"
#include "fold/resolve.h"
#include "fold/resolve_options.h"
#include "graph/graph.h"
#include "io/pins.h"
#include "onnx/annotations.h"
#include "pipeline/request.h"
#include "problem/problem.h"
#include "rule/candidates.h"
#include "rule/factor_map.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"
#include "sbp/signature.h"

namespace sbp {
namespace {

// Holds each annotated op against its rule.
class LegalityOfSpecs {
 public:
  LegalityOfSpecs(const Problem& problem, const Mesh& mesh, Findings& findings)
      : problem_(problem), mesh_(mesh), finder_(*problem.graph), findings_(findings) {}

  // What all specs of one node say. False: the graph has no op for it.
  bool Check(const NodeAnnotation& node, const std::map<std::string, NdSbp>& layouts) {
    const std::vector<OpId> ops = finder_.OpsOf(node);
    if (ops.size() != 1) return false;
    const Op& op = problem_.graph->op(ops.front());
    LayoutFilter filter;
    for (const TensorId input : problem_.operands(ops.front())) filter.inputs.push_back(Find(layouts, input));
    std::vector<std::optional<NdSbp>> written;
    for (const TensorId output : op.outputs) written.push_back(Find(layouts, output));
    CheckOp(node, ops.front(), filter, written);
    return true;
  }

 private:
  std::optional<NdSbp> Find(const std::map<std::string, NdSbp>& layouts, TensorId tensor) const {
    if (!tensor.valid()) return std::nullopt;
    const auto found = layouts.find(problem_.graph->tensor(tensor).name);
    return found == layouts.end() ? std::nullopt : std::optional(found->second);
  }

  void CheckOp(const NodeAnnotation& node, OpId id, const LayoutFilter& filter,
               const std::vector<std::optional<NdSbp>>& written) {
    const RuleInstanceRef& instance = problem_.candidates(id).instance;
    const CandidateList list = MakeCandidates(instance, mesh_, {}, &filter);
    if (list.candidates.empty()) {
      findings_.Add(PlaceOf(node),
                    StrCat("the rule of ", problem_.graph->type_of(problem_.graph->op(id)),
                           " has no candidate that reads its operands so"),
                    Nearest(id, filter, written), Describe(id, filter.inputs, {}));
      return;
    }
    const bool legal = std::ranges::any_of(list.candidates, [&](const Candidate& candidate) {
      for (size_t i = 0; i < written.size(); ++i) {
        if (written[i] && !IsReachedWithin(candidate.signature.outputs[i], *written[i])) return false;
      }
      return true;
    });
    if (legal) return;
    findings_.Add(PlaceOf(node), "from operands that lie so, its results cannot be written so",
                  Nearest(id, filter, written), Describe(id, filter.inputs, written));
  }

  // Is it what the candidate writes, once partial values are reduced?
  static bool IsReachedWithin(const NdSbp& written, const NdSbp& stated) {
    for (int a = 0; a < stated.size(); ++a) {
      if (written[a] != stated[a] && !written[a].is_partial()) return false;
    }
    return true;
  }

  std::string Describe(OpId id, const std::vector<std::optional<NdSbp>>& inputs,
                       const std::vector<std::optional<NdSbp>>& outputs) const {
    const Graph& graph = *problem_.graph;
    std::vector<std::string> read, made;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i]) read.push_back(StrCat(graph.tensor(problem_.operands(id)[i]).name, " ", ToString(*inputs[i])));
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i]) made.push_back(StrCat(graph.tensor(graph.op(id).outputs[i]).name, " ", ToString(*outputs[i])));
    }
    return StrCat(read.empty() ? "any operands" : Join(read, ", "), made.empty() ? "" : " -> ", Join(made, ", "));
  }

  // The legal signatures that differ least.
  std::string Nearest(OpId id, const LayoutFilter& filter, const std::vector<std::optional<NdSbp>>& written) const {
    constexpr size_t kShown = 3;
    const std::vector<Candidate>& candidates = problem_.candidates(id).candidates;
    std::vector<std::pair<int, size_t>> order;
    for (size_t c = 0; c < candidates.size(); ++c) {
      int differ = 0;
      for (size_t i = 0; i < filter.inputs.size(); ++i) {
        if (filter.inputs[i]) differ += Differences(*filter.inputs[i], candidates[c].signature.inputs[i]);
      }
      for (size_t i = 0; i < written.size(); ++i) {
        if (written[i]) differ += Differences(*written[i], candidates[c].signature.outputs[i]);
      }
      order.emplace_back(differ, c);
    }
    const size_t shown = std::min(kShown, order.size());
    std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(shown));
    std::vector<std::string> texts;
    for (size_t i = 0; i < shown; ++i) texts.push_back(Spell(candidates[order[i].second]));
    return StrCat("one of its ", candidates.size(), " signatures, such as ", Join(texts, "; "));
  }

  static std::string Spell(const Candidate& candidate) {
    Signature signature;
    for (size_t i = 0; i < candidate.signature.inputs.size(); ++i) {
      signature.inputs.push_back(candidate.signature.inputs[i]);
    }
    for (size_t i = 0; i < candidate.signature.outputs.size(); ++i) {
      signature.outputs.push_back(candidate.signature.outputs[i]);
    }
    return ToString(signature);
  }

  static int Differences(const NdSbp& a, const NdSbp& b) {
    int count = 0;
    for (int axis = 0; axis < a.size(); ++axis) count += a[axis] != b[axis] ? 1 : 0;
    return count;
  }

  const Problem& problem_;
  const Mesh& mesh_;
  NodeFinder finder_;
  Findings& findings_;
};

// What the specs of one node say, by tensor.
using NodeLayouts = std::map<std::string, NdSbp>;

// Layouts of all specs, node by node; what no layout over the mesh is goes to `findings`.
std::vector<std::pair<const NodeAnnotation*, NodeLayouts>> LayoutsByNode(const std::vector<PlacedSpec>& specs,
                                                                         const Mesh& mesh, bool is_given,
                                                                         Findings& findings) {
  std::vector<std::pair<const NodeAnnotation*, NodeLayouts>> nodes;
  for (const PlacedSpec& placed : specs) {
    const std::optional<NdSbp> layout = LayoutOf(placed.placement, mesh);
    if (!layout) {
      findings.Add(
          PlaceOf(*placed.node, *placed.spec), "no layout places its shards so",
          StrCat("shards numbered along the axes of a mesh of row-major devices, outer axes first; ",
                 is_given ? "the mesh given is " : "most specs fit ", ToString(mesh)),
          StrCat(placed.placement.dims.size(), " sharded axes over ", placed.placement.num_devices, " devices"));
      continue;
    }
    if (nodes.empty() || nodes.back().first != placed.node) nodes.emplace_back(placed.node, NodeLayouts());
    nodes.back().second.emplace(placed.spec->tensor, *layout);
  }
  return nodes;
}

void NoteUnevenSplits(const std::vector<PlacedSpec>& specs, const ShapeOf& shape_of, std::vector<std::string>& notes) {
  int64_t count = 0;
  std::string first;
  for (const PlacedSpec& placed : specs) {
    const Shape* shape = shape_of(placed.spec->tensor);
    for (const SplitDim& split : placed.placement.dims) {
      if (shape == nullptr || (*shape)[static_cast<size_t>(split.dim)] % split.shards == 0) continue;
      if (count++ == 0) {
        first = StrCat(PlaceOf(*placed.node, *placed.spec), " cuts ", (*shape)[static_cast<size_t>(split.dim)],
                       " into ", split.shards);
      }
    }
  }
  if (count == 0) return;
  notes.push_back(StrCat(Counted(count, "split"), " into parts of different sizes, which ONNX leaves to the backend: ",
                         first, count > 1 ? ", ..." : ""));
}

PlanningInput AsItStands(PlanningInput input, const Mesh& mesh) {
  input.mesh = mesh;
  input.options.simplify = false;  // names and nodes are the file's
  return input;
}

// Layouts, rules and, where nothing is wrong, what is implied.
Status CheckConfiguration(const std::vector<PlacedSpec>& specs, const DeviceConfiguration& configuration,
                          const ShapeOf& shape_of, const PlanningInput& given, const RuleSet& rules,
                          const PlanMaker& make_plan, const NoteSink& note, AnnotationReport& report) {
  ConfigurationReport& mine = report.configurations.emplace_back();
  mine.name = configuration.name;
  mine.specs = static_cast<int64_t>(specs.size());
  if (given.mesh && given.mesh->num_devices() != configuration.num_devices) {
    report.violations.push_back({StrCat("configuration ", Quote(configuration.name)), "number of devices",
                                 StrCat(given.mesh->num_devices(), ", as --mesh ", ToString(*given.mesh), " has"),
                                 StrCat(configuration.num_devices)});
    return OkStatus();
  }
  NoteUnevenSplits(specs, shape_of, report.notes);
  mine.mesh = given.mesh ? *given.mesh : InferMesh(configuration, DistinctPlacements(specs));
  Findings findings;
  const auto nodes = LayoutsByNode(specs, *mine.mesh, given.mesh.has_value(), findings);

  PlanningInput input = AsItStands(given, *mine.mesh);
  input.ignore_annotations = true;
  SBP_ASSIGN_OR_RETURN(PlanRequest free, PreparePlan(input, rules, note));
  SBP_ASSIGN_OR_RETURN(const std::unique_ptr<PosedProblem> posed, PoseProblem(free));
  LegalityOfSpecs legality(posed->problem, *mine.mesh, findings);
  int64_t gone = 0;
  for (const auto& [node, layouts] : nodes) gone += legality.Check(*node, layouts) ? 0 : 1;
  if (gone > 0) {
    report.notes.push_back(StrCat(Counted(gone, "annotated node"), " folded away or expanded: not held against rules"));
  }
  const bool good = findings.empty();
  std::vector<Violation> found = findings.Take();
  std::ranges::move(found, std::back_inserter(report.violations));
  if (!good) return OkStatus();

  SBP_ASSIGN_OR_RETURN(const LayoutPins pins, PinsOf(specs, free.graph, *mine.mesh));
  for (const PinText& pin : pins.pins) free.pins.emplace_back(pin.text, pin.where);
  Result<Plan> plan = make_plan(std::move(free));
  if (plan.ok()) {
    mine.plan = *std::move(plan);
  } else if (plan.status().code() == Code::kNoPlan) {
    report.violations.push_back({StrCat("configuration ", Quote(configuration.name)), "no plan has these layouts",
                                 "layouts that agree with each other", plan.status().message()});
  } else {
    return plan.status();
  }
  return OkStatus();
}

}  // namespace

Result<AnnotationReport> CheckAnnotations(std::string_view bytes, const PlanningInput& input, const RuleSet& rules,
                                          const PlanMaker& make_plan, const NoteSink& note) {
  SBP_ASSIGN_OR_RETURN(const ShardingAnnotations annotations, ReadShardingAnnotations(bytes, input.model));
  if (annotations.empty()) {
    return BadInput(StrCat(input.model,
                           " has no multi-device annotations to check (ModelProto.configuration, "
                           "NodeProto.device_configurations; IR version 11 or newer)"));
  }
  SBP_ASSIGN_OR_RETURN(const LoadedModel model, LoadModelBytes(bytes, input.model));
  ResolveOptions options = input.resolve;
  options.simplify = false;
  SBP_ASSIGN_OR_RETURN(const Resolved resolved, ResolveWithInputs(model.graph, rules, options, {}));

  AnnotationReport report;
  report.nodes = annotations.num_nodes;
  report.annotated = annotations.num_annotated;
  report.notes = NotesOfUnread(annotations);
  Findings findings;
  const ShapesByName shapes(resolved.graph);
  const ShapeOf shape_of = [&](std::string_view name) { return shapes(name); };
  const auto placed = PlaceSpecs(annotations, shape_of, findings);
  report.violations = findings.Take();
  for (const auto& [index, specs] : placed) {
    const DeviceConfiguration& configuration = annotations.configurations[index];
    if (configuration.num_devices < 1) continue;
    PlanningInput own = input;
    own.loaded = std::make_shared<LoadedModel>(model);
    SBP_RETURN_IF_ERROR(CheckConfiguration(specs, configuration, shape_of, own, rules, make_plan, note, report));
  }
  return report;
}

}  // namespace sbp
