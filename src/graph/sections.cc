#include "graph/sections.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/ids.h"
#include "graph/each_operand.h"
#include "graph/graph.h"

namespace sbp {
std::vector<StepSection> SectionsOf(const Graph& graph) {
  std::vector<StepSection> sections(graph.ops.size(), StepSection::kMicro);
  std::vector<bool> late(graph.tensors.size(), false);     // is complete only after the last micro-batch
  std::vector<bool> wanted(graph.tensors.size(), false);   // by an op of section micro, or as its state or result
  std::vector<bool> by_step(graph.tensors.size(), false);  // read by section step
  for (const Tie& tie : graph.ties) {
    if (tie.restarts) late[tie.output.index()] = wanted[tie.output.index()] = true;
  }
  if (std::ranges::none_of(graph.ties, &Tie::restarts)) return sections;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    bool reads_late = false;
    EachOperand(graph.ops[i], [&](TensorId id) { reads_late = reads_late || late[id.index()]; });
    if (!reads_late) continue;
    sections[i] = StepSection::kStep;
    for (const TensorId id : graph.ops[i].outputs) {
      if (id.valid()) late[id.index()] = true;
    }
  }
  for (const TensorId id : graph.outputs) wanted[id.index()] = true;
  for (const Tie& tie : graph.ties) wanted[tie.output.index()] = true;
  for (size_t i = graph.ops.size(); i-- > 0;) {
    const Op& op = graph.ops[i];
    const auto marked = [&](const std::vector<bool>& mark) {
      return std::ranges::any_of(op.outputs, [&](TensorId id) { return id.valid() && mark[id.index()]; });
    };
    if (sections[i] == StepSection::kMicro && !marked(wanted) && marked(by_step)) sections[i] = StepSection::kStep;
    std::vector<bool>& mark = sections[i] == StepSection::kStep ? by_step : wanted;
    EachOperand(op, [&](TensorId id) { mark[id.index()] = true; });
  }
  return sections;
}

StepRuns::StepRuns(const Graph& graph) {
  if (graph.micro_batches == 1) return;
  const std::vector<StepSection> sections = SectionsOf(graph);
  for (const StepSection section : sections) ops_.push_back(section == StepSection::kMicro ? graph.micro_batches : 1);
  ends_.assign(graph.tensors.size(), 1);
  sums_.assign(graph.tensors.size(), false);
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    const OpId producer = graph.tensors[t].producer;
    if (producer.valid()) ends_[t] = ops_[producer.index()];
  }
  for (const Tie& tie : graph.ties) {
    if (tie.restarts) sums_[tie.output.index()] = true;
  }
}

}  // namespace sbp
