#include "problem/problem.h"

#include <cmath>
#include <limits>
#include <optional>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "boxing/op_seconds.h"
#include "problem/classes.h"
#include "rule/op_query.h"

namespace sbp {
namespace {

SlotLayouts IndexSlot(const std::vector<Candidate>& candidates, const std::vector<NdSbp> Signature::*side,
                      size_t slot) {
  SlotLayouts indexed;
  indexed.of_candidate.reserve(candidates.size());
  std::unordered_map<NdSbp, uint32_t> known;
  for (const Candidate& candidate : candidates) {
    const NdSbp& layout = (candidate.signature.*side)[slot];
    const auto [entry, is_new] = known.try_emplace(layout, static_cast<uint32_t>(indexed.layouts.size()));
    if (is_new) indexed.layouts.push_back(layout);
    indexed.of_candidate.push_back(entry->second);
  }
  return indexed;
}

// On one device every layout holds the same values; the documented choice is put first (definitions.md 3, greedy).
void PutOneDeviceCandidateFirst(CandidateList& list, const Mesh& mesh) {
  const RuleInstance& instance = *list.instance;
  Candidate candidate;
  candidate.axes.resize(mesh.num_axes());
  for (size_t i = 0; i < instance.operands.size(); ++i) {
    candidate.signature.inputs.push_back(instance.present[i] ? OneDeviceLayout(instance.operands[i], mesh)
                                                             : NdSbp(mesh.num_axes()));
  }
  for (const TensorType& result : instance.results)
    candidate.signature.outputs.push_back(OneDeviceLayout(result, mesh));
  std::erase_if(list.candidates, [&](const Candidate& other) { return other.signature == candidate.signature; });
  list.candidates.insert(list.candidates.begin(), std::move(candidate));
}

Result<OpClass> MakeClass(const Graph& graph, const RuleSet& rules, OpId first, const Mesh& mesh,
                          const ProblemOptions& options) {
  const Op& op = graph.op(first);
  Result<RuleInstanceRef> instance = rules.Instantiate(QueryFor(graph, rules, op));
  if (!instance.ok()) return instance.status().WithContext(StrCat("op ", Quote(op.name)));
  if (options.strict && (*instance)->missing_rule) {
    return BadInput(StrCat("op ", Quote(op.name), ": no rule for op type ", Quote(graph.type_of(op)),
                           DidYouMean(graph.type_of(op), rules.Names()), "; add one with --rules FILE"));
  }
  CandidateList list = MakeCandidates(*instance, mesh, options.candidates);
  if (mesh.num_devices() == 1) PutOneDeviceCandidateFirst(list, mesh);
  OpClass op_class;
  op_class.first = first;
  op_class.list = std::make_shared<const CandidateList>(std::move(list));
  IndexLayouts(op_class);
  return op_class;
}

struct IntsHash {
  size_t operator()(const std::vector<int>& key) const { return HashRange(key.size(), key); }
};

// Batch axes of every tensor; the answer for equal ops with equally lying operands is asked for once.
std::vector<int> BatchAxes(const Problem& problem) {
  const Graph& graph = *problem.graph;
  std::vector<int> batch(graph.tensors.size(), -1);
  for (TensorId input : graph.inputs) {
    if (graph.tensor(input).type.rank() > 0) batch[input.index()] = 0;
  }
  std::unordered_map<std::vector<int>, std::vector<int>, IntsHash> known;
  std::vector<int> key;
  for (size_t o = 0; o < graph.ops.size(); ++o) {
    const auto operands = problem.operands(OpId(o));
    key.assign(1, static_cast<int>(problem.class_of[o]));
    bool present = false;
    for (TensorId id : operands) {
      key.push_back(id.valid() ? batch[id.index()] : -1);
      present |= key.back() >= 0;
    }
    if (!present) continue;
    auto entry = known.find(key);
    if (entry == known.end()) {
      std::vector<int> operand_batch(key.begin() + 1, key.end());
      entry = known.emplace(key, PropagateBatchAxis(*problem.candidates(OpId(o)).instance, operand_batch)).first;
    }
    const Op& op = graph.ops[o];
    for (size_t r = 0; r < op.outputs.size() && r < entry->second.size(); ++r) {
      if (op.outputs[r].valid()) batch[op.outputs[r].index()] = entry->second[r];
    }
  }
  return batch;
}

// Pins that no candidate meets, of inputs and parameters and of how tensors lie, must be possible in themselves.
Status CheckLayoutsOfPins(const Graph& graph, const Mesh& mesh, const Pins& pins, bool even_only) {
  std::optional<TensorId> worst;  // the first in the graph's order, whatever the order of the maps
  const TensorPin* worst_pin = nullptr;
  const auto check = [&](TensorId id, const TensorPin& pin) {
    if (worst && *worst < id) return;
    if (ValidateLayout(graph.tensor(id).type.shape, pin.layout, mesh, even_only).ok()) return;
    worst = id;
    worst_pin = &pin;
  };
  for (const auto& [id, pin] : pins.tensors) {
    if (!graph.tensor(id).producer.valid()) check(id, pin);
  }
  for (const auto& [id, pin] : pins.lies) check(id, pin);
  if (!worst) return OkStatus();
  const Tensor& tensor = graph.tensor(*worst);
  const TensorPin& pin = *worst_pin;
  return NoPlan(
      StrCat("pin ", pin.text, ": tensor ", Quote(tensor.name), " of type ", ToString(tensor.type),
             " cannot lie like that: ", ValidateLayout(tensor.type.shape, pin.layout, mesh, even_only).message()));
}

}  // namespace

std::span<const TensorId> Problem::operands(OpId op) const {
  const Op& o = graph->op(op);
  if (o.captures.empty()) return o.inputs;
  return operands_with_captures.at(op);
}

double Problem::ComputeSeconds(OpId op, size_t candidate) const {
  const OpClass& op_class = class_at(op);
  double& seconds = op_class.seconds[candidate];
  if (std::isnan(seconds)) {
    seconds = OpSeconds(*op_class.list->instance, op_class.list->candidates[candidate], mesh, boxing->cluster());
  }
  return seconds;
}

void IndexLayouts(OpClass& op_class) {
  const std::vector<Candidate>& candidates = op_class.list->candidates;
  const Signature& any = candidates.front().signature;
  op_class.operands.clear();
  op_class.results.clear();
  for (size_t i = 0; i < any.inputs.size(); ++i)
    op_class.operands.push_back(IndexSlot(candidates, &Signature::inputs, i));
  for (size_t r = 0; r < any.outputs.size(); ++r)
    op_class.results.push_back(IndexSlot(candidates, &Signature::outputs, r));
  op_class.seconds.assign(candidates.size(), std::numeric_limits<double>::quiet_NaN());
}

NdSbp OneDeviceLayout(const TensorType& type, const Mesh& mesh) {
  const bool splits = type.kind == ValueKind::kTensor && type.rank() > 0 && type.shape[0] > 0;
  return NdSbp(mesh.num_axes(), splits ? Sbp::Split(0) : Sbp::Broadcast());
}

Result<Problem> BuildProblem(const Graph& graph, const RuleSet& rules, const Mesh& mesh, const Cluster& cluster,
                             Pins pins, const ProblemOptions& options) {
  SBP_RETURN_IF_ERROR(CheckLayoutsOfPins(graph, mesh, pins, options.candidates.even_only));
  Problem problem;
  SBP_ASSIGN_OR_RETURN(problem.demands, Demands::Of(graph, mesh, pins, options.outputs));
  problem.graph = &graph;
  problem.mesh = mesh;
  problem.even_only = options.candidates.even_only;
  problem.uses = BuildUses(graph);
  problem.is_output.assign(graph.tensors.size(), false);
  for (const TensorId output : graph.outputs) problem.is_output[output.index()] = true;
  problem.names = ModuleNames(graph);
  problem.pins = std::move(pins);
  problem.boxing = std::make_shared<BoxingTable>(mesh, cluster, options.candidates.even_only);
  for (size_t o = 0; o < graph.ops.size(); ++o) {
    if (!graph.ops[o].captures.empty()) problem.operands_with_captures[OpId(o)] = graph.OperandsOf(graph.ops[o]);
  }
  OpClasses classes = ClassifyOps(graph, rules);
  problem.class_of = std::move(classes.class_of);
  problem.classes.reserve(classes.first.size());
  for (OpId first : classes.first) {
    SBP_ASSIGN_OR_RETURN(OpClass op_class, MakeClass(graph, rules, first, mesh, options));
    if (op_class.list->truncated) {
      problem.warnings.push_back(StrCat("op ", Quote(graph.op(first).name), ": more than ",
                                        options.candidates.max_candidates, " candidates; the list was cut"));
    }
    problem.classes.push_back(std::move(op_class));
  }
  problem.batch_axis = BatchAxes(problem);
  return problem;
}

std::string Dump(const Problem& problem) {
  std::ostringstream out;
  const Graph& graph = *problem.graph;
  out << "mesh " << ToString(problem.mesh) << "\n";
  for (size_t c = 0; c < problem.classes.size(); ++c) {
    const CandidateList& list = *problem.classes[c].list;
    out << "class " << c << ": " << list.instance->op << ", " << list.candidates.size() << " candidates\n";
    for (const Candidate& candidate : list.candidates) out << "  " << ToString(candidate.signature) << "\n";
  }
  for (size_t o = 0; o < graph.ops.size(); ++o) {
    out << "op " << Quote(graph.ops[o].name) << ": class " << problem.class_of[o] << "\n";
  }
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    if (problem.batch_axis[t] >= 0)
      out << "tensor " << Quote(graph.tensors[t].name) << ": batch axis " << problem.batch_axis[t] << "\n";
  }
  return std::move(out).str();
}

}  // namespace sbp
