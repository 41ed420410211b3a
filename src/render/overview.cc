#include "render/overview.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/checked_math.h"
#include "base/dtype.h"
#include "base/ids.h"
#include "base/text.h"
#include "boxing/boxing.h"
#include "cluster/collective_kind.h"
#include "cost/collective.h"
#include "graph/adopt.h"
#include "graph/again.h"
#include "graph/graph.h"
#include "graph/kept.h"
#include "graph/phases.h"
#include "graph/tensor_type.h"
#include "memory/memory.h"
#include "memory/training.h"
#include "naming/buffer_label.h"
#include "naming/module_names.h"
#include "plan/ends.h"
#include "plan/plan.h"
#include "render/facts.h"
#include "render/node_text.h"
#include "render/side_tables.h"
#include "render/training.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

constexpr int32_t kNoRow = -1;

class OverviewBuilder {
 public:
  OverviewBuilder(const Plan& plan, const RenderOptions& options)
      : plan_(plan), options_(options), transitions_(plan), costs_(plan) {
    out_.training = HasBackward(plan.graph);
    out_.bare = IsBareGraph(plan);
    side_ = FindSideTables(plan.graph);
  }

  Result<Overview> Build() {
    SBP_ASSIGN_OR_RETURN(parts_, ChooseParts(plan_, Weights(), options_.expand));
    MakeRows();
    AddWork();
    AddParameters();
    AddFlows();
    AddKept();
    AddEnds();
    AddTotals();
    out_.title = TitleOf(plan_, options_.step_seconds);
    out_.warnings = WarningsOf(plan_);
    return std::move(out_);
  }

 private:
  bool Valid(OpId op) const { return op.valid() && op.index() < plan_.graph.ops.size(); }

  std::vector<double> Weights() const {
    std::vector<double> weights(plan_.graph.ops.size(), out_.bare ? 1 : 0);
    for (uint32_t o = 0; o < weights.size() && !out_.bare; ++o) weights[o] = costs_.OpSeconds(o);
    for (uint32_t t = 0; t < plan_.transitions.size(); ++t) {
      const OpId op = costs_.ForWhom(t);
      if (op.valid()) weights[op.index()] += costs_.TransitionSeconds(t) + costs_.CutSeconds(t);
    }
    return weights;
  }

  void MakeRows() {
    std::vector<int32_t> row_of_first(plan_.graph.ops.size(), kNoRow);
    for (const OverviewPart& part : parts_.parts) {
      OverviewRow row;
      row.title = part.title;
      row.path = part.path;
      row.copies = part.copies;
      row.frame = part.frame;
      row.part_ops = part.ops.size();
      row.detail = part.ops.size() == 1 ? Shorten(NameTail(plan_.graph.ops[part.ops[0]].name), 40)
                                        : StrCat(part.ops.size(), " ops: ", CountTypes(plan_, part.ops, 3));
      for (const uint32_t o : part.ops) row_of_first[o] = static_cast<int32_t>(out_.rows.size());
      out_.rows.push_back(std::move(row));
    }
    out_.frames = parts_.frames;
    row_of_op_.assign(plan_.graph.ops.size(), kNoRow);
    phase_.assign(plan_.graph.ops.size(), Phase::kForward);
    for (uint32_t o = 0; o < row_of_op_.size(); ++o) {
      if (out_.training) phase_[o] = PhaseOf(plan_.graph, plan_.graph.ops[o]);
      if (phase_[o] == Phase::kForward) row_of_op_[o] = row_of_first[parts_.stand_in[o]];
    }
    if (out_.training) PlaceBackward();
  }

  // The row of the forward op whose derivative an op is, as its name "backward/OP/..." says; OP may hold slashes, too.
  // An op that is computed again is that op, too.
  int32_t RowOfDifferentiated(const NameIndex& names, const Op& op) const {
    std::string_view name = op.name;
    if (IsAgain(plan_.graph, op)) {
      const OpId id = names.op(WithoutAgain(name));
      return Valid(id) ? row_of_op_[id.index()] : kNoRow;
    }
    if (!name.starts_with(kBackwardScope)) return kNoRow;
    name.remove_prefix(std::min(name.size(), kBackwardScope.size() + 1));
    for (size_t slash = name.rfind('/'); slash != std::string_view::npos; slash = name.rfind('/')) {
      name = name.substr(0, slash);
      const OpId id = names.op(WithoutAgain(name));
      if (Valid(id) && phase_[id.index()] == Phase::kForward) return row_of_op_[id.index()];
    }
    return kNoRow;
  }

