#include "search/cost_network.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/checked_math.h"
#include "base/number_text.h"
#include "base/text.h"

namespace sbp {
namespace {

// Sums of finite costs stay below this, so that no evaluation of finite entries can overflow.
constexpr int64_t kLargestSum = int64_t{4'000'000'000'000'000'000};
// Fractional costs are rounded to 2^-kFractionBits of the sum of all maxima.
constexpr int kFractionBits = 50;

// The largest finite magnitude of a row.
int64_t LargestFinite(std::span<const int64_t> row) {
  int64_t largest = 0;
  for (const int64_t cost : row) {
    if (cost < kInfiniteCost) largest = std::max(largest, cost < 0 ? -cost : cost);
  }
  return largest;
}

int32_t Remember(std::vector<int32_t>& known, int32_t id, int32_t next) {
  if (id == static_cast<int32_t>(known.size())) known.push_back(next);
  return known[id];
}

}  // namespace

int32_t CostNetworkBuilder::AddCosts(std::span<const int64_t> row) {
  const auto next = static_cast<int32_t>(rows_.size());
  const int32_t id = network_.costs.Add(row);
  const int32_t result = Remember(row_of_integers_, id, next);
  if (result == next) rows_.push_back({false, id});
  return result;
}

int32_t CostNetworkBuilder::AddCosts(std::span<const double> row) {
  const auto next = static_cast<int32_t>(rows_.size());
  const int32_t id = fractions_.Add(row);
  const int32_t result = Remember(row_of_fractions_, id, next);
  if (result == next) rows_.push_back({true, id});
  return result;
}

Status CostNetworkBuilder::CheckNodes() const {
  for (size_t i = 0; i < network_.nodes.size(); ++i) {
    const CostNetwork::Node& node = network_.nodes[i];
    const size_t candidates = network_.costs[node.costs].size();
    if (candidates == 0) return BadInput(StrCat("node ", i, " has no candidates"));
    if (node.end < node.begin) {
      return BadInput(StrCat("node ", i, ": its interval [", node.begin, ", ", node.end, ") ends before it begins"));
    }
    if (node.usages < 0) continue;
    const std::span<const int64_t> usages = network_.usages[node.usages];
    if (usages.size() != candidates) {
      return BadInput(
          StrCat("node ", i, ": ", usages.size(), " usages, expected one for each of its ", candidates, " candidates"));
    }
    const auto negative = std::find_if(usages.begin(), usages.end(), [](int64_t usage) { return usage < 0; });
    if (negative != usages.end()) {
      return BadInput(StrCat("node ", i, ": usage ", *negative, " of candidate ", negative - usages.begin(),
                             ", expected 0 or more"));
    }
  }
  return OkStatus();
}

Status CostNetworkBuilder::CheckEdges() const {
  for (size_t i = 0; i < network_.edges.size(); ++i) {
    const CostNetwork::Edge& edge = network_.edges[i];
    for (const int32_t node : edge.nodes) {
      if (node < 0 || node >= static_cast<int32_t>(network_.nodes.size())) {
        return BadInput(StrCat("edge ", i, ": node ", node, ", expected 0 to ", network_.nodes.size() - 1));
      }
    }
    if (edge.nodes[0] == edge.nodes[1])
      return BadInput(StrCat("edge ", i, " joins node ", edge.nodes[0], " to itself"));
    if (edge.form >= 0) {
      SBP_RETURN_IF_ERROR(CheckForm(static_cast<int32_t>(i)));
      continue;
    }
    const auto rows = static_cast<size_t>(network_.candidates(edge.nodes[0]));
    const auto columns = static_cast<size_t>(network_.candidates(edge.nodes[1]));
    const size_t entries = network_.costs[edge.costs].size();
    if (entries != rows * columns) {
      return BadInput(StrCat("edge ", i, ": ", entries, " costs, expected ", rows, " x ", columns,
                             ", the candidates of nodes ", edge.nodes[0], " and ", edge.nodes[1]));
    }
  }
  return OkStatus();
}

// Only our own builders make forms: what is wrong with one is a defect.
Status CostNetworkBuilder::CheckForm(int32_t index) const {
  const CostNetwork::Edge& edge = network_.edges[index];
  const CostNetwork::Form& form = network_.forms[edge.form];
  const auto fits = [&](const CostNetwork::Lines& lines, int32_t count, int32_t node) {
    const auto candidates = static_cast<size_t>(network_.candidates(node));
    if (lines.first < 0 && static_cast<size_t>(count) != candidates) return false;
    for (const int32_t map : {lines.first, lines.second}) {
      if (map < 0) continue;
      const std::span<const int32_t> line = network_.maps[map];
      const bool inside = std::all_of(line.begin(), line.end(), [&](int32_t l) { return l >= 0 && l < count; });
      if (line.size() != candidates || !inside) return false;
    }
    return true;
  };
  if (!fits(form.lines[0], form.rows, edge.nodes[0]) || !fits(form.lines[1], form.columns, edge.nodes[1]) ||
      network_.costs[edge.costs].size() != static_cast<size_t>(form.rows) * form.columns) {
    return Defect(StrCat("edge ", index, ": its form does not fit its nodes"));
  }
  return OkStatus();
}

Status CostNetworkBuilder::CheckSums() const {
  std::vector<int64_t> largest(network_.costs.size());
  for (int32_t row = 0; row < network_.costs.size(); ++row) largest[row] = LargestFinite(network_.costs[row]);
  int64_t cost = 0;
  int64_t usage = 0;
  for (size_t i = 0; i < network_.nodes.size(); ++i) {
    const CostNetwork::Node& node = network_.nodes[i];
    cost = SaturatingAdd(cost, largest[node.costs]);
    if (cost > kLargestSum) return BadInput(StrCat("node ", i, ": the costs so far add up to more than 64 bits hold"));
    if (node.usages < 0) continue;
    const std::span<const int64_t> usages = network_.usages[node.usages];
    usage = SaturatingAdd(usage, *std::max_element(usages.begin(), usages.end()));
    if (usage > kLargestSum)
      return BadInput(StrCat("node ", i, ": the usages so far add up to more than 64 bits hold"));
  }
  for (size_t i = 0; i < network_.edges.size(); ++i) {
    cost = SaturatingAdd(cost, largest[network_.edges[i].costs]);
    if (cost > kLargestSum) return BadInput(StrCat("edge ", i, ": the costs so far add up to more than 64 bits hold"));
  }
  return OkStatus();
}

std::vector<double> CostNetworkBuilder::Fractions(int32_t row) const {
  if (rows_[row].fractional) {
    const std::span<const double> fractions = fractions_[rows_[row].id];
    return {fractions.begin(), fractions.end()};
  }
  const std::span<const int64_t> integers = network_.costs[rows_[row].id];
  return {integers.begin(), integers.end()};
}

Status CostNetworkBuilder::ScaleFractions() {
  constexpr double kInfinite = static_cast<double>(kInfiniteCost);
  std::vector<double> largest(rows_.size(), 0);
  for (size_t row = 0; row < rows_.size(); ++row) {
    for (const double cost : Fractions(static_cast<int32_t>(row))) {
      if (std::isnan(cost)) return BadInput("a cost is not a number");
      if (cost <= -kInfinite) return BadInput(StrCat("a cost of ", FormatGeneral(cost), ", expected more than -10^18"));
      if (cost < kInfinite) largest[row] = std::max(largest[row], std::fabs(cost));
    }
  }
  double sum = 0;
  for (const CostNetwork::Node& node : network_.nodes) sum += largest[node.costs];
  for (const CostNetwork::Edge& edge : network_.edges) sum += largest[edge.costs];
  network_.integral = false;
  network_.unit = sum > 0 ? std::ldexp(1.0, std::ilogb(sum) + 1 - kFractionBits) : 1;
  NumberRows<int64_t> scaled;
  std::vector<int32_t> new_row(rows_.size());
  std::vector<int64_t> integers;
  // Rows that differ by less than a unit must stay apart: `fractions` is looked up by the same id.
  for (size_t row = 0; row < rows_.size(); ++row) {
    const std::vector<double> fractions = Fractions(static_cast<int32_t>(row));
    integers.clear();
    for (const double cost : fractions) {
      integers.push_back(cost >= kInfinite ? kInfiniteCost : static_cast<int64_t>(std::floor(cost / network_.unit)));
    }
    new_row[row] = scaled.AddDistinct(integers);
    network_.fractions.push_back(fractions);
  }
  network_.costs = std::move(scaled);
  for (CostNetwork::Node& node : network_.nodes) node.costs = new_row[node.costs];
  for (CostNetwork::Edge& edge : network_.edges) edge.costs = new_row[edge.costs];
  return OkStatus();
}

Result<CostNetwork> CostNetworkBuilder::Build() && {
  if (network_.usage_limit && *network_.usage_limit < 0) {
    return BadInput(StrCat("usage limit ", *network_.usage_limit, ", expected 0 or more"));
  }
  if (fractions_.size() > 0) SBP_RETURN_IF_ERROR(ScaleFractions());
  SBP_RETURN_IF_ERROR(CheckNodes());
  SBP_RETURN_IF_ERROR(CheckEdges());
  SBP_RETURN_IF_ERROR(CheckSums());
  return std::move(network_);
}

size_t CostNetwork::EntryOf(const Edge& edge, int32_t a, int32_t b) const {
  if (edge.form < 0) return static_cast<size_t>(a) * candidates(edge.nodes[1]) + b;
  const Form& form = forms[edge.form];
  const auto line = [&](const Lines& lines, int32_t candidate, bool second) {
    if (second && lines.second >= 0) return maps[lines.second][candidate];
    return lines.first < 0 ? candidate : maps[lines.first][candidate];
  };
  size_t least = 0;
  for (int which = 0; which < 4; ++which) {
    const int32_t row = line(form.lines[0], a, (which & 1) != 0);
    const int32_t column = line(form.lines[1], b, (which & 2) != 0);
    const size_t entry = static_cast<size_t>(row) * form.columns + column;
    if (which == 0 || costs[edge.costs][entry] < costs[edge.costs][least]) least = entry;
  }
  return least;
}

Evaluation Evaluate(const CostNetwork& network, std::span<const int32_t> choice) {
  Evaluation result;
  std::map<int64_t, int64_t> change;  // of usage, by time step
  const auto add = [&](int32_t row, size_t entry) {
    const int64_t cost = network.costs[row][entry];
    if (cost >= kInfiniteCost) result.forbidden = true;
    result.cost += result.forbidden ? 0 : cost;  // cannot overflow: CheckSums
    result.value += network.integral ? 0 : network.fractions[row][entry];
  };
  const auto hold = [&](int64_t usage, int64_t begin, int64_t end) {
    change[begin] += usage;
    change[end] -= usage;
  };
  for (size_t i = 0; i < network.nodes.size(); ++i) {
    const CostNetwork::Node& node = network.nodes[i];
    add(node.costs, choice[i]);
    if (node.usages < 0 || node.begin == node.end) continue;
    hold(network.usages[node.usages][choice[i]], node.begin, node.end);
  }
  for (const CostNetwork::Hold& more : network.further) {
    hold(network.usages[more.usages][choice[more.node]], more.begin, more.end);
  }
  for (const CostNetwork::Edge& edge : network.edges) {
    add(edge.costs, network.EntryOf(edge, choice[edge.nodes[0]], choice[edge.nodes[1]]));
  }
  if (result.forbidden) result.cost = kInt64Max;
  if (network.integral) result.value = static_cast<double>(result.cost);
  int64_t held = 0;
  for (const auto& [time, difference] : change) {
    held += difference;
    if (held > result.peak) {
      result.peak = held;
      result.peak_time = time;
    }
  }
  result.feasible = !result.forbidden && (!network.usage_limit || result.peak <= *network.usage_limit);
  return result;
}

namespace {

template <typename Numbers>
std::string FractionsText(const Numbers& fractions) {
  std::vector<std::string> texts;
  for (const double fraction : fractions) texts.push_back(FormatGeneral(fraction));
  return Join(texts, " ");
}

}  // namespace

std::string Dump(const CostNetwork& network) {
  std::string text = StrCat("problem ", Quote(network.name), "\nlimit ",
                            network.usage_limit ? StrCat(*network.usage_limit) : "none", "\n");
  for (size_t i = 0; i < network.nodes.size(); ++i) {
    const CostNetwork::Node& node = network.nodes[i];
    text += StrCat("node ", i, ": costs ", node.costs);
    if (node.usages >= 0) text += StrCat(", usages ", node.usages, " in [", node.begin, ", ", node.end, ")");
    text += '\n';
  }
  for (const CostNetwork::Hold& hold : network.further)
    text += StrCat("node ", hold.node, " holds usages ", hold.usages, " in [", hold.begin, ", ", hold.end, ")\n");
  for (size_t i = 0; i < network.edges.size(); ++i) {
    const CostNetwork::Edge& edge = network.edges[i];
    text += StrCat("edge ", i, ": ", edge.nodes[0], " - ", edge.nodes[1], " costs ", edge.costs);
    if (edge.form >= 0) text += StrCat(" form ", edge.form);
    text += '\n';
  }
  for (size_t i = 0; i < network.forms.size(); ++i) {
    const CostNetwork::Form& form = network.forms[i];
    text += StrCat("form ", i, ": ", form.rows, " x ", form.columns);
    for (const CostNetwork::Lines& lines : form.lines) text += StrCat(" lines ", lines.first, " ", lines.second);
    text += '\n';
  }
  for (int32_t row = 0; row < network.maps.size(); ++row) {
    text += StrCat("map ", row, ": ", Join(network.maps[row], " "), "\n");
  }
  for (int32_t row = 0; row < network.costs.size(); ++row) {
    const std::string numbers =
        network.integral ? Join(network.costs[row], " ") : FractionsText(network.fractions[row]);
    text += StrCat("costs ", row, ": ", numbers, "\n");
  }
  for (int32_t row = 0; row < network.usages.size(); ++row) {
    text += StrCat("usages ", row, ": ", Join(network.usages[row], " "), "\n");
  }
  return text;
}

}  // namespace sbp
