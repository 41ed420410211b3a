// The canonical text of a plan: for tests and --dump-dir. The graph and the cluster have texts of their own.
#include <string>

#include "base/hash.h"
#include "base/ids.h"
#include "base/text.h"
#include "boxing/boxing.h"
#include "cluster/collective_kind.h"
#include "graph/graph.h"
#include "plan/pins.h"
#include "plan/plan.h"

namespace sbp {
namespace {

std::string NameOf(const Plan& plan, TensorId id) { return id.valid() ? Quote(plan.graph.tensor(id).name) : "_"; }

void DumpOptions(const PlanOptions& options, std::string& out) {
  out += StrCat("options strategy=", options.strategy, " cost=", options.criterion);
  if (!options.ties_by_name) out += " no-ties";
  if (options.outputs != OutputPolicy::kSharded) out += StrCat(" outputs=", OutputPolicyName(options.outputs));
  if (options.even_only) out += " even-only";
  if (!options.simplify) out += " no-simplify";
  if (options.strict) out += " strict";
  if (options.memory_limit) out += StrCat(" memory-limit=", *options.memory_limit);
  if (options.prefetch) out += StrCat(" prefetch=", *options.prefetch);
  if (options.uniform) out += StrCat(" uniform=", FormatDouble(*options.uniform));
  if (options.reorders) out += " reorders";
  out += "\n";
  for (const auto& [flag, value] : options.train) out += StrCat("train ", flag, " ", Quote(value), "\n");
  for (const std::string& pin : options.pins) out += StrCat("pin ", Quote(pin), "\n");
  for (const auto& [output, input] : options.ties) out += StrCat("tie ", Quote(output), " ", Quote(input), "\n");
  for (const auto& [name, text] : options.rule_files)
    out += StrCat("rules ", Quote(name), " ", Fingerprint(text), "\n");
}

void DumpRecord(size_t number, const DecisionRecord& record, std::string& out) {
  out += StrCat("record ", number, " ", ToString(record.signature), " seconds=", FormatDouble(record.compute_seconds),
                " candidates=", record.num_candidates, "\n");
  if (!record.choice.empty()) out += StrCat("  choice: ", record.choice, "\n");
  out += StrCat("  reason: ", record.reason, "; price ", FormatDouble(record.price), " ", record.price_unit, "\n");
  if (record.alternative) {
    out += StrCat("  alternative: ", ToString(*record.alternative), " price ", FormatDouble(record.alternative_price),
                  "\n");
  }
}

void DumpTransition(const Plan& plan, const Transition& transition, std::string& out) {
  out += StrCat("transition ", NameOf(plan, transition.tensor), " ", ToString(transition.from), " to ",
                ToString(transition.to), " bytes=", FormatDouble(transition.wire_bytes),
                " seconds=", FormatDouble(transition.seconds), "\n");
  for (const BoxingStep& step : transition.steps) {
    out += StrCat("  ", CollectiveKindName(step.kind), " on ", plan.mesh.axes[step.axis].name, " ", ToString(step.from),
                  " to ", ToString(step.to), " tensor=", FormatDouble(step.tensor_bytes),
                  " wire=", FormatDouble(step.wire_bytes), " seconds=", FormatDouble(step.seconds), "\n");
  }
  for (const Use& use : transition.consumers) {
    out += StrCat("  for ", Quote(plan.graph.op(use.op).name), " operand ", use.operand, "\n");
  }
  if (transition.ahead_of.valid()) out += StrCat("  ahead of ", plan.graph.op(transition.ahead_of).name, "\n");
  if (!transition.reason.empty()) out += StrCat("  reason: ", transition.reason, "\n");
}

void DumpTotals(const Plan& plan, std::string& out) {
  out += StrCat("total compute=", FormatDouble(plan.total.compute_seconds),
                " collectives=", FormatDouble(plan.total.collective_seconds),
                " bytes=", FormatDouble(plan.total.bytes_moved), "\n");
  if (plan.has_bound) out += StrCat("lower-bound ", FormatDouble(plan.lower_bound_seconds), "\n");
  if (plan.uniformity_cost) out += StrCat("uniformity-cost ", FormatDouble(*plan.uniformity_cost), "\n");
  if (plan.schedule_bound_seconds) out += StrCat("schedule-bound ", FormatDouble(*plan.schedule_bound_seconds), "\n");
  const MemorySummary& memory = plan.memory;
  out += StrCat("memory peak=", memory.peak_bytes, " parameters=", memory.parameter_bytes,
                " activations=", memory.activation_bytes, " boxing=", memory.boxing_bytes);
  if (memory.workspace_bytes > 0) out += StrCat(" workspace=", memory.workspace_bytes);
  if (memory.peak_op.valid()) out += StrCat(" at ", Quote(plan.graph.op(memory.peak_op).name));
  out += "\n";
  for (const MemoryHolder& holder : memory.holders) {
    out += StrCat("  ", holder.bytes, " ", holder.kind, " ", Quote(holder.name), "\n");
  }
}

}  // namespace

std::string Dump(const Plan& plan) {
  std::string out = StrCat("plan ", Quote(plan.model_path), " ", plan.model_fingerprint, " mesh ", ToString(plan.mesh),
                           " cluster ", Quote(plan.cluster.name), "\n");
  DumpOptions(plan.options, out);
  for (size_t i = 0; i < plan.source_layouts.size(); ++i) {
    out += StrCat("tensor ", NameOf(plan, TensorId(i)), " ", ToString(plan.source_layouts[i]), "\n");
  }
  for (size_t i = 0; i < plan.op_records.size(); ++i) {
    out += StrCat("op ", Quote(plan.graph.ops[i].name), " record ", plan.op_records[i], "\n");
  }
  for (size_t i = 0; i < plan.records.size(); ++i) DumpRecord(i, plan.records[i], out);
  for (const Transition& transition : plan.transitions) DumpTransition(plan, transition, out);
  for (size_t i = 0; i < plan.output_layouts.size(); ++i) {
    out += StrCat("output ", NameOf(plan, plan.graph.outputs[i]), " ", ToString(plan.output_layouts[i]), "\n");
  }
  DumpTotals(plan, out);
  for (const ReplicatedTensor& tensor : plan.replicated) {
    out += StrCat("replicated ", NameOf(plan, tensor.tensor), ": ", tensor.reason, "\n");
  }
  for (const LayoutConflict& conflict : plan.conflicts) {
    out += StrCat("conflict ", conflict.where, ": ", conflict.given, " became ", conflict.used, ": ", conflict.reason,
                  "\n");
  }
  for (const std::string& warning : plan.warnings) out += StrCat("warning ", warning, "\n");
  return out;
}

}  // namespace sbp
