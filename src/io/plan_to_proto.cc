// Plan -> message. Nothing here depends on the numbers of tensors: equal plans give equal documents.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "boxing/boxing.h"
#include "cluster/collective_kind.h"
#include "graph/graph.h"
#include "io/cluster_proto.h"
#include "io/graph_proto.h"
#include "io/kernels_proto.h"
#include "io/layout_text.h"
#include "io/physical_proto.h"
#include "io/plan_proto.h"
#include "io/utf8.h"
#include "plan/ends.h"
#include "plan/pins.h"
#include "plan/plan.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

namespace v1 = sbp_plan::v1;

class PlanWriter {
 public:
  PlanWriter(const Plan& plan, v1::Plan& message) : plan_(plan), message_(message) {}

  void Write() {
    message_.set_version(ToUtf8(plan_.version));
    message_.mutable_model()->set_path(ToUtf8(plan_.model_path));
    message_.mutable_model()->set_fingerprint(ToUtf8(plan_.model_fingerprint));
    message_.set_mesh(ToString(plan_.mesh));
    WriteOptions();
    WriteSummary();
    WriteDecisions();
    WriteLayouts();
    WriteOutputs();
    for (const Transition& transition : plan_.transitions) WriteTransition(transition, *message_.add_transitions());
    WriteInPlace();
    if (!plan_.kernels.empty()) KernelsToMessage(plan_, *message_.mutable_kernels());
    ClusterToMessage(plan_.cluster, *message_.mutable_cluster());
    GraphToMessage(plan_.graph, *message_.mutable_graph());
    if (plan_.physical) PhysicalToMessage(plan_, *message_.mutable_physical());
  }

 private:
  std::string Name(TensorId id) const { return id.valid() ? ToUtf8(plan_.graph.tensor(id).name) : ""; }
  std::string Name(OpId id) const { return id.valid() ? ToUtf8(plan_.graph.op(id).name) : ""; }

  void WriteOptions() {
    const PlanOptions& options = plan_.options;
    v1::Options& message = *message_.mutable_options();
    message.set_strategy(ToUtf8(options.strategy));
    message.set_cost(ToUtf8(options.criterion));
    for (const std::string& pin : options.pins) message.add_pins(ToUtf8(pin));
    for (const auto& [output, input] : options.ties) {
      v1::Tie& tie = *message.add_ties();
      tie.set_output(ToUtf8(output));
      tie.set_input(ToUtf8(input));
    }
    message.set_no_ties(!options.ties_by_name);
    message.set_even_only(options.even_only);
    message.set_no_simplify(!options.simplify);
    message.set_strict(options.strict);
    for (const auto& [name, value] : options.train) {
      v1::Property& flag = *message.add_train();
      flag.set_name(ToUtf8(name));
      flag.set_value(ToUtf8(value));
    }
    message.set_outputs(std::string(OutputPolicyName(options.outputs)));
    if (options.memory_limit) message.set_memory_limit(*options.memory_limit);
    if (options.prefetch) message.set_prefetch(*options.prefetch);
    if (options.uniform) message.set_uniform(*options.uniform);
    message.set_reorders(options.reorders);
    for (const auto& [name, text] : options.rule_files) {
      v1::RuleFile& file = *message.add_rules();
      file.set_name(ToUtf8(name));
      file.set_text(ToUtf8(text));
    }
  }

  void WriteSummary() {
    v1::Cost& total = *message_.mutable_total();
    total.set_compute_seconds(plan_.total.compute_seconds);
    total.set_collective_seconds(plan_.total.collective_seconds);
    total.set_bytes_moved(plan_.total.bytes_moved);
    if (plan_.has_bound) message_.set_lower_bound_seconds(plan_.lower_bound_seconds);
    if (plan_.schedule_bound_seconds) message_.set_schedule_bound_seconds(*plan_.schedule_bound_seconds);
    if (plan_.uniformity_cost) message_.set_uniformity_cost(*plan_.uniformity_cost);
    WriteMemory(*message_.mutable_memory());
    for (const std::string& warning : plan_.warnings) message_.add_warnings(ToUtf8(warning));
    for (const PinMatch& match : plan_.pin_matches) {
      v1::PinMatch& message = *message_.add_pin_matches();
      message.set_pin(ToUtf8(match.text));
      message.set_count(match.count);
      message.set_of_ops(match.of_ops);
      for (const std::string& name : match.first) message.add_first(ToUtf8(name));
    }
    for (const ReplicatedTensor& replicated : plan_.replicated) {
      v1::Replicated& message = *message_.add_replicated();
      message.set_tensor(Name(replicated.tensor));
      message.set_reason(ToUtf8(replicated.reason));
    }
    for (const LayoutConflict& conflict : plan_.conflicts) {
      v1::Conflict& message = *message_.add_conflicts();
      message.set_where(ToUtf8(conflict.where));
      message.set_given(ToUtf8(conflict.given));
      message.set_used(ToUtf8(conflict.used));
      message.set_reason(ToUtf8(conflict.reason));
    }
  }

  void WriteMemory(v1::Memory& message) const {
    const MemorySummary& memory = plan_.memory;
    message.set_peak_bytes(memory.peak_bytes);
    message.set_parameter_bytes(memory.parameter_bytes);
    message.set_activation_bytes(memory.activation_bytes);
    message.set_boxing_bytes(memory.boxing_bytes);
    message.set_workspace_bytes(memory.workspace_bytes);
    message.set_peak_op(Name(memory.peak_op));
    for (const MemoryHolder& holder : memory.holders) {
      v1::Holder& out = *message.add_holders();
      out.set_name(ToUtf8(holder.name));
      out.set_category(ToUtf8(holder.kind));
      out.set_bytes(holder.bytes);
    }
  }