  // An op of the backward pass stands beside that which it differentiates; sums and the like beside the part of the
  // forward pass whose scope they have.
  void PlaceBackward() {
    const std::vector<std::string_view> scopes = AdoptScopes(plan_.graph);
    const NameIndex names(plan_.graph);
    std::unordered_map<std::string_view, int32_t> row_of_scope;
    for (uint32_t o = 0; o < scopes.size(); ++o) {
      if (row_of_op_[o] == kNoRow || side_[o]) continue;  // side tables may be made within any scope
      for (std::string_view scope = scopes[o]; row_of_scope.try_emplace(scope, row_of_op_[o]).second;) {
        const size_t slash = scope.rfind('/');
        if (slash == std::string_view::npos) break;
        scope = scope.substr(0, slash);
      }
    }
    for (uint32_t o = 0; o < scopes.size(); ++o) {
      if (phase_[o] != Phase::kBackward) continue;
      row_of_op_[o] = RowOfDifferentiated(names, plan_.graph.ops[o]);
      if (row_of_op_[o] != kNoRow) continue;
      std::string_view scope = scopes[o];
      const std::string_view pass = IsAgain(plan_.graph, plan_.graph.ops[o]) ? kAgainScope : kBackwardScope;
      scope.remove_prefix(std::min(scope.size(), pass.size() + 1));
      auto found = row_of_scope.find(scope);
      while (found == row_of_scope.end() && scope.rfind('/') != std::string_view::npos) {
        scope = scope.substr(0, scope.rfind('/'));
        found = row_of_scope.find(scope);
      }
      row_of_op_[o] = found != row_of_scope.end() ? found->second : static_cast<int32_t>(out_.rows.size()) - 1;
    }
  }

  OverviewWork* WorkOf(uint32_t o) {
    if (phase_[o] == Phase::kOptimizer) return &out_.optimizer;
    if (row_of_op_[o] == kNoRow) return nullptr;
    OverviewRow& row = out_.rows[row_of_op_[o]];
    return phase_[o] == Phase::kBackward ? &row.backward : &row.forward;
  }

  void AddWork() {
    std::map<OverviewWork*, std::pair<bool, bool>> shared;  // all over all axes, any over some
    for (uint32_t o = 0; o < plan_.graph.ops.size(); ++o) {
      OverviewWork* work = WorkOf(o);
      if (work == nullptr) continue;
      ++work->ops;
      work->compute_seconds += costs_.OpSeconds(o);
      if (out_.bare) continue;
      auto& [all, some] = shared.try_emplace(work, true, false).first->second;
      all = all && SharingOf(plan_, o) == Sharing::kAllAxes;
      some = some || SharingOf(plan_, o) != Sharing::kReplicated;
    }
    for (const auto& [work, how] : shared) {
      work->sharing = how.first ? Sharing::kAllAxes : how.second ? Sharing::kSomeAxes : Sharing::kReplicated;
    }
    std::map<std::pair<CollectiveKind, int>, OverviewCollective> sums;
    for (uint32_t t = 0; t < plan_.transitions.size(); ++t) {
      const OpId whose = costs_.ForWhom(t);
      if (!whose.valid()) continue;
      OverviewWork* work = WorkOf(whose.value);
      if (work != nullptr) work->compute_seconds += costs_.CutSeconds(t);
      const auto runs = static_cast<double>(costs_.runs_of_transition(t));
      for (const BoxingStep& step : plan_.transitions[t].steps) {
        if (work != nullptr && step.seconds > 0) work->collective_seconds[step.kind] += runs * step.seconds;
        if (RowOf(step.kind).local) continue;
        OverviewCollective& sum = sums[{step.kind, step.axis}];
        sum.kind = step.kind;
        sum.axis = MeshAxisName(plan_, step.axis);
        sum.count += costs_.runs_of_transition(t);
        sum.bytes += runs * step.wire_bytes;
        sum.seconds += runs * step.seconds;
      }
    }
    for (auto& [key, sum] : sums) out_.collectives.push_back(std::move(sum));
    std::ranges::stable_sort(out_.collectives, std::greater<>(), &OverviewCollective::seconds);
  }

