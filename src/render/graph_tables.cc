#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "boxing/boxing.h"
#include "cluster/collective_kind.h"
#include "cost/collective.h"
#include "graph/graph.h"
#include "graph/kernel_groups.h"
#include "naming/buffer_label.h"
#include "naming/module_names.h"
#include "plan/plan.h"
#include "render/document.h"
#include "render/facts.h"
#include "render/node_text.h"
#include "render/opening.h"
#include "render/outline.h"
#include "render/outline_tree.h"
#include "render/render.h"
#include "render/training.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

class OpTable {
 public:
  OpTable(const Plan& plan, const Outline& outline, const Opening& opening, Notation notation)
      : plan_(plan), outline_(outline), opening_(opening), notation_(notation), transitions_(plan), costs_(plan) {}

  Table Build() {
    table_.title = "Ops";
    table_.header = {"op", "type", "output, global → local", "signature", "compute", "collectives before it"};
    table_.right = {false, false, false, false, true, false};
    if (IsBareGraph(plan_)) {
      table_.header.resize(3);
      table_.header[2] = "output";
      table_.right.resize(3);
    }
    struct Step {
      OutlineItem item;
      size_t depth;
      size_t copies;
      std::string label;
    };
    std::vector<Step> stack = {{{false, 0}, 0, 1, ""}};
    while (!stack.empty()) {
      const Step step = std::move(stack.back());
      stack.pop_back();
      if (step.item.is_op) {
        AddOp(step.item.index, step.depth);
        continue;
      }
      const OutlineNode& node = outline_.nodes[step.item.index];
      const bool open = opening_.open[step.item.index];
      if (node.kind == OutlineNode::Kind::kRepeat && !open) {
        stack.push_back({node.items.front(), step.depth, node.items.size(), node.label});
        continue;
      }
      const bool framed = step.item.index != 0 && node.kind != OutlineNode::Kind::kRepeat;
      if (framed) AddScope(step.item.index, step.copies > 1 ? step.label : node.label, step.depth, step.copies, open);
      if (!open) continue;
      for (auto it = node.items.rbegin(); it != node.items.rend(); ++it) {
        stack.push_back({*it, step.depth + (framed ? 1 : 0), 1, ""});
      }
    }
    if (opening_.closed_for_size > 0) {
      table_.note = StrCat(opening_.closed_for_size, " scopes stay folded; --expand SCOPE opens one");
    }
    return std::move(table_);
  }

 private:
  static std::string Indent(size_t depth) {
    std::string text;
    for (size_t i = 0; i < depth; ++i) text += "· ";
    return text;
  }

  void AddScope(uint32_t node, const std::string& label, size_t depth, size_t copies, bool open) {
    std::string name = StrCat(Indent(depth), Shorten(label, 48), "/");
    if (copies > 1) name += StrCat(" × ", copies);
    std::vector<std::string> row(table_.header.size());
    row[0] = std::move(name);
    if (!open) {
      const std::vector<uint32_t> ops = outline_.OpsOf(node);
      row[1] = StrCat(ops.size(), " ops");
      row[2] = CountTypes(plan_, ops, 3);
      if (!IsBareGraph(plan_)) {
        double seconds = 0;
        for (uint32_t o : ops) seconds += costs_.OpSeconds(o);
        row[4] = FormatSeconds(seconds);
        row[5] = CountCollectives(plan_, costs_, Feeding(ops));
      }
    }
    table_.rows.push_back(std::move(row));
  }

  // Transitions whose first consumer is one of these ops.
  std::vector<uint32_t> Feeding(const std::vector<uint32_t>& ops) const {
    std::vector<uint32_t> found;
    for (uint32_t o : ops) {
      const size_t operands = plan_.graph.OperandsOf(plan_.graph.ops[o]).size();
      for (size_t i = 0; i < operands && !plan_.transitions.empty(); ++i) {
        const int32_t t = transitions_.Feeding(o, i);
        if (t < 0) continue;
        const Use& first = plan_.transitions[t].consumers[0];
        if (first.op.value == o && first.operand == i) found.push_back(static_cast<uint32_t>(t));
      }
    }
    return found;
  }

