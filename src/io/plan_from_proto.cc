// Message -> plan. Names become ids; every size, index and number is checked before it is used.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/number_text.h"
#include "base/status.h"
#include "base/text.h"
#include "boxing/boxing.h"
#include "cluster/collective_kind.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "io/cluster_proto.h"
#include "io/graph_proto.h"
#include "io/kernels_proto.h"
#include "io/layout_text.h"
#include "io/physical_proto.h"
#include "io/plan_proto.h"
#include "plan/ends.h"
#include "plan/pins.h"
#include "plan/plan.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"
#include "sbp/signature.h"

namespace sbp {
namespace {

namespace v1 = sbp_plan::v1;

constexpr uint32_t kNoRecord = 0xffffffff;

struct Amount {
  std::string_view name;
  double value;
};
// Seconds and bytes: finite and not negative.
Status CheckAmounts(std::initializer_list<Amount> amounts) {
  for (const Amount& amount : amounts) {
    if (std::isfinite(amount.value) && amount.value >= 0) continue;
    return BadInput(StrCat(Quote(amount.name), ": expected a finite number >= 0, found ", FormatGeneral(amount.value)));
  }
  return OkStatus();
}

// The split dimensions of a layout must be dimensions of the tensor.
Status CheckRank(const NdSbp& layout, const Tensor& tensor) {
  for (const Sbp sbp : layout) {
    if (sbp.is_split() && sbp.dim() >= tensor.type.rank()) {
      return BadInput(StrCat("layout ", ToString(layout), " splits dimension ", sbp.dim(), " of tensor ",
                             Quote(tensor.name), ", which is ", ToString(tensor.type)));
    }
  }
  return OkStatus();
}

class PlanReader {
 public:
  explicit PlanReader(const v1::Plan& message) : message_(message) {}

  Result<Plan> Read() {
    SBP_RETURN_IF_ERROR(ReadFrame());
    index_.emplace(plan_.graph);
    layouts_.emplace(plan_.mesh.num_axes());
    SBP_RETURN_IF_ERROR(ReadOptions());
    SBP_RETURN_IF_ERROR(ReadSummary());
    SBP_RETURN_IF_ERROR(ReadMemory().WithContext("memory"));
    SBP_RETURN_IF_ERROR(ReadDecisions());
    if (message_.has_kernels()) {
      SBP_RETURN_IF_ERROR(KernelsFromMessage(message_.kernels(), *index_, plan_).WithContext("kernels"));
    }
    SBP_RETURN_IF_ERROR(ReadLayouts());
    plan_.transitions.reserve(static_cast<size_t>(message_.transitions_size()));
    for (int i = 0; i < message_.transitions_size(); ++i) {
      const Status status = ReadTransition(message_.transitions(i));
      if (!status.ok()) return status.WithContext(StrCat("transitions[", i, "]"));
    }
    SBP_RETURN_IF_ERROR(ReadOutputs());
    for (int i = 0; i < message_.in_place_size(); ++i) {
      const Status status = ReadInPlace(message_.in_place(i));
      if (!status.ok()) return status.WithContext(StrCat("in_place[", i, "]"));
    }
    std::ranges::sort(plan_.in_place, {}, [](const InPlaceWrite& write) { return std::pair(write.op, write.result); });
    if (message_.has_physical()) {
      SBP_RETURN_IF_ERROR(PhysicalFromMessage(message_.physical(), *index_, plan_).WithContext("physical"));
    }
    index_.reset();  // it refers to the graph's names
    return std::move(plan_);
  }

 private:
  // What the rest refers to: graph, mesh and cluster.
  Status ReadFrame() {
    plan_.version = message_.version();
    plan_.model_path = message_.model().path();
    plan_.model_fingerprint = message_.model().fingerprint();
    if (message_.mesh().empty()) return BadInput("\"mesh\" is missing (as in \"data=2,model=4\")");
    SBP_ASSIGN_OR_RETURN(plan_.mesh, ParseMesh(message_.mesh()));
    if (!message_.has_cluster()) return BadInput("\"cluster\" is missing");
    SBP_ASSIGN_OR_RETURN(plan_.cluster, ClusterFromMessage(message_.cluster(), "cluster"));
    if (!message_.has_graph()) return BadInput("\"graph\" is missing");
    SBP_ASSIGN_OR_RETURN(plan_.graph, GraphFromMessage(message_.graph(), "graph"));
    for (const Tensor& tensor : plan_.graph.tensors) {
      if (tensor.type.kind != ValueKind::kTensor || tensor.type.is_static()) continue;
      return BadInput(StrCat("graph: tensor ", Quote(tensor.name), " is ", ToString(tensor.type),
                             "; in a plan every size is a number"));
    }
    return OkStatus();
  }

