#include "search/quotient.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "search/folded_time.h"
#include "search/number_rows.h"

namespace sbp {
namespace {

constexpr int kLeastPartDepth = 3;
constexpr int32_t kLeastMembers = 3;  // nodes of a part, on average

struct End {
  int64_t edge;  // its table, form and side as one number
  int32_t other;
};

std::vector<std::vector<End>> EndsOf(const CostNetwork& network) {
  std::vector<std::vector<End>> ends(network.nodes.size());
  std::map<std::pair<int32_t, int32_t>, int64_t> tables;
  for (const CostNetwork::Edge& edge : network.edges) {
    const int64_t table =
        tables.try_emplace({edge.costs, edge.form}, static_cast<int64_t>(tables.size())).first->second;
    for (int side = 0; side < 2; ++side) ends[edge.nodes[side]].push_back({2 * table + side, edge.nodes[1 - side]});
  }
  return ends;
}

NodeParts Refined(const std::vector<std::vector<End>>& ends, const NodeParts& before) {
  NodeParts parts;
  NumberRows<int64_t> rows;
  std::vector<int64_t> row;
  for (size_t node = 0; node < ends.size(); ++node) {
    row.clear();
    for (const End& end : ends[node]) row.push_back(end.edge << 32 | before.of_node[end.other]);
    std::ranges::sort(row);
    row.push_back(before.of_node[node]);
    parts.of_node.push_back(rows.Add(row));
  }
  parts.count = rows.size();
  return parts;
}

// A row of costs in the network's own numbers: fractions where it has them.
class Costs {
 public:
  explicit Costs(const CostNetwork& network) : network_(network) {}
  size_t size(int32_t row) const { return network_.costs[row].size(); }
  double at(int32_t row, size_t i) const {
    const int64_t cost = network_.costs[row][i];
    if (cost >= kInfiniteCost) return static_cast<double>(kInfiniteCost);
    return network_.integral ? static_cast<double>(cost) : network_.fractions[row][i];
  }

