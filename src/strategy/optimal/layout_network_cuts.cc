// What a plan pays where it cuts a kernel group: edges beside those of boxing, between whoever writes a tensor inside a
// group and each op of the group that reads it.
#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "problem/problem.h"
#include "strategy/optimal/layout_network.h"
#include "strategy/optimal/layout_network_builder.h"

namespace sbp {

LayoutNetworkBuilder::CutEnd LayoutNetworkBuilder::CutEndOf(OpId op, Slot side, size_t slot, TensorId tensor) {
  CutEnd end{.layouts = rows_[SlotRow(op, side, slot, tensor)].layouts, .seconds = {}};
  const double runs = weights_.local * static_cast<double>(problem_.runs.of(op));
  for (const uint32_t c : result_.lists_.of(op))
    end.seconds.push_back(runs * problem_.OnceCutSeconds(op, c, side == Slot::kResult, slot));
  return end;
}

// The writer's end is paid once however many readers cut: the exact network may take it several times, the relaxed one
// gives each its share.
void LayoutNetworkBuilder::AddCuts(TensorId tensor) {
  const Tensor& facts = problem_.graph->tensor(tensor);
  if (!facts.producer.valid() || unlisted_[tensor.index()]) return;
  const auto [begin, end] = problem_.uses.of(tensor);
  const auto inside = [&](const Use& use) { return problem_.IsInside(use.op, false, use.operand); };
  if (std::none_of(begin, end, inside)) return;
  const bool written_inside = problem_.IsInside(facts.producer, true, facts.producer_index);
  const auto found = shared_.find(tensor);
  const auto sharers = static_cast<uint32_t>(relaxed_ ? end - begin : 1);
  const auto runs_of = [&](OpId op) { return static_cast<uint32_t>(problem_.runs.of(op)); };
  std::vector<uint32_t> key = {kCut,
                               problem_.class_of[facts.producer.index()],
                               result_.lists_.number(facts.producer),
                               runs_of(facts.producer),
                               facts.producer_index,
                               TypeOf(tensor),
                               sharers,
                               found == shared_.end() ? kNoRow : found->second.written};
  CutEnd writer = CutEndOf(facts.producer, Slot::kResult, facts.producer_index, tensor);
  if (found != shared_.end()) {
    std::map<uint32_t, double> least;  // by layout
    for (size_t c = 0; c < writer.layouts.size(); ++c) {
      const auto [entry, is_new] = least.try_emplace(writer.layouts[c], writer.seconds[c]);
      if (!is_new) entry->second = std::min(entry->second, writer.seconds[c]);
    }
    writer.layouts = rows_[found->second.written].layouts;
    writer.seconds.clear();
    for (const uint32_t layout : writer.layouts) {
      const auto known = least.find(layout);
      writer.seconds.push_back(known == least.end() || !written_inside ? 0 : known->second);
    }
  }
  for (double& seconds : writer.seconds) seconds /= sharers;
  const int32_t from = found == shared_.end() ? LayoutNetwork::node_of(facts.producer) : found->second.node;
  const size_t prefix = key.size();
  for (const Use* use = begin; use != end;) {
    const Use* next = use;
    key.resize(prefix);
    key.push_back(problem_.class_of[use->op.index()]);
    key.push_back(result_.lists_.number(use->op));
    key.push_back(runs_of(use->op));
    for (; next != end && next->op == use->op; ++next) key.push_back(next->operand);
    if (std::any_of(use, next, inside))
      AddEdge(from, LayoutNetwork::node_of(use->op), CutTable(tensor, writer, {use, next}, key));
    use = next;
  }
}

// Lines of rows: distinct pairs of layout and seconds; of columns: distinct lists of such pairs, one per operand.
LayoutNetworkBuilder::Table LayoutNetworkBuilder::CutTable(TensorId tensor, const CutEnd& writer,
                                                           std::span<const Use> uses,
                                                           const std::vector<uint32_t>& key) {
  if (const auto known = table_by_key_.find(key); known != table_by_key_.end()) return known->second;
  using Line = std::vector<std::pair<uint32_t, double>>;
  std::vector<Line> row_lines, column_lines;
  const auto number = [](std::vector<Line>& lines, std::map<Line, uint32_t>& known, Line line) {
    const auto [entry, is_new] = known.try_emplace(line, static_cast<uint32_t>(lines.size()));
    if (is_new) lines.push_back(std::move(line));
    return entry->second;
  };
  LayoutRow rows, columns;
  std::map<Line, uint32_t> known_rows, known_columns;
  for (size_t i = 0; i < writer.layouts.size(); ++i)
    rows.layouts.push_back(number(row_lines, known_rows, {{writer.layouts[i], writer.seconds[i]}}));
  std::vector<CutEnd> readers;
  for (const Use& use : uses) readers.push_back(CutEndOf(use.op, Slot::kOperand, use.operand, tensor));
  for (size_t c = 0; c < readers.front().layouts.size(); ++c) {
    Line line;
    for (const CutEnd& reader : readers) line.emplace_back(reader.layouts[c], reader.seconds[c]);
    columns.layouts.push_back(number(column_lines, known_columns, std::move(line)));
  }
  std::vector<double> values;
  for (const Line& row : row_lines) {
    const auto& [written, seconds] = row.front();
    for (const Line& column : column_lines) {
      double sum = 0;
      bool cut = false;
      for (const auto& [wanted, own] : column) {
        if (wanted == written) continue;
        sum += own;
        cut = true;
      }
      values.push_back(cut ? sum + seconds : 0);
    }
  }
  return AddTable(key, LayoutsOf(rows), LayoutsOf(columns), values);
}

}  // namespace sbp