  Status ReadOptions() {
    const v1::Options& message = message_.options();
    PlanOptions& options = plan_.options;
    options.strategy = message.strategy();
    options.criterion = message.cost();
    options.pins.assign(message.pins().begin(), message.pins().end());
    for (const v1::Tie& tie : message.ties()) options.ties.emplace_back(tie.output(), tie.input());
    options.ties_by_name = !message.no_ties();
    options.even_only = message.even_only();
    options.simplify = !message.no_simplify();
    options.strict = message.strict();
    for (const v1::Property& flag : message.train()) options.train.emplace_back(flag.name(), flag.value());
    if (message.has_memory_limit()) options.memory_limit = message.memory_limit();
    if (message.has_prefetch()) options.prefetch = message.prefetch();
    if (message.has_uniform()) options.uniform = message.uniform();
    options.reorders = message.reorders();
    for (const v1::RuleFile& file : message.rules()) options.rule_files.emplace_back(file.name(), file.text());
    // Plans from before there was a choice took outputs as they were written.
    const std::optional<OutputPolicy> outputs =
        ParseOutputPolicy(message.outputs().empty() ? "any" : message.outputs());
    if (!outputs) {
      return BadInput(StrCat("options: \"outputs\" is ", Quote(message.outputs()), "; expected sharded, whole or any"));
    }
    options.outputs = *outputs;
    return OkStatus();
  }

  Status ReadSummary() {
    if (plan_.options.memory_limit.value_or(0) < 0) {
      return BadInput(StrCat("options: \"memory_limit\" ", *plan_.options.memory_limit, " is negative"));
    }
    if (plan_.options.prefetch.value_or(0) < 0) {
      return BadInput(StrCat("options: \"prefetch\" ", *plan_.options.prefetch, " is negative"));
    }
    if (const double share = plan_.options.uniform.value_or(0); share != -1 && !(share >= 0 && share < 1)) {
      return BadInput(StrCat("options: \"uniform\" ", FormatDouble(share), "; expected a share below 1, or -1"));
    }
    const v1::Cost& total = message_.total();
    plan_.total = {total.compute_seconds(), total.collective_seconds(), total.bytes_moved()};
    const Status amounts = CheckAmounts({{"compute_seconds", total.compute_seconds()},
                                         {"collective_seconds", total.collective_seconds()},
                                         {"bytes_moved", total.bytes_moved()}});
    if (!amounts.ok()) return amounts.WithContext("total");
    plan_.has_bound = message_.has_lower_bound_seconds();
    plan_.lower_bound_seconds = message_.lower_bound_seconds();
    if (message_.has_schedule_bound_seconds()) plan_.schedule_bound_seconds = message_.schedule_bound_seconds();
    if (message_.has_uniformity_cost()) plan_.uniformity_cost = message_.uniformity_cost();
    SBP_RETURN_IF_ERROR(CheckAmounts({{"lower_bound_seconds", plan_.lower_bound_seconds},
                                      {"schedule_bound_seconds", plan_.schedule_bound_seconds.value_or(0)},
                                      {"uniformity_cost", plan_.uniformity_cost.value_or(0)}}));
    if (plan_.uniformity_cost.value_or(0) >= 1) {
      return BadInput(StrCat("\"uniformity_cost\" ", FormatDouble(*plan_.uniformity_cost), "; expected below 1"));
    }
    plan_.warnings.assign(message_.warnings().begin(), message_.warnings().end());
    for (const v1::PinMatch& match : message_.pin_matches()) {
      plan_.pin_matches.push_back(
          {match.pin(), "", match.count(), match.of_ops(), {match.first().begin(), match.first().end()}});
    }
    for (const v1::Replicated& replicated : message_.replicated()) {
      SBP_ASSIGN_OR_RETURN(const TensorId id, FindTensor(replicated.tensor()));
      plan_.replicated.push_back({id, replicated.reason()});
    }
    for (const v1::Conflict& conflict : message_.conflicts()) {
      plan_.conflicts.push_back({conflict.where(), conflict.given(), conflict.used(), conflict.reason()});
    }
    return OkStatus();
  }

