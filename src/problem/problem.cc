#include "problem/problem.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/hash.h"
#include "base/ids.h"
#include "base/number_text.h"
#include "base/status.h"
#include "base/text.h"
#include "boxing/op_seconds.h"
#include "cluster/cluster.h"
#include "fusion/op_traits.h"
#include "graph/adopt.h"
#include "graph/tensor_type.h"
#include "naming/module_index.h"
#include "problem/classes.h"
#include "rule/factor_map.h"
#include "rule/op_query.h"
#include "sbp/layout_rows.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"
#include "sbp/signature.h"

namespace sbp {
namespace {

// `row` is a slot unless the candidates share a table of rows.
SlotLayouts IndexRow(const std::vector<Candidate>& candidates, LayoutRows CandidateSignature::*side, size_t row,
                     bool shared) {
  SlotLayouts indexed;
  indexed.of_candidate.reserve(candidates.size());
  std::unordered_map<NdSbp, uint32_t> known;
  for (const Candidate& candidate : candidates) {
    const LayoutRows& slots = candidate.signature.*side;
    const NdSbp& layout = shared ? slots.rows()[row] : slots[row];
    const auto [entry, is_new] = known.try_emplace(layout, static_cast<uint32_t>(indexed.layouts.size()));
    if (is_new) indexed.layouts.push_back(layout);
    indexed.of_candidate.push_back(entry->second);
  }
  return indexed;
}

// By rows where all candidates have one table of them.
SlotList IndexSide(const std::vector<Candidate>& candidates, LayoutRows CandidateSignature::*side) {
  const LayoutRows& any = candidates.front().signature.*side;
  const bool shared = std::all_of(candidates.begin(), candidates.end(), [&](const Candidate& candidate) {
    return (candidate.signature.*side).row_of() == any.row_of();
  });
  const size_t count = shared ? any.rows().size() : any.size();
  std::vector<SlotLayouts> rows;
  for (size_t row = 0; row < count; ++row) rows.push_back(IndexRow(candidates, side, row, shared));
  return {std::move(rows), shared ? any.row_of() : nullptr};
}

// Rows of a signature that lies as `layout(slot)` says, which is the same for all slots of a row.
template <typename LayoutOf>
LayoutRows LikeRows(const LayoutRows& like, const LayoutOf& layout) {
  std::vector<NdSbp> rows(like.rows().size());
  for (size_t slot = 0; slot < like.size(); ++slot) rows[like.row_of() ? (*like.row_of())[slot] : slot] = layout(slot);
  return {std::move(rows), like.row_of()};
}

// On one device every layout holds the same values; the documented choice is put first.
void PutOneDeviceCandidateFirst(CandidateList& list, const Mesh& mesh) {
  const RuleInstance& instance = *list.instance;
  const CandidateSignature& any = list.candidates.front().signature;
  Candidate candidate;
  candidate.axes.resize(mesh.num_axes());
  candidate.signature.inputs = LikeRows(any.inputs, [&](size_t i) {
    return instance.present[i] ? OneDeviceLayout(instance.operands[i], mesh) : NdSbp(mesh.num_axes());
  });
  candidate.signature.outputs =
      LikeRows(any.outputs, [&](size_t r) { return OneDeviceLayout(instance.results[r], mesh); });
  std::erase_if(list.candidates, [&](const Candidate& other) { return other.signature == candidate.signature; });
  list.candidates.insert(list.candidates.begin(), std::move(candidate));
}

OpClass ClassOf(OpId first, CandidateList list) {
  OpClass op_class;
  op_class.first = first;
  op_class.list = std::make_shared<const CandidateList>(std::move(list));
  op_class.in_place = InPlacePairs(*op_class.list->instance);
  IndexLayouts(op_class);
  return op_class;
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
  return ClassOf(first, std::move(list));
}

// A class for each way in which groups spare its ops something; they share the list.
void SplitByFusion(Problem& problem) {
  std::unordered_map<uint64_t, uint32_t> numbers;  // by class and kind
  std::vector<bool> taken(problem.classes.size(), false);
  for (size_t o = 0; o < problem.num_ops(); ++o) {
    const uint32_t before = problem.class_of[o], kind = problem.fusion->kind_of[o];
    const auto [entry, is_new] = numbers.try_emplace(uint64_t{before} << 32 | kind, before);
    if (is_new && taken[before]) {
      entry->second = static_cast<uint32_t>(problem.classes.size());
      OpClass copy = problem.classes[before];
      copy.first = OpId(o);
      problem.classes.push_back(std::move(copy));
    }
    if (is_new) problem.classes[entry->second].fusion = kind;
    if (before < taken.size()) taken[before] = true;
    problem.class_of[o] = entry->second;
  }
}

// Ops that no kernel group holds write over states only; views are their operands.
void KeepOperands(const RuleSet& rules, Problem& problem) {
  const std::vector<OpTraits> traits = TraitsOfOps(*problem.graph, rules);
  for (OpClass& op_class : problem.classes) {
    const bool is_grouped = problem.fusion && problem.fusion->groups.of(op_class.first) != nullptr;
    if (is_grouped || traits[op_class.first.index()].kind == OpTraits::Kind::kView) continue;
    for (InPlacePair& pair : op_class.in_place) pair.elementwise = false;
  }
}

// Gives ops of cut lists what they ask for beyond them: pins, and given signatures. Equal wishes share a class.
class CutLists {
 public:
  CutLists(Problem& problem, const ProblemOptions& options) : problem_(problem), options_(options) {}

