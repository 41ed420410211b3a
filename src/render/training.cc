#include "render/training.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/checked_math.h"
#include "base/ids.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/kept.h"
#include "graph/phases.h"
#include "graph/tensor_type.h"
#include "memory/memory.h"
#include "memory/training.h"
#include "plan/plan.h"
#include "render/facts.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

// What an op of the backward pass is part of, as the last level of its scope: "backward/OP/d.a" of forward op OP, whose
// name may hold slashes, too; "backward/T/+2/wide" of the sum of tensor T's cotangents. "": of nothing.
std::string PartOf(const Graph& graph, const NameIndex& names, const Op& op) {
  std::string_view name = op.name;
  if (!name.starts_with(kBackwardScope)) return "";
  name.remove_prefix(std::min(name.size(), kBackwardScope.size() + 1));
  const std::string_view whole = name;
  for (size_t slash = name.rfind('/'); slash != std::string_view::npos; slash = name.rfind('/')) {
    name = name.substr(0, slash);
    const OpId id = names.op(name);
    if (id.valid() && PhaseOf(graph, graph.op(id)) == Phase::kForward && whole[slash + 1] != '+') return NameTail(name);
  }
  const size_t sum = whole.rfind("/+");
  return sum == std::string_view::npos ? "" : StrCat("+ ", NameTail(whole.substr(0, sum)));
}

}  // namespace

std::string PeakParts(const Plan& plan) {
  const auto split = IsBareGraph(plan) ? std::nullopt : SplitPeak(plan);
  if (!split) return "";
  std::vector<std::string> parts;
  for (const auto& [name, bytes] : PartsOf(*split)) {
    parts.push_back(StrCat(name, " ", FormatBytes(static_cast<double>(bytes))));
  }
  return StrCat("peak = ", Join(parts, " + "));
}

std::vector<int64_t> KeptBytesPerTensor(const Plan& plan) {
  if (!IsBareGraph(plan)) return KeptBytesOnDevice(plan);
  std::vector<int64_t> bytes(plan.graph.tensors.size(), 0);
  for (const KeptTensor& kept : FindKept(plan.graph)) {
    bytes[kept.tensor.index()] = plan.graph.tensor(kept.tensor).type.num_bytes();
  }
  return bytes;
}

std::string StatesLine(const Plan& plan, std::span<const uint32_t> ops) {
  std::set<TensorId> states, read;
  for (const Tie& tie : plan.graph.ties) {
    const bool is_state = plan.graph.tensor(tie.input).role == TensorRole::kInput && !tie.restarts;
    if (is_state) states.insert(tie.input);
  }
  int64_t bytes = 0;
  for (const uint32_t o : ops) {
    for (const TensorId id : plan.graph.ops[o].inputs) {
      if (!id.valid() || !states.contains(id) || !read.insert(id).second) continue;
      const NdSbp* layout = SourceLayout(plan, id);
      const TensorType& type = plan.graph.tensor(id).type;
      bytes = SaturatingAdd(bytes, layout == nullptr ? type.num_bytes() : LocalBytes(type, *layout, plan.mesh));
    }
  }
  if (read.empty()) return "";
  return StrCat(read.size(), read.size() == 1 ? " state, " : " states, ", FormatBytes(static_cast<double>(bytes)),
                IsBareGraph(plan) ? "" : " on each device");
}

std::set<TensorId> MergedOutputs(const Plan& plan, bool training) {
  std::set<TensorId> merged;
  for (const Tie& tie : plan.graph.ties) merged.insert(tie.output);
  if (!training) return merged.size() > 8 ? merged : std::set<TensorId>();
  for (const TensorId id : plan.graph.outputs) {
    const OpId producer = plan.graph.tensor(id).producer;
    const bool is_gradient = producer.valid() && PhaseOf(plan.graph, plan.graph.op(producer)) == Phase::kBackward;
    if (is_gradient) merged.insert(id);
  }
  return merged;
}

namespace {

// Is the output its input with something taken off, `w - lr * g`, or the decayed input, `(1 - d) * w - lr * g`? What is
// merely laid out like its input, as the gradients that a function returns, is not.
bool IsUpdate(const Graph& graph, const Tie& tie) {
  TensorId made = tie.output;
  const auto producer = [&](TensorId id) {
    return id.valid() && graph.tensor(id).producer.valid() ? &graph.op(graph.tensor(id).producer) : nullptr;
  };
  const Op* op = producer(made);
  for (; op != nullptr && (graph.type_of(*op) == "Identity" || graph.type_of(*op) == "Cast"); op = producer(made)) {
    made = op->inputs[0];
  }
  if (op == nullptr) return made == tie.input;
  const auto reads = [&](const Op& at) { return std::ranges::find(at.inputs, tie.input) != at.inputs.end(); };
  if (reads(*op)) return true;
  const auto is_scaled = [&](TensorId id) {
    const Op* scale = producer(id);
    return scale != nullptr && graph.type_of(*scale) == "Mul" && reads(*scale);
  };
  return graph.type_of(*op) == "Sub" && std::ranges::any_of(op->inputs, is_scaled);
}

}  // namespace

std::string_view MergedTitle(const Plan& plan, bool training) {
  if (!training) {
    const auto is_update = [&](const Tie& tie) { return IsUpdate(plan.graph, tie); };
    return std::ranges::any_of(plan.graph.ties, is_update) ? " updated parameters" : " gradients";
  }
  if (plan.graph.ties.empty()) return " gradients";
  const auto is_state = [&](const Tie& tie) { return plan.graph.tensor(tie.input).role == TensorRole::kInput; };
  return std::ranges::any_of(plan.graph.ties, is_state) ? " updated parameters and states" : " updated parameters";
}

std::vector<FramedScope> FrameScopes(const Graph& graph, std::span<const std::string_view> scopes) {
  const NameIndex names(graph);
  std::vector<FramedScope> framed;
  framed.reserve(scopes.size());
  std::unordered_map<std::string, size_t> count;  // ops
  for (size_t o = 0; o < graph.ops.size(); ++o) {
    const Phase phase = PhaseOfScope(scopes[o]);
    const std::string part = phase == Phase::kBackward ? PartOf(graph, names, graph.ops[o]) : "";
    if (phase == Phase::kForward) {
      framed.push_back({StrCat(PhaseName(phase), scopes[o].empty() ? "" : "/", scopes[o]), false});
    } else {
      framed.push_back({StrCat(scopes[o], part.empty() ? "" : "/", part), !part.empty()});
      if (!part.empty()) ++count[framed.back().path];
    }
  }
  for (size_t o = 0; o < framed.size(); ++o) {
    if (framed[o].is_vjp && count[framed[o].path] == 1) framed[o] = {std::string(scopes[o]), false};
  }
  return framed;
}

}  // namespace sbp