 private:
  const CostNetwork& network_;
};

double Sum(double a, double b) { return std::min(a + b, static_cast<double>(kInfiniteCost)); }

// In whole numbers where the network has them: an integral problem stays one.
int32_t AddRow(CostNetworkBuilder& builder, bool integral, std::span<const double> row) {
  if (!integral) return builder.AddCosts(row);
  std::vector<int64_t> whole;
  for (const double cost : row) whole.push_back(static_cast<int64_t>(cost));
  return builder.AddCosts(whole);
}

// What members of a part hold together, from one kind of moment to another; or nodes without one.
struct Holding {
  int32_t part;        // -1: none
  int32_t begin, end;  // of the moments that FoldTime tells apart
  std::vector<int64_t> usages;
};

std::vector<Holding> Holdings(const CostNetwork& whole, const NodeParts& parts) {
  std::vector<int64_t> times;
  const auto holds = [](const CostNetwork::Node& node) { return node.usages >= 0 && node.begin < node.end; };
  for (const CostNetwork::Node& node : whole.nodes) {
    if (holds(node)) times.insert(times.end(), {node.begin, node.end});
  }
  std::ranges::sort(times);
  times.erase(std::unique(times.begin(), times.end()), times.end());
  const auto step = [&](int64_t time) {
    return static_cast<int32_t>(std::ranges::lower_bound(times, time) - times.begin());
  };
  NumberRows<int32_t> kinds;  // part and usages
  std::vector<HeldSpan> spans;
  for (size_t v = 0; v < whole.nodes.size(); ++v) {
    const CostNetwork::Node& node = whole.nodes[v];
    if (!holds(node)) continue;
    const int32_t part = v < parts.of_node.size() ? parts.of_node[v] : -1;
    const int32_t what = kinds.Add(std::array<int32_t, 2>{part, node.usages});
    spans.push_back({what, step(node.begin), step(node.end)});
  }
  const FoldedTime time = FoldTime(spans, std::vector<double>(times.size(), 0));
  std::map<std::array<int32_t, 3>, int64_t> counts;  // by kind, begin and end
  for (const HeldSpan& span : spans) {
    const int32_t begin = time.Place(span.begin), end = time.Place(span.end);
    if (begin < end) ++counts[{span.what, begin, end}];
  }
  std::vector<Holding> holdings;
  for (const auto& [key, count] : counts) {
    const std::span<const int32_t> kind = kinds[key[0]];
    Holding holding{kind[0], key[1], key[2], {}};
    for (const int64_t usage : whole.usages[kind[1]]) holding.usages.push_back(usage * count);
    holdings.push_back(std::move(holding));
  }
  return holdings;
}

}  // namespace

std::optional<NodeParts> PartsOf(const CostNetwork& network, std::span<const int32_t> kinds, int most_depth) {
  const auto size = static_cast<int32_t>(kinds.size());
  std::vector<std::vector<End>> ends = EndsOf(network);
  ends.resize(kinds.size());
  NodeParts parts;
  NumberRows<int64_t> rows;
  for (int32_t v = 0; v < size; ++v) {
    const CostNetwork::Node& node = network.nodes[v];
    parts.of_node.push_back(rows.Add(std::array<int64_t, 3>{kinds[v], node.costs, node.usages}));
  }
  parts.count = rows.size();
  for (int depth = 0; depth < most_depth; ++depth) {
    NodeParts further = Refined(ends, parts);
    if (further.count > size / kLeastMembers) {
      if (depth < kLeastPartDepth) return std::nullopt;
      break;
    }
    const bool settled = further.count == parts.count;
    parts = std::move(further);
    if (settled) break;
  }
  return parts;
}

Result<Quotient> Quotient::Of(const CostNetwork& whole, const NodeParts& parts) {
  Quotient quotient;
  quotient.parts_ = parts;
  const Costs costs(whole);
  CostNetworkBuilder builder;
  builder.SetName(whole.name);
  std::vector<std::vector<double>> unary(parts.count);
  std::vector<bool> seen(parts.count, false);
  std::vector<int32_t> places;
  const bool placed = !whole.places.empty();
  if (placed) places.resize(parts.count);
  for (size_t v = 0; v < parts.of_node.size(); ++v) {
    const CostNetwork::Node& node = whole.nodes[v];
    const int32_t part = parts.of_node[v];
    std::vector<double>& sum = unary[part];
    sum.resize(costs.size(node.costs), 0);
    if (sum.size() != costs.size(node.costs)) return Defect("nodes of one part differ in their candidates");
    for (size_t a = 0; a < sum.size(); ++a) sum[a] = Sum(sum[a], costs.at(node.costs, a));
    if (seen[part]) continue;
    seen[part] = true;
    if (placed) places[part] = whole.places[v];
  }
  // Forms and their maps are the whole's, number by number where an edge asks for one.
  std::map<int32_t, int32_t> form_numbers, map_numbers;
  const auto map_of = [&](int32_t map) {
    if (map < 0) return map;
    const auto [entry, is_new] = map_numbers.try_emplace(map, 0);
    if (is_new) entry->second = builder.AddMap(whole.maps[map]);
    return entry->second;
  };
  const auto form_of = [&](int32_t form) {
    if (form < 0) return form;
    const auto [entry, is_new] = form_numbers.try_emplace(form, 0);
    if (!is_new) return entry->second;
    CostNetwork::Form copy = whole.forms[form];
    for (CostNetwork::Lines& lines : copy.lines) lines = {map_of(lines.first), map_of(lines.second)};
    return entry->second = builder.AddForm(copy);
  };
  std::map<std::array<int32_t, 4>, int64_t> copies;  // by ends, table and form
  for (const CostNetwork::Edge& edge : whole.edges) {
    const int32_t a = parts.of_node[edge.nodes[0]], b = parts.of_node[edge.nodes[1]];
    if (a != b) {
      ++copies[{a, b, edge.costs, edge.form}];
      continue;
    }
    for (size_t i = 0; i < unary[a].size(); ++i) {
      const auto candidate = static_cast<int32_t>(i);
      unary[a][i] = Sum(unary[a][i], costs.at(edge.costs, whole.EntryOf(edge, candidate, candidate)));
    }
  }
  for (int32_t part = 0; part < parts.count; ++part) {
    builder.nodes().push_back({.costs = AddRow(builder, whole.integral, unary[part])});
  }
  std::map<std::pair<int32_t, int64_t>, int32_t> tables;  // by row of the whole and number of copies
  for (const auto& [key, count] : copies) {
    const auto [entry, is_new] = tables.try_emplace({key[2], count}, 0);
    if (is_new) {
      std::vector<double> table(costs.size(key[2]));
      for (size_t i = 0; i < table.size(); ++i) {
        const double cost = costs.at(key[2], i);
        table[i] = cost >= static_cast<double>(kInfiniteCost) ? cost : cost * static_cast<double>(count);
      }
      entry->second = AddRow(builder, whole.integral, table);
    }
    builder.edges().push_back({{key[0], key[1]}, entry->second, form_of(key[3])});
  }
  if (placed) builder.SetPlaces(std::move(places));
  SBP_ASSIGN_OR_RETURN(quotient.network_, std::move(builder).Build());
  quotient.HoldAs(whole);
  return quotient;
}

// Costs of a node that only holds: one candidate, none.
int32_t Quotient::NothingRow() {
  if (nothing_ >= 0) return nothing_;
  constexpr std::array<int64_t, 1> kNothing = {0};
  if (!network_.integral) network_.fractions.push_back({0});
  return nothing_ = network_.costs.AddDistinct(kNothing);
}

void Quotient::HoldAs(const CostNetwork& whole) {
  const bool placed = !network_.places.empty();
  whole_size_ = whole.nodes.size();
  network_.usage_limit = whole.usage_limit;
  network_.usages = {};
  network_.further.clear();
  network_.nodes.resize(parts_.count);
  if (placed) network_.places.resize(parts_.count);
  for (CostNetwork::Node& node : network_.nodes) node = {.costs = node.costs};
  for (const Holding& holding : Holdings(whole, parts_)) {
    const int32_t usages = network_.usages.Add(holding.usages);
    if (holding.part < 0) {
      network_.nodes.push_back({NothingRow(), usages, holding.begin, holding.end});
      if (placed) network_.places.push_back(0);
      continue;
    }
    CostNetwork::Node& node = network_.nodes[holding.part];
    if (node.usages < 0) {
      node = {node.costs, usages, holding.begin, holding.end};
    } else {
      network_.further.push_back({holding.part, usages, holding.begin, holding.end});
    }
  }
}

std::vector<int32_t> Quotient::Expand(std::span<const int32_t> choice) const {
  std::vector<int32_t> whole;
  whole.reserve(whole_size_);
  for (const int32_t part : parts_.of_node) whole.push_back(choice[part]);
  whole.resize(whole_size_, 0);
  return whole;
}

std::vector<int32_t> Quotient::Contract(std::span<const int32_t> choice) const {
  std::vector<std::vector<int32_t>> votes(parts_.count);
  for (size_t v = 0; v < parts_.of_node.size(); ++v) {
    std::vector<int32_t>& of_part = votes[parts_.of_node[v]];
    of_part.resize(std::max(of_part.size(), static_cast<size_t>(choice[v]) + 1), 0);
    ++of_part[choice[v]];
  }
  std::vector<int32_t> contracted;
  for (const std::vector<int32_t>& of_part : votes) {
    contracted.push_back(static_cast<int32_t>(std::ranges::max_element(of_part) - of_part.begin()));
  }
  contracted.resize(network_.nodes.size(), 0);
  return contracted;
}

}  // namespace sbp