  void Run() {
    for (size_t o = 0; o < problem_.num_ops(); ++o) {
      const OpId op(o);
      if (!problem_.class_at(op).list->truncated) continue;
      if (IsPinned(problem_, op)) TakePins(op);
      const Signature* given = options_.given ? options_.given(op) : nullptr;
      if (given != nullptr) Add(op, *given);
    }
  }

 private:
  void TakePins(OpId op) {
    const LayoutFilter filter = PinnedLayouts(problem_, op);
    const uint32_t op_class = problem_.class_of[op.index()];
    std::string key = StrCat("pins of ", op_class);
    for (const auto* side : {&filter.inputs, &filter.outputs}) {
      for (const std::optional<NdSbp>& layout : *side) key += layout ? ToString(*layout) : "-";
    }
    const auto known = known_.find(key);
    if (known != known_.end()) {
      problem_.class_of[op.index()] = known->second;
      return;
    }
    CandidateList list =
        MakeCandidates(problem_.classes[op_class].list->instance, problem_.mesh, options_.candidates, &filter);
    if (list.candidates.empty()) return;  // the error then lists what the op has
    Take(op, std::move(list), std::move(key));
  }

  void Add(OpId op, const Signature& signature) {
    const CandidateList& before = problem_.candidates(op);
    const auto is_given = [&](const Candidate& candidate) { return candidate.signature == signature; };
    if (std::any_of(before.candidates.begin(), before.candidates.end(), is_given)) return;
    std::string key = StrCat("given ", problem_.class_of[op.index()], ToString(signature));
    const auto known = known_.find(key);
    if (known != known_.end()) {
      problem_.class_of[op.index()] = known->second;
      return;
    }
    std::optional<Candidate> found = FindCandidate(before.instance, signature, problem_.mesh, options_.candidates);
    if (!found) return;
    CandidateList list = before;
    ShareRows(list.candidates.front().signature.inputs, found->signature.inputs);
    ShareRows(list.candidates.front().signature.outputs, found->signature.outputs);
    list.candidates.insert(list.candidates.end() - 1, std::move(*found));  // all-B stays last
    Take(op, std::move(list), std::move(key));
  }

