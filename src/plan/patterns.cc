#include "plan/patterns.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/checked_math.h"
#include "base/ids.h"
#include "base/text.h"
#include "boxing/boxing.h"
#include "cluster/collective_kind.h"
#include "graph/graph.h"
#include "graph/phases.h"
#include "graph/sections.h"
#include "graph/tensor_type.h"
#include "plan/transition_runs.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

// "2 all-gathers and 1 all-to-all".
std::string Counted(const std::map<std::string_view, int64_t>& kinds) {
  std::vector<std::string> parts;
  for (const auto& [kind, count] : kinds) parts.push_back(StrCat(count, " ", kind, count == 1 ? "" : "s"));
  return Join(parts, " and ");
}

int64_t BytesOnDevice(const TensorType& type, const NdSbp& layout, const Mesh& mesh) {
  int64_t elements = 1;
  for (const int64_t size : LocalShape(type.shape, layout, mesh)) elements = SaturatingMul(elements, size);
  return BytesOf(type.dtype, elements);
}

}  // namespace

std::string_view PatternName(SpreadPattern pattern) {
  switch (pattern) {
    case SpreadPattern::kReplicated:
      return "replicated";
    case SpreadPattern::kDataParallel:
      return "DP";
    case SpreadPattern::kZero1:
      return "ZeRO-1";
    case SpreadPattern::kZero2:
      return "ZeRO-2";
    case SpreadPattern::kZero3:
      return "ZeRO-3";
    case SpreadPattern::kTensorParallel:
      return "TP";
    case SpreadPattern::kExpertParallel:
      return "EP";
  }
  return "";
}

PatternReader::PatternReader(const Plan& plan)
    : plan_(plan), uses_(BuildUses(plan.graph)), runs_(RunsOfTransitions(plan, StepRuns(plan.graph))) {
  const Graph& graph = plan.graph;
  std::vector<TensorId> tied;
  for (const Tie& tie : graph.ties) {
    if (graph.tensor(tie.input).role == TensorRole::kParameter) tied.push_back(tie.input);
  }
  for (ParameterFamily& family : FindFamilies(graph, tied)) {
    if (family.gradient.valid()) of_.emplace(family.parameter, std::move(family));  // else not written by `grad`
  }
  for (const auto& [parameter, family] : of_) updated_.push_back(parameter);
  for (uint32_t i = 0; i < plan.transitions.size(); ++i) transitions_[plan.transitions[i].tensor].push_back(i);
  for (const std::string& pin : plan.options.pins) pinned_.insert(pin.substr(0, pin.find('=')));
  saved_.assign(plan.mesh.num_axes(), 0);
  fetches_.assign(plan.mesh.num_axes(), false);
  for (int axis = 0; axis < plan.mesh.num_axes(); ++axis) {
    for (const auto& [parameter, family] : of_) {
      saved_[axis] = SaturatingAdd(saved_[axis], BytesSaved(parameter, family, axis));
      if (IsMaster(graph, uses_, parameter) && FetchedAnew(parameter, axis).is) fetches_[axis] = true;
    }
  }
}

std::vector<AxisPattern> PatternReader::Of(TensorId parameter) const {
  std::vector<AxisPattern> patterns;
  const auto family = of_.find(parameter);
  if (family == of_.end()) return patterns;
  for (int axis = 0; axis < plan_.mesh.num_axes(); ++axis) {
    if (plan_.mesh.size(axis) > 1) patterns.push_back(Classify(parameter, family->second, axis));
  }
  return patterns;
}

// Seconds of a step that the tensor's boxing takes over the axis; `kinds`: which collectives, how often.
double PatternReader::SecondsOver(TensorId tensor, int axis, std::map<std::string_view, int64_t>* kinds) const {
  const auto found = tensor.valid() ? transitions_.find(tensor) : transitions_.end();
  if (found == transitions_.end()) return 0;
  double seconds = 0;
  for (const uint32_t i : found->second) {
    for (const BoxingStep& step : plan_.transitions[i].steps) {
      if (step.axis != axis) continue;
      seconds += static_cast<double>(runs_[i]) * step.seconds;
      if (kinds != nullptr) (*kinds)[CollectiveKindName(step.kind)] += runs_[i];
    }
  }
  return seconds;
}