  Status ReadMemory() {
    const v1::Memory& message = message_.memory();
    MemorySummary& memory = plan_.memory;
    memory.peak_bytes = message.peak_bytes();
    memory.parameter_bytes = message.parameter_bytes();
    memory.activation_bytes = message.activation_bytes();
    memory.boxing_bytes = message.boxing_bytes();
    memory.workspace_bytes = message.workspace_bytes();
    SBP_RETURN_IF_ERROR(CheckAmounts({{"peak_bytes", static_cast<double>(memory.peak_bytes)},
                                      {"parameter_bytes", static_cast<double>(memory.parameter_bytes)},
                                      {"activation_bytes", static_cast<double>(memory.activation_bytes)},
                                      {"boxing_bytes", static_cast<double>(memory.boxing_bytes)},
                                      {"workspace_bytes", static_cast<double>(memory.workspace_bytes)}}));
    if (!message.peak_op().empty()) {
      SBP_ASSIGN_OR_RETURN(memory.peak_op, FindOp(message.peak_op()));
    }
    for (const v1::Holder& holder : message.holders()) {
      SBP_RETURN_IF_ERROR(CheckAmounts({{"bytes", static_cast<double>(holder.bytes())}}));
      memory.holders.push_back({holder.name(), holder.category(), holder.bytes()});
    }
    return OkStatus();
  }

  Status ReadDecisions() {
    plan_.op_records.assign(plan_.graph.ops.size(), kNoRecord);
    for (int i = 0; i < message_.decisions_size(); ++i) {
      const Status status = ReadDecision(message_.decisions(i));
      if (!status.ok()) return status.WithContext(StrCat("decisions[", i, "]"));
    }
    for (size_t i = 0; i < plan_.op_records.size(); ++i) {
      if (plan_.op_records[i] != kNoRecord) continue;
      return BadInput(StrCat("op ", Quote(plan_.graph.ops[i].name), " stands in no decision"));
    }
    return OkStatus();
  }

  Status ReadDecision(const v1::Decision& message) {
    const auto number = static_cast<uint32_t>(plan_.records.size());
    DecisionRecord& record = plan_.records.emplace_back();
    SBP_ASSIGN_OR_RETURN(record.signature, ReadSignature(message.signature()));
    if (!message.alternative().empty()) {
      SBP_ASSIGN_OR_RETURN(record.alternative, ReadSignature(message.alternative()));
    }
    record.choice = message.choice();
    record.reason = message.reason();
    record.compute_seconds = message.compute_seconds();
    record.alone_seconds = message.alone_seconds();
    SBP_RETURN_IF_ERROR(
        CheckAmounts({{"compute_seconds", record.compute_seconds}, {"alone_seconds", record.alone_seconds}}));
    record.price = message.price();
    record.alternative_price = message.alternative_price();
    if (!std::isfinite(record.price) || !std::isfinite(record.alternative_price)) {
      return BadInput("\"price\" and \"alternative_price\": expected finite numbers");
    }
    record.price_unit = message.price_unit();
    record.num_candidates = message.num_candidates();
    for (const std::string& name : message.ops()) {
      SBP_ASSIGN_OR_RETURN(const OpId id, FindOp(name));
      uint32_t& slot = plan_.op_records[id.index()];
      if (slot != kNoRecord) return BadInput(StrCat("op ", Quote(name), " stands in decisions[", slot, "] too"));
      slot = number;
      SBP_RETURN_IF_ERROR(CheckSignature(record.signature, plan_.graph.op(id)));
      if (record.alternative) SBP_RETURN_IF_ERROR(CheckSignature(*record.alternative, plan_.graph.op(id)));
    }
    return OkStatus();
  }

  Result<Signature> ReadSignature(const std::string& text) const { return ParseSignature(text, plan_.mesh.num_axes()); }

  Status CheckSignature(const Signature& signature, const Op& op) const {
    const size_t operands = op.inputs.size() + op.captures.size();
    if (signature.inputs.size() != operands || signature.outputs.size() != op.outputs.size()) {
      return BadInput(StrCat("op ", Quote(op.name), " has ", operands, " operands and ", op.outputs.size(),
                             " results, its signature ", ToString(signature), " has ", signature.inputs.size(), " and ",
                             signature.outputs.size()));
    }
    const std::span<const NdSbp> inputs(signature.inputs);
    SBP_RETURN_IF_ERROR(CheckRanks(op, inputs.first(op.inputs.size()), op.inputs));
    SBP_RETURN_IF_ERROR(CheckRanks(op, inputs.subspan(op.inputs.size()), op.captures));
    return CheckRanks(op, signature.outputs, op.outputs);
  }