  // Each parameter counts for the part that reads it first.
  void AddParameters() {
    std::vector<bool> counted(plan_.graph.tensors.size(), false);
    for (uint32_t o = 0; o < plan_.graph.ops.size(); ++o) {
      if (phase_[o] != Phase::kForward || row_of_op_[o] == kNoRow) continue;
      for (const TensorId id : plan_.graph.OperandsOf(plan_.graph.ops[o])) {
        if (!id.valid() || counted[id.index()]) continue;
        const Tensor& tensor = plan_.graph.tensor(id);
        if (tensor.role != TensorRole::kParameter) continue;
        counted[id.index()] = true;
        const NdSbp* layout = SourceLayout(plan_, id);
        int64_t& bytes = out_.rows[row_of_op_[o]].parameter_bytes;
        bytes = SaturatingAdd(
            bytes, layout == nullptr ? tensor.type.num_bytes() : LocalBytes(tensor.type, *layout, plan_.mesh));
      }
    }
  }

  struct FlowSum {
    std::set<std::pair<uint32_t, uint32_t>> tensors;  // producer in the first copy, result
    double bytes = -1;                                // of the largest
    std::string layout;
    double boxing_seconds = -1;
    bool boxed = false;
    CollectiveKind collective = CollectiveKind::kAllGather;
  };

  void AddFlows() {
    std::map<std::tuple<Phase, size_t, size_t>, FlowSum> flows;
    for (uint32_t o = 0; o < plan_.graph.ops.size(); ++o) {
      if (row_of_op_[o] == kNoRow) continue;
      const std::vector<TensorId> operands = plan_.graph.OperandsOf(plan_.graph.ops[o]);
      for (size_t i = 0; i < operands.size(); ++i) {
        if (!operands[i].valid()) continue;
        const Tensor& tensor = plan_.graph.tensor(operands[i]);
        if (!Valid(tensor.producer)) continue;
        const uint32_t from = tensor.producer.value;
        if (side_[from]) continue;  // nearly all read them
        if (row_of_op_[from] == kNoRow || row_of_op_[from] == row_of_op_[o] || phase_[from] != phase_[o]) continue;
        FlowSum& sum = flows[{phase_[o], row_of_op_[from], row_of_op_[o]}];
        AddTensor(sum, o, i, operands[i], from);
      }
    }
    for (auto& [key, sum] : flows) {
      const auto& [phase, from, to] = key;
      out_.flows.push_back(
          {from, to, phase, std::move(sum.layout), sum.bytes, sum.tensors.size(), sum.boxed, sum.collective});
    }
  }

  void AddTensor(FlowSum& sum, uint32_t o, size_t operand, TensorId id, uint32_t from) {
    const Tensor& tensor = plan_.graph.tensor(id);
    if (!sum.tensors.emplace(parts_.stand_in[from], tensor.producer_index).second) return;
    const int32_t t = transitions_.Feeding(o, operand);
    const bool boxed = t >= 0 && costs_.ForWhom(static_cast<uint32_t>(t)).valid();
    const auto bytes = static_cast<double>(tensor.type.num_bytes());
    if (bytes > sum.bytes) {
      sum.bytes = bytes;
      const int rank = tensor.type.rank();
      const NdSbp* layout = boxed ? &plan_.transitions[t].from : SourceLayout(plan_, id);
      if (layout != nullptr) sum.layout = FormatLayout(*layout, rank, options_.notation);
      if (boxed) sum.layout += StrCat(" → ", FormatLayout(plan_.transitions[t].to, rank, options_.notation));
    }
    if (!boxed) return;
    for (const BoxingStep& step : plan_.transitions[t].steps) {
      if (RowOf(step.kind).local || step.seconds <= sum.boxing_seconds) continue;
      sum.boxing_seconds = step.seconds;
      sum.boxed = true;
      sum.collective = step.kind;
    }
  }