// Also behind what hands the parameter on.
void PatternReader::Collect(TensorId tensor, int axis, Uses& uses) const {
  const Graph& graph = plan_.graph;
  uses.seconds += SecondsOver(tensor, axis, nullptr);
  const auto [begin, end] = uses_.of(tensor);
  for (const Use* use = begin; use != end; ++use) {
    const Op& op = graph.op(use->op);
    const Phase phase = PhaseOf(graph, op);
    if (phase == Phase::kOptimizer) continue;
    if (HandsOn(graph, op)) {
      Collect(op.outputs[0], axis, uses);
      continue;
    }
    const Sbp wanted = plan_.decision(use->op).signature.inputs[use->operand][axis];
    (wanted.is_split() ? uses.split : uses.whole) = true;
    const bool gathers = !wanted.is_split() && plan_.source_layouts[tensor.index()][axis].is_split();
    (phase == Phase::kBackward ? uses.backward_gathers : uses.forward_gathers) |= gathers;
  }
}

// Is the tensor boxed from a sum in parts to the whole sum over the axis?
bool PatternReader::IsSummedWhole(TensorId tensor, int axis) const {
  const auto found = tensor.valid() ? transitions_.find(tensor) : transitions_.end();
  if (found == transitions_.end()) return false;
  return std::ranges::any_of(found->second, [&](uint32_t i) {
    return std::ranges::any_of(plan_.transitions[i].steps, [&](const BoxingStep& step) {
      return step.axis == axis && step.from[axis].is_partial() && step.to[axis].is_broadcast();
    });
  });
}

// How the gradient is summed: along the casts that lead to it, to the accumulator.
std::string PatternReader::GradientText(const ParameterFamily& family, int axis) const {
  std::map<std::string_view, int64_t> kinds;
  double seconds = SecondsOver(family.summed, axis, &kinds);
  for (TensorId at = family.gradient; at.valid();) {
    seconds += SecondsOver(at, axis, &kinds);
    const OpId producer = plan_.graph.tensor(at).producer;
    const bool goes_on = producer.valid() && HandsOn(plan_.graph, plan_.graph.op(producer));
    at = goes_on ? plan_.graph.op(producer).inputs[0] : TensorId();
  }
  if (kinds.empty()) return "";
  return StrCat(", gradient summed by ", Counted(kinds), " (", FormatSeconds(seconds), ")");
}

// Bytes per device that the split over this axis saves, of the parameter and its states.
int64_t PatternReader::BytesSaved(TensorId parameter, const ParameterFamily& family, int axis) const {
  int64_t saved = 0;
  const auto add = [&](TensorId tensor) {
    const NdSbp& layout = plan_.source_layouts[tensor.index()];
    if (!layout[axis].is_split()) return;
    NdSbp whole = layout;
    whole[axis] = Sbp::Broadcast();
    const TensorType& type = plan_.graph.tensor(tensor).type;
    saved += BytesOnDevice(type, whole, plan_.mesh) - BytesOnDevice(type, layout, plan_.mesh);
  };
  add(parameter);
  for (const TensorId state : family.states) add(state);
  return saved;
}

// Why not otherwise: what a memory limit forbids, else that the step is the fastest found. Parameters and states are
// held all the time, so what lies whole adds to the peak.
std::string PatternReader::Because(SpreadPattern pattern, int64_t saved, TensorId parameter,
                                   const ParameterFamily& family, int axis) const {
  const auto bytes = [](int64_t count) { return FormatBytes(static_cast<double>(count)); };
  const std::optional<int64_t>& limit = plan_.options.memory_limit;
  const std::string& over = plan_.mesh.axes[axis].name;
  const int64_t peak = plan_.memory.peak_bytes;
  if (pinned_.contains(plan_.graph.tensor(parameter).name)) return ", because it is pinned so";
  if (saved > 0) {
    const int64_t whole = SaturatingAdd(peak, saved_[axis]);
    if (limit && whole > *limit) {
      return StrCat(", because with parameters and states whole over ", over, " the peak would be ", bytes(whole),
                    ", above --memory-limit ", bytes(*limit));
    }
    const bool used_so = pattern == SpreadPattern::kTensorParallel || pattern == SpreadPattern::kExpertParallel;
    return used_so ? ", because no faster step was found that gathers it or has it whole"
                   : ", because each device then updates a part of it, and no faster step was found with it whole";
  }
  if (!limit) return ", because no --memory-limit asks for less memory, and no faster step was found";
  int64_t could =
      BytesOnDevice(plan_.graph.tensor(parameter).type, plan_.source_layouts[parameter.index()], plan_.mesh);
  for (const TensorId state : family.states) {
    could = SaturatingAdd(
        could, BytesOnDevice(plan_.graph.tensor(state).type, plan_.source_layouts[state.index()], plan_.mesh));
  }
  could -= could / plan_.mesh.size(axis);
  return StrCat(", because the peak of ", bytes(peak), " keeps --memory-limit ", bytes(*limit), " without the ",
                bytes(could), " that a split would free");
}

