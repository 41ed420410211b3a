// What it takes in a layout network that outputs end as they must (problem/demands.h).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "problem/demands.h"
#include "sbp/sbp.h"
#include "strategy/optimal/layout_network_builder.h"
#include "strategy/optimal/prices_of_type.h"

namespace sbp {

// Results that nobody reads and that must end in some way have no node: what that takes is the op's.
bool LayoutNetworkBuilder::IsUnreadEnd(TensorId output) const {
  if (!output.valid()) return false;
  const EndRule::Kind end = problem_.demands.end(output).kind;
  const auto [begin, last] = problem_.uses.of(output);
  return end != EndRule::Kind::kNone && end != EndRule::Kind::kTied && begin == last;
}

bool LayoutNetworkBuilder::HasUnreadEnd(OpId op) const {
  return std::ranges::any_of(problem_.graph->op(op).outputs, [&](TensorId output) { return IsUnreadEnd(output); });
}

void LayoutNetworkBuilder::AddEndsOfUnread(OpId op, std::vector<double>& costs) {
  for (const TensorId output : problem_.graph->op(op).outputs) {
    if (!IsUnreadEnd(output)) continue;
    const EndRule::Kind end = problem_.demands.end(output).kind;
    const Row row = SlotRow(op, Slot::kResult, problem_.graph->tensor(output).producer_index, output);
    const std::vector<uint32_t>& written = rows_[row].layouts;
    const auto runs = static_cast<double>(problem_.runs.end(output));
    for (size_t c = 0; c < costs.size(); ++c) {
      costs[c] += runs * EndSeconds(end, TypeOf(output), written[c], written[c], 1);
    }
  }
}

// What it takes that a tensor ends as it must, where it stands as `written` and as `hub`. Where more than two share,
// some reader may want a layout without P in any case: nothing is less than that.
double LayoutNetworkBuilder::EndSeconds(EndRule::Kind end, uint32_t type, uint32_t written, uint32_t hub,
                                        uint32_t num_wants) {
  TypePrices& prices = types_[type];
  if (end == EndRule::Kind::kWhole) {
    const uint32_t whole[] = {prices.Id(NdSbp(problem_.mesh.num_axes()))};
    return ReaderSeconds(type, written, hub, whole, {}, num_wants, 0);
  }
  if (end != EndRule::Kind::kNotPartial || (relaxed_ && num_wants > 2)) return 0;
  const auto seconds = [&](uint32_t from) {
    const auto [entry, is_new] = end_seconds_.try_emplace((static_cast<uint64_t>(type) << 32) | from, 0);
    if (!is_new) return entry->second;
    const NdSbp from_layout = prices.layout(from);
    const CheapestEnd end = FindCheapestEnd(prices.type(), from_layout, *problem_.boxing);
    entry->second = std::isinf(end.seconds)
                        ? end.seconds
                        : prices.SecondsOf(problem_.boxing->Price(prices.type(), from_layout, end.layout));
    return entry->second;
  };
  return std::min(seconds(written), seconds(hub));
}

}  // namespace sbp