  void WriteDecisions() {
    for (const DecisionRecord& record : plan_.records) {
      v1::Decision& message = *message_.add_decisions();
      message.set_signature(ToString(record.signature));
      message.set_choice(ToUtf8(record.choice));
      message.set_reason(ToUtf8(record.reason));
      message.set_compute_seconds(record.compute_seconds);
      message.set_price(record.price);
      message.set_price_unit(ToUtf8(record.price_unit));
      if (record.alternative) message.set_alternative(ToString(*record.alternative));
      message.set_alternative_price(record.alternative_price);
      message.set_num_candidates(record.num_candidates);
      message.set_alone_seconds(record.alone_seconds);
    }
    for (size_t i = 0; i < plan_.op_records.size(); ++i) {
      message_.mutable_decisions(static_cast<int>(plan_.op_records[i]))->add_ops(Name(OpId(i)));
    }
  }

  // Does the tensor lie as its producer's decision says?
  bool LiesAsDecided(TensorId id) const {
    const Tensor& tensor = plan_.graph.tensor(id);
    if (!tensor.producer.valid()) return false;
    const std::vector<NdSbp>& outputs = plan_.decision(tensor.producer).signature.outputs;
    return tensor.producer_index < outputs.size() && outputs[tensor.producer_index] == plan_.source_layouts[id.index()];
  }

  void WriteLayouts() {
    for (const TensorId id : plan_.graph.inputs) PlaceTensor(id);
    for (size_t i = 0; i < plan_.graph.tensors.size(); ++i) {
      if (plan_.graph.tensors[i].role == TensorRole::kParameter) PlaceTensor(TensorId(i));
    }
    for (const Op& op : plan_.graph.ops) {
      for (const TensorId id : op.outputs) {
        if (id.valid() && !LiesAsDecided(id)) PlaceTensor(id);
      }
    }
  }

  void WriteInPlace() {
    std::map<std::pair<uint32_t, uint32_t>, int> known;  // result, operand -> index in the message
    for (const InPlaceWrite& write : plan_.in_place) {
      const auto [it, is_new] = known.try_emplace({write.result, write.operand}, message_.in_place_size());
      if (is_new) {
        v1::InPlace& message = *message_.add_in_place();
        message.set_result(write.result);
        message.set_operand(write.operand);
      }
      message_.mutable_in_place(it->second)->add_ops(Name(write.op));
    }
  }

  void WriteOutputs() {
    const std::vector<NdSbp> layouts = OutputLayoutsOf(plan_);
    std::map<NdSbp, int> known;  // layout -> index among the message's outputs
    std::set<TensorId> written;  // a graph may name an output twice
    for (size_t i = 0; i < plan_.graph.outputs.size(); ++i) {
      const NdSbp& layout = layouts[i];
      const auto [it, is_new] = known.try_emplace(layout, message_.outputs_size());
      if (is_new) message_.add_outputs()->set_layout(layouts_.Format(layout));
      if (!written.insert(plan_.graph.outputs[i]).second) continue;
      message_.mutable_outputs(it->second)->add_tensors(Name(plan_.graph.outputs[i]));
    }
  }

  void PlaceTensor(TensorId id) {
    const NdSbp& layout = plan_.source_layouts[id.index()];
    const auto [it, is_new] = placements_.try_emplace(layout, message_.layouts_size());
    if (is_new) message_.add_layouts()->set_layout(layouts_.Format(layout));
    message_.mutable_layouts(it->second)->add_tensors(Name(id));
  }

  void WriteTransition(const Transition& transition, v1::Transition& message) {
    message.set_tensor(Name(transition.tensor));
    message.set_from(layouts_.Format(transition.from));
    message.set_to(layouts_.Format(transition.to));
    message.set_seconds(transition.seconds);
    message.set_wire_bytes(transition.wire_bytes);
    message.set_cut_seconds(transition.cut_seconds);
    if (transition.ahead_of.valid()) message.set_ahead_of(Name(transition.ahead_of));
    message.set_reason(ToUtf8(transition.reason));
    for (const BoxingStep& step : transition.steps) {
      v1::Collective& out = *message.add_steps();
      out.set_collective(std::string(CollectiveKindName(step.kind)));
      out.set_axis(ToUtf8(plan_.mesh.axes[static_cast<size_t>(step.axis)].name));
      out.set_from(layouts_.Format(step.from));
      out.set_to(layouts_.Format(step.to));
      out.set_tensor_bytes(step.tensor_bytes);
      out.set_wire_bytes(step.wire_bytes);
      out.set_seconds(step.seconds);
    }
    for (const Use& use : transition.consumers) {
      v1::Consumer& out = *message.add_consumers();
      out.set_op(Name(use.op));
      out.set_operand(use.operand);
    }
  }

  const Plan& plan_;
  v1::Plan& message_;
  LayoutWriter layouts_;
  std::map<NdSbp, int> placements_;  // layout -> index among the message's layouts
};

}  // namespace

void PlanToMessage(const Plan& plan, v1::Plan& message) { PlanWriter(plan, message).Write(); }

}  // namespace sbp