SpreadPattern PatternReader::StageOfStates(const ParameterFamily& family, int axis) const {
  const TensorId sum = family.accumulator;
  const bool whole =
      sum.valid() ? !plan_.source_layouts[sum.index()][axis].is_split() : IsSummedWhole(family.gradient, axis);
  return whole ? SpreadPattern::kZero1 : SpreadPattern::kZero2;
}

PatternReader::Anew PatternReader::FetchedAnew(TensorId tensor, int axis) const {
  const Graph& graph = plan_.graph;
  Anew anew;
  const auto [begin, end] = uses_.of(tensor);
  for (const Use* use = begin; use != end; ++use) {
    const Op& op = graph.op(use->op);
    if (PhaseOf(graph, op) == Phase::kOptimizer || !HandsOn(graph, op)) continue;
    const TensorId copy = op.outputs[0];
    const Anew behind = FetchedAnew(copy, axis);
    const bool fetches = graph.type_of(op) == kRefetchOp;
    anew.may |= fetches || behind.may;
    anew.is |= behind.is || (fetches && plan_.source_layouts[copy.index()][axis].is_split());
  }
  return anew;
}

bool PatternReader::KeepsCopies(TensorId parameter, int axis) const {
  if (!IsMaster(plan_.graph, uses_, parameter)) return false;
  const Anew anew = FetchedAnew(parameter, axis);
  return anew.may ? !anew.is : !fetches_[axis];
}

AxisPattern PatternReader::Classify(TensorId parameter, const ParameterFamily& family, int axis) const {
  const Sbp stored = plan_.source_layouts[parameter.index()][axis];
  Uses uses;
  Collect(parameter, axis, uses);
  Sbp state = Sbp::Broadcast();
  for (const TensorId id : family.states) {
    const Sbp lies = plan_.source_layouts[id.index()][axis];
    if (lies.is_split()) state = lies;
  }
  const std::string gradient = GradientText(family, axis);
  const int64_t saved = BytesSaved(parameter, family, axis);
  AxisPattern found{.axis = axis};
  std::string how;
  if (stored.is_split() && !uses.whole) {
    const bool experts = plan_.graph.tensor(parameter).type.rank() >= 3 && stored.dim() == 0;
    found.pattern = experts ? SpreadPattern::kExpertParallel : SpreadPattern::kTensorParallel;
    found.dim = stored.dim();
    how = StrCat("split along dimension ", found.dim, " and used so");
  } else if (stored.is_split() && KeepsCopies(parameter, axis)) {
    found.pattern = StageOfStates(family, axis);
    found.dim = stored.dim();
    how = StrCat("master and states split along dimension ", found.dim,
                 ", copies for both passes gathered once a step (", FormatSeconds(uses.seconds), ")");
  } else if (stored.is_split()) {
    found.pattern = SpreadPattern::kZero3;
    found.dim = stored.dim();
    const std::string_view passes = uses.forward_gathers && uses.backward_gathers ? "both passes"
                                    : uses.backward_gathers                       ? "the backward pass"
                                                                                  : "the forward pass";
    how = StrCat("split along dimension ", found.dim, ", gathered before use in ", passes, " (",
                 FormatSeconds(uses.seconds), ")");
  } else if (state.is_split()) {
    found.pattern = StageOfStates(family, axis);
    found.dim = state.dim();
    how = StrCat("lies whole, states split along dimension ", found.dim, ", gathered once a step after the update (",
                 FormatSeconds(SecondsOver(family.next, axis, nullptr)), ")");
  } else {
    found.pattern = gradient.empty() ? SpreadPattern::kReplicated : SpreadPattern::kDataParallel;
    how = uses.split && !uses.whole ? "lies whole, used in parts" : "lies whole with its states";
  }
  found.text = StrCat(PatternName(found.pattern), ": ", how, gradient);
  found.text += Because(found.pattern, saved, parameter, family, axis);
  if (saved > 0) found.text += StrCat("; saves ", FormatBytes(static_cast<double>(saved)), " per device");
  return found;
}

}  // namespace sbp