  Status CheckRanks(const Op& op, std::span<const NdSbp> layouts, const std::vector<TensorId>& ids) const {
    for (size_t i = 0; i < ids.size(); ++i) {
      if (!ids[i].valid()) continue;
      const Status status = CheckRank(layouts[i], plan_.graph.tensor(ids[i]));
      if (!status.ok()) return status.WithContext(StrCat("op ", Quote(op.name)));
    }
    return OkStatus();
  }

  Status ReadLayouts() {
    std::vector<NdSbp>& layouts = plan_.source_layouts;
    layouts.resize(plan_.graph.tensors.size());
    for (int i = 0; i < message_.layouts_size(); ++i) {
      const v1::Placement& placement = message_.layouts(i);
      for (const std::string& name : placement.tensors()) {
        const Status status = PlaceTensor(placement.layout(), name);
        if (!status.ok()) return status.WithContext(StrCat("layouts[", i, "]"));
      }
    }
    for (size_t i = 0; i < layouts.size(); ++i) {
      if (layouts[i].size() > 0) continue;
      const Tensor& tensor = plan_.graph.tensors[i];
      if (!tensor.producer.valid()) return BadInput(StrCat("layouts: tensor ", Quote(tensor.name), " has none"));
      layouts[i] = plan_.decision(tensor.producer).signature.outputs[tensor.producer_index];
    }
    return OkStatus();
  }

  // What is not said follows from the rest (plan/ends.h).
  Status ReadOutputs() {
    plan_.output_layouts = OutputLayoutsOf(plan_);
    std::map<TensorId, NdSbp> said;
    for (int i = 0; i < message_.outputs_size(); ++i) {
      const v1::Placement& placement = message_.outputs(i);
      for (const std::string& name : placement.tensors()) {
        const Status status = PlaceOutput(placement.layout(), name, said);
        if (!status.ok()) return status.WithContext(StrCat("outputs[", i, "]"));
      }
    }
    for (size_t i = 0; i < plan_.graph.outputs.size(); ++i) {
      const auto found = said.find(plan_.graph.outputs[i]);
      if (found != said.end()) plan_.output_layouts[i] = found->second;
    }
    return OkStatus();
  }

  Status PlaceOutput(const std::string& layout, const std::string& name, std::map<TensorId, NdSbp>& said) {
    SBP_ASSIGN_OR_RETURN(const TensorId id, FindTensor(name));
    SBP_ASSIGN_OR_RETURN(const NdSbp sbp, ReadLayout(layout, id));
    const std::vector<TensorId>& outputs = plan_.graph.outputs;
    if (std::find(outputs.begin(), outputs.end(), id) == outputs.end()) {
      return BadInput(StrCat("tensor ", Quote(name), " is no output of the graph"));
    }
    if (!said.emplace(id, sbp).second) return BadInput(StrCat("output ", Quote(name), " has two layouts"));
    return OkStatus();
  }

  Status PlaceTensor(const std::string& layout, const std::string& name) {
    SBP_ASSIGN_OR_RETURN(const TensorId id, FindTensor(name));
    SBP_ASSIGN_OR_RETURN(const NdSbp sbp, ReadLayout(layout, id));
    NdSbp& slot = plan_.source_layouts[id.index()];
    if (slot.size() > 0) return BadInput(StrCat("tensor ", Quote(name), " has two layouts"));
    slot = sbp;
    return OkStatus();
  }

  Result<NdSbp> ReadLayout(const std::string& text, TensorId tensor) {
    SBP_ASSIGN_OR_RETURN(const NdSbp layout, layouts_->Parse(text));
    SBP_RETURN_IF_ERROR(CheckRank(layout, plan_.graph.tensor(tensor)));
    return layout;
  }