  void AddKept() {
    if (!out_.training) return;
    const std::vector<int64_t> kept = KeptBytesPerTensor(plan_);
    std::set<TensorId> gradients;
    std::vector<uint32_t> updates;
    for (uint32_t o = 0; o < plan_.graph.ops.size(); ++o) {
      const Op& op = plan_.graph.ops[o];
      if (phase_[o] == Phase::kForward && row_of_op_[o] != kNoRow) {
        int64_t& bytes = out_.rows[row_of_op_[o]].kept_bytes;
        for (const TensorId id : op.outputs) bytes = id.valid() ? SaturatingAdd(bytes, kept[id.index()]) : bytes;
      }
      if (phase_[o] != Phase::kOptimizer) continue;
      updates.push_back(o);
      for (const TensorId id : op.inputs) {
        const OpId producer = id.valid() ? plan_.graph.tensor(id).producer : OpId();
        if (!Valid(producer) || phase_[producer.index()] != Phase::kBackward || !gradients.insert(id).second) continue;
        out_.gradient_bytes += static_cast<double>(plan_.graph.tensor(id).type.num_bytes());
      }
    }
    out_.states = StatesLine(plan_, updates);
  }

  void AddEnds() {
    const auto end = [&](TensorId id, const NdSbp* layout) {
      const Tensor& tensor = plan_.graph.tensor(id);
      return StrCat(Shorten(tensor.name, 28), " ", DTypeName(tensor.type.dtype), FormatShape(tensor.type.shape),
                    layout == nullptr ? "" : " ",
                    layout == nullptr ? "" : FormatLayout(*layout, tensor.type.rank(), options_.notation));
    };
    for (const TensorId id : plan_.graph.inputs) out_.inputs.push_back(end(id, SourceLayout(plan_, id)));
    const std::vector<NdSbp> layouts = out_.bare ? std::vector<NdSbp>() : OutputLayoutsOf(plan_);
    for (size_t i = 0; i < plan_.graph.outputs.size(); ++i) {
      const bool known = i < layouts.size() && layouts[i].size() == plan_.mesh.num_axes();
      out_.outputs.push_back(end(plan_.graph.outputs[i], known ? &layouts[i] : nullptr));
    }
  }

  void AddTotals() {
    out_.compute_seconds = plan_.total.compute_seconds;
    out_.collective_seconds = plan_.total.collective_seconds;
    const MemorySummary& memory = plan_.memory;
    out_.peak_bytes = memory.peak_bytes;
    if (!out_.bare) out_.device_bytes = static_cast<int64_t>(plan_.cluster.device.memory_bytes.value);
    const auto add = [&](std::string_view name, int64_t bytes) {
      if (bytes > 0) out_.memory.emplace_back(name, bytes);
    };
    if (const auto split = out_.bare ? std::nullopt : SplitPeak(plan_); split) {
      for (const auto& [name, bytes] : PartsOf(*split)) add(name, bytes);
    } else {
      add("parameters", memory.parameter_bytes);
      add("activations", memory.activation_bytes);
      add("boxing buffers", memory.boxing_bytes);
    }
    add("workspace of kernels", memory.workspace_bytes);
    const ModuleNames names(plan_.graph);
    const NameIndex index(plan_.graph);
    for (const MemoryHolder& holder : memory.holders) {
      out_.holders.emplace_back(BufferLabel(plan_.graph, index, names, holder.name), holder.bytes);
    }
    std::map<uint32_t, size_t> counts;
    for (const Op& op : plan_.graph.ops) ++counts[op.type];
    for (const auto& [type, count] : counts) out_.types.emplace_back(plan_.graph.op_types[type], count);
    std::ranges::stable_sort(out_.types, std::greater<>(), &std::pair<std::string, size_t>::second);
  }

  const Plan& plan_;
  const RenderOptions& options_;
  const TransitionIndex transitions_;
  const StepCosts costs_;
  OverviewParts parts_;
  std::vector<int32_t> row_of_op_;
  std::vector<Phase> phase_;
  std::vector<bool> side_;
  Overview out_;
};

}  // namespace

double OverviewWork::seconds() const {
  double sum = compute_seconds;
  for (const auto& [kind, seconds] : collective_seconds) sum += seconds;
  return sum;
}

Result<Overview> MakeOverview(const Plan& plan, const RenderOptions& options) {
  return OverviewBuilder(plan, options).Build();
}

}  // namespace sbp