  void AddOp(uint32_t o, size_t depth) {
    const Op& op = plan_.graph.ops[o];
    const DecisionRecord* record = DecisionOf(plan_, o);
    const KernelGroup* group = plan_.kernels.of(OpId(o));
    const std::string kernel =
        group == nullptr ? "" : StrCat(", kernel ", static_cast<size_t>(group - plan_.kernels.groups.data()));
    std::vector<std::string> row = {StrCat(Indent(depth), Shorten(NameTail(op.name), 40)),
                                    plan_.graph.type_of(op) + kernel, ""};
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      if (!op.outputs[i].valid()) continue;
      row[2] = GlobalToLocal(plan_, op.outputs[i], LayoutIn(plan_, o, i, true));
      break;
    }
    if (!IsBareGraph(plan_)) {
      row.push_back(record == nullptr ? "" : Signature(o, *record));
      row.push_back(record == nullptr ? "" : FormatRuns(costs_.runs_of_op(o), record->compute_seconds));
      std::vector<std::string> steps;
      for (uint32_t t : Feeding({o})) {
        const int64_t runs = costs_.runs_of_transition(t);
        for (const BoxingStep& step : plan_.transitions[t].steps) {
          if (RowOf(step.kind).local) continue;
          steps.push_back(StrCat(CollectiveKindName(step.kind), " over ", MeshAxisName(plan_, step.axis), " ",
                                 runs == 1 ? "" : StrCat(runs, " × "), FormatBytes(step.wire_bytes)));
        }
      }
      row.push_back(Join(steps, ", "));
    }
    table_.rows.push_back(std::move(row));
  }

  std::string Signature(uint32_t o, const DecisionRecord& record) const {
    const Op& op = plan_.graph.ops[o];
    const auto list = [&](const std::vector<NdSbp>& layouts, const std::vector<TensorId>& tensors) {
      std::vector<std::string> parts;
      for (size_t i = 0; i < layouts.size() && i < tensors.size(); ++i) {
        if (tensors[i].valid()) {
          parts.push_back(FormatLayout(layouts[i], plan_.graph.tensor(tensors[i]).type.rank(), notation_));
        }
      }
      if (parts.size() > 6) parts = {parts[0], parts[1], StrCat("(", parts.size() - 2, " more)")};
      return Join(parts, ", ");
    };
    return StrCat(list(record.signature.inputs, plan_.graph.OperandsOf(op)), " → ",
                  list(record.signature.outputs, op.outputs));
  }

  const Plan& plan_;
  const Outline& outline_;
  const Opening& opening_;
  const Notation notation_;
  const TransitionIndex transitions_;
  const StepCosts costs_;
  Table table_;
};

// Every distinct (kind, axis), in a step.
Table CollectiveTable(const Plan& plan) {
  struct Sum {
    int64_t count = 0;
    double bytes = 0, seconds = 0;
  };
  std::map<std::pair<CollectiveKind, int>, Sum> sums;
  const StepCosts costs(plan);
  for (uint32_t t = 0; t < plan.transitions.size(); ++t) {
    const int64_t runs = costs.runs_of_transition(t);
    for (const BoxingStep& step : plan.transitions[t].steps) {
      Sum& sum = sums[{step.kind, step.axis}];
      sum.count += runs;
      sum.bytes += static_cast<double>(runs) * step.wire_bytes;
      sum.seconds += static_cast<double>(runs) * step.seconds;
    }
  }
  Table table{
      "Collectives", {"kind", "axis", "count", "bytes moved", "time"}, {false, false, true, true, true}, {}, ""};
  for (const auto& [key, sum] : sums) {
    table.rows.push_back({std::string(CollectiveKindName(key.first)), MeshAxisName(plan, key.second),
                          FormatCount(sum.count), FormatBytes(sum.bytes), FormatSeconds(sum.seconds)});
  }
  return table;
}

Table MemoryTable(const Plan& plan) {
  Table table{
      "Largest holders at the memory peak", {"tensor", "kind", "bytes per device"}, {false, false, true}, {}, ""};
  const ModuleNames names(plan.graph);
  const NameIndex index(plan.graph);
  for (const MemoryHolder& holder : plan.memory.holders) {
    table.rows.push_back({Shorten(BufferLabel(plan.graph, index, names, holder.name), 60), holder.kind,
                          FormatBytes(static_cast<double>(holder.bytes))});
  }
  return table;
}

}  // namespace

Result<Document> TabulateGraph(const Plan& plan, const RenderOptions& options) {
  Document document;
  document.head.push_back(plan.graph.name.empty() ? "graph" : plan.graph.name);
  document.head.push_back(
      StrCat(FormatCount(static_cast<int64_t>(plan.graph.ops.size())), " ops · ", PlanHeadline(plan)));
  if (!IsBareGraph(plan)) document.head.push_back(PlanCosts(plan, options.step_seconds));
  if (std::string peak = PeakParts(plan); !peak.empty()) document.head.push_back(std::move(peak));
  const size_t rows = std::clamp<size_t>(options.max_nodes, 10, 100000);
  const Outline outline = BuildOutline(plan, {.max_items = std::max<size_t>(rows / 2, 64)});
  SBP_ASSIGN_OR_RETURN(const Opening opening,
                       ChooseOpening(outline, std::vector<uint32_t>(plan.graph.ops.size(), 1),
                                     {options.expand, rows, std::max<size_t>(rows, 100000), true}));
  document.tables.push_back(OpTable(plan, outline, opening, options.notation).Build());
  if (!plan.transitions.empty()) document.tables.push_back(CollectiveTable(plan));
  if (!plan.memory.holders.empty()) document.tables.push_back(MemoryTable(plan));
  return document;
}

}  // namespace sbp