  Status ReadTransition(const v1::Transition& message) {
    Transition& transition = plan_.transitions.emplace_back();
    SBP_ASSIGN_OR_RETURN(transition.tensor, FindTensor(message.tensor()));
    SBP_ASSIGN_OR_RETURN(transition.from, ReadLayout(message.from(), transition.tensor));
    SBP_ASSIGN_OR_RETURN(transition.to, ReadLayout(message.to(), transition.tensor));
    transition.seconds = message.seconds();
    transition.wire_bytes = message.wire_bytes();
    transition.reason = message.reason();
    transition.cut_seconds = message.cut_seconds();
    if (!message.ahead_of().empty()) {
      SBP_ASSIGN_OR_RETURN(transition.ahead_of, FindOp(message.ahead_of()));
    }
    SBP_RETURN_IF_ERROR(CheckAmounts({{"seconds", transition.seconds},
                                      {"wire_bytes", transition.wire_bytes},
                                      {"cut_seconds", transition.cut_seconds}}));
    transition.steps.reserve(static_cast<size_t>(message.steps_size()));
    for (const v1::Collective& step : message.steps()) SBP_RETURN_IF_ERROR(ReadStep(step, transition));
    transition.consumers.reserve(static_cast<size_t>(message.consumers_size()));
    for (const v1::Consumer& consumer : message.consumers()) {
      SBP_ASSIGN_OR_RETURN(const OpId id, FindOp(consumer.op()));
      const Op& op = plan_.graph.op(id);
      const size_t operands = op.inputs.size() + op.captures.size();
      if (consumer.operand() >= operands) {
        return BadInput(StrCat("consumer op ", Quote(op.name), " has ", operands, " operands, none of number ",
                               consumer.operand()));
      }
      transition.consumers.push_back({id, consumer.operand()});
    }
    return OkStatus();
  }

  Status ReadInPlace(const v1::InPlace& message) {
    for (const std::string& name : message.ops()) {
      SBP_ASSIGN_OR_RETURN(const OpId id, FindOp(name));
      const Op& op = plan_.graph.op(id);
      const std::vector<TensorId> operands = plan_.graph.OperandsOf(op);
      if (message.result() >= op.outputs.size() || !op.outputs[message.result()].valid())
        return BadInput(StrCat("op ", Quote(name), " has no result ", message.result()));
      if (message.operand() >= operands.size() || !operands[message.operand()].valid())
        return BadInput(StrCat("op ", Quote(name), " has no operand ", message.operand()));
      plan_.in_place.push_back({id, message.result(), message.operand()});
    }
    return OkStatus();
  }

  Status ReadStep(const v1::Collective& message, Transition& transition) {
    BoxingStep& step = transition.steps.emplace_back();
    const std::optional<CollectiveKind> kind = ParseCollectiveKind(message.collective());
    if (!kind) return BadInput(StrCat(Quote(message.collective()), " is no collective (as in \"all-reduce\")"));
    step.kind = *kind;
    SBP_ASSIGN_OR_RETURN(step.axis, FindAxis(message.axis()));
    SBP_ASSIGN_OR_RETURN(step.from, ReadLayout(message.from(), transition.tensor));
    SBP_ASSIGN_OR_RETURN(step.to, ReadLayout(message.to(), transition.tensor));
    step.tensor_bytes = message.tensor_bytes();
    step.wire_bytes = message.wire_bytes();
    step.seconds = message.seconds();
    return CheckAmounts(
        {{"tensor_bytes", step.tensor_bytes}, {"wire_bytes", step.wire_bytes}, {"seconds", step.seconds}});
  }

  Result<int> FindAxis(std::string_view name) const {
    std::vector<std::string> names;
    for (int axis = 0; axis < plan_.mesh.num_axes(); ++axis) {
      names.push_back(plan_.mesh.axes[static_cast<size_t>(axis)].name);
      if (names.back() == name) return axis;
    }
    return BadInput(StrCat(Quote(name), " is no axis of the mesh ", ToString(plan_.mesh), DidYouMean(name, names)));
  }

  Result<TensorId> FindTensor(std::string_view name) const {
    if (const TensorId id = index_->tensor(name); id.valid()) return id;
    return BadInput(StrCat("the graph has no tensor ", Quote(name), DidYouMean(name, NamesOf(plan_.graph.tensors))));
  }

  Result<OpId> FindOp(std::string_view name) const {
    if (const OpId id = index_->op(name); id.valid()) return id;
    return BadInput(StrCat("the graph has no op ", Quote(name), DidYouMean(name, NamesOf(plan_.graph.ops))));
  }

  template <typename Items>
  static std::vector<std::string> NamesOf(const Items& items) {
    std::vector<std::string> names;
    for (const auto& item : items) names.push_back(item.name);
    return names;
  }

  const v1::Plan& message_;
  Plan plan_;
  std::optional<NameIndex> index_;
  std::optional<LayoutReader> layouts_;
};

}  // namespace

Result<Plan> PlanFromMessage(const v1::Plan& message, std::string_view where) {
  Result<Plan> plan = PlanReader(message).Read();
  if (!plan.ok() && !where.empty()) return plan.status().WithContext(where);
  return plan;
}

}  // namespace sbp