  // Makes `layouts` use the rows of `like` where slots of one row lie alike in it.
  static void ShareRows(const LayoutRows& like, LayoutRows& layouts) {
    LayoutRows shared = LikeRows(like, [&](size_t slot) { return layouts[slot]; });
    if (shared == static_cast<std::vector<NdSbp>>(layouts)) layouts = std::move(shared);
  }

  void Take(OpId op, CandidateList list, std::string key) {
    const auto number = static_cast<uint32_t>(problem_.classes.size());
    const uint32_t fusion = problem_.class_at(op).fusion;
    problem_.classes.push_back(ClassOf(op, std::move(list)));
    problem_.classes.back().fusion = fusion;
    problem_.class_of[op.index()] = number;
    known_.emplace(std::move(key), number);
  }

  Problem& problem_;
  const ProblemOptions& options_;
  std::unordered_map<std::string, uint32_t> known_;
};

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
  for (const Tie& tie : graph.ties) batch[tie.input.index()] = -1;  // a state, as parameters are
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

double Problem::OnceSeconds(OpId op, size_t candidate) const {
  const OpClass& op_class = class_at(op);
  double& seconds = op_class.seconds[candidate];
  if (std::isnan(seconds)) {
    seconds = OpSeconds(*op_class.list->instance, op_class.list->candidates[candidate], mesh, boxing->cluster(),
                        FusionOf(op_class));
  }
  return seconds;
}

double Problem::OnceCutSeconds(OpId op, size_t candidate, bool is_result, size_t slot) const {
  if (!IsInside(op, is_result, slot)) return 0;
  const OpClass& op_class = class_at(op);
  return CutSeconds(*op_class.list->instance, op_class.list->candidates[candidate], mesh, boxing->cluster(),
                    *FusionOf(op_class), is_result, slot);
}

bool Problem::IsInside(OpId op, bool is_result, size_t slot) const {
  const OpFusion* spared = FusionOf(class_at(op));
  if (spared == nullptr) return false;
  const std::vector<OpFusion::End>& ends = is_result ? spared->results : spared->operands;
  return slot < ends.size() && ends[slot] == OpFusion::End::kInside;
}

void IndexLayouts(OpClass& op_class) {
  const std::vector<Candidate>& candidates = op_class.list->candidates;
  op_class.operands = IndexSide(candidates, &CandidateSignature::inputs);
  op_class.results = IndexSide(candidates, &CandidateSignature::outputs);
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
  problem.runs = StepRuns(graph);
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
      problem.warnings.push_back(
          StrCat("op ", Quote(graph.op(first).name), ": more candidates than are looked at; the list was cut to ",
                 op_class.list->candidates.size(), " (largest dimensions first); pins reach the others"));
    }
    problem.classes.push_back(std::move(op_class));
  }
  if (cluster.execution == Execution::kFused) {
    const FusionOptions fusion{cluster.device.epilogue, cluster.fused_scopes};
    if (const std::vector<std::string> lost = ScopesNotFound(graph, fusion); !lost.empty()) {
      return BadInput(
          StrCat("fused execution: no scope is named ", Quote(lost[0]), DidYouMeanScope(lost[0], AdoptScopes(graph))));
    }
    problem.fusion = std::make_shared<const Fusion>(FuseOps(graph, rules, fusion));
    SplitByFusion(problem);
  }
  CutLists(problem, options).Run();
  if (cluster.keeps_operands) KeepOperands(rules, problem);
  problem.batch_axis = BatchAxes(problem);
  return problem;
}

Result<Problem> WithPins(const Problem& problem, Pins pins, OutputPolicy outputs) {
  SBP_RETURN_IF_ERROR(CheckLayoutsOfPins(*problem.graph, problem.mesh, pins, problem.even_only));
  SBP_ASSIGN_OR_RETURN(Demands demands, Demands::Of(*problem.graph, problem.mesh, pins, outputs));
  Problem pinned = problem;
  pinned.demands = std::move(demands);
  pinned.pins = std::move(pins);
  return pinned;
}

std::string Dump(const Problem& problem) {
  PlainStream out;
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
