#include "search/iopddl.h"

#include <array>
#include <functional>
#include <map>
#include <utility>

#include "base/text.h"
#include "search/json_scanner.h"

namespace sbp {
namespace {

// Rows that were read, found again by their text: most rows of a problem are copies of few.
class RowTexts {
 public:
  static constexpr int32_t kNew = -1;

  // Where the row of this text is kept: kNew, to be filled in, or what stood there.
  int32_t& operator[](std::string_view text) {
    std::vector<std::pair<std::string_view, int32_t>>& bucket =
        buckets_[std::hash<std::string_view>()(text) % kBuckets];
    for (auto& [known, row] : bucket) {
      if (known == text) return row;
    }
    return bucket.emplace_back(text, kNew).second;
  }

 private:
  static constexpr size_t kBuckets = 1 << 14;
  std::vector<std::vector<std::pair<std::string_view, int32_t>>> buckets_{kBuckets};
};

class IopddlReader {
 public:
  explicit IopddlReader(std::string_view text) : scanner_(text) {}

  Result<CostNetwork> Read() {
    bool seen = false;
    Members([&](const std::string& key) {
      if (key != "problem") return scanner_.Skip();
      if (std::exchange(seen, true)) return scanner_.Fail("one \"problem\"");
      return Problem();
    });
    scanner_.End();
    SBP_RETURN_IF_ERROR(scanner_.status());
    if (!seen) return BadInput("expected an object with the member \"problem\"");
    SBP_RETURN_IF_ERROR(Assemble());
    return std::move(builder_).Build();
  }

 private:
  using Rows = std::vector<int32_t>;
  using Pairs = std::vector<std::array<int64_t, 2>>;

  bool Members(const std::function<bool(const std::string&)>& read) {
    std::string key;
    for (bool more = scanner_.Open('{'); more && scanner_.NextKey(key);) {
      if (!read(key)) return false;
    }
    return scanner_.ok();
  }

  bool Problem() {
    return Members([&](const std::string& key) {
      if (key == "nodes") return Nodes();
      if (key == "edges") return Edges();
      if (key == "name") {
        std::string name;
        if (!scanner_.String(name)) return false;
        builder_.SetName(std::move(name));
        return true;
      }
      if (key != "usage_limit") return scanner_.Skip();
      int64_t limit = 0;
      if (scanner_.Null()) return true;
      if (!scanner_.Integer(limit)) return false;
      builder_.SetUsageLimit(limit);
      return true;
    });
  }

  bool Nodes() {
    return Members([&](const std::string& key) {
      if (key == "costs") return CostRows(node_costs_);
      if (key == "usages") return UsageRows();
      if (key == "intervals") return PairRows("an interval [begin, end)", intervals_);
      return scanner_.Skip();
    });
  }

  bool Edges() {
    return Members([&](const std::string& key) {
      if (key == "costs") return CostRows(edge_costs_);
      if (key == "nodes") return PairRows("two nodes", edge_nodes_);
      return scanner_.Skip();
    });
  }

  bool CostRows(Rows& rows) {
    rows.clear();
    for (bool more = scanner_.Open('['); more && scanner_.NextElement();) {
      const std::string_view text = scanner_.NumberArray();
      if (!scanner_.ok()) return false;
      int32_t& row = cost_texts_[text];
      if (row == RowTexts::kNew) {
        if (JsonScanner::HasFractions(text)) {
          if (!scanner_.Numbers(text, numbers_)) return false;
          row = builder_.AddCosts(std::span<const double>(numbers_));
        } else {
          if (!scanner_.Integers(text, integers_)) return false;
          for (const int64_t cost : integers_) {
            if (cost <= -kInfiniteCost) return scanner_.FailAt(Offset(text), "costs above -10^18");
          }
          row = builder_.AddCosts(std::span<const int64_t>(integers_));
        }
      }
      rows.push_back(row);
    }
    return scanner_.ok();
  }

  bool UsageRows() {
    usages_.clear();
    for (bool more = scanner_.Open('['); more && scanner_.NextElement();) {
      const std::string_view text = scanner_.NumberArray();
      if (!scanner_.ok()) return false;
      int32_t& row = usage_texts_[text];
      if (row == RowTexts::kNew) {
        if (!scanner_.Integers(text, integers_)) return false;
        row = builder_.AddUsages(integers_);
      }
      usages_.push_back(row);
    }
    return scanner_.ok();
  }

  bool PairRows(std::string_view what, Pairs& pairs) {
    pairs.clear();
    for (bool more = scanner_.Open('['); more && scanner_.NextElement();) {
      const std::string_view text = scanner_.NumberArray();
      if (!scanner_.ok() || !scanner_.Integers(text, integers_)) return false;
      if (integers_.size() != 2) return scanner_.FailAt(Offset(text), what);
      pairs.push_back({integers_[0], integers_[1]});
    }
    return scanner_.ok();
  }

  size_t Offset(std::string_view part) const { return scanner_.OffsetOf(part); }

  Status Assemble() {
    const size_t nodes = node_costs_.size();
    if (!usages_.empty() && usages_.size() != nodes) {
      return BadInput(StrCat("nodes.usages has ", usages_.size(), " rows, nodes.costs ", nodes));
    }
    if (intervals_.size() != nodes && !(intervals_.empty() && usages_.empty())) {
      return BadInput(StrCat("nodes.intervals has ", intervals_.size(), " rows, nodes.costs ", nodes));
    }
    if (edge_nodes_.size() != edge_costs_.size()) {
      return BadInput(StrCat("edges.nodes has ", edge_nodes_.size(), " rows, edges.costs ", edge_costs_.size()));
    }
    for (size_t i = 0; i < nodes; ++i) {
      CostNetwork::Node node{node_costs_[i]};
      if (!usages_.empty()) node.usages = usages_[i];
      if (!intervals_.empty()) node.begin = intervals_[i][0], node.end = intervals_[i][1];
      builder_.nodes().push_back(node);
    }
    for (size_t i = 0; i < edge_nodes_.size(); ++i) {
      CostNetwork::Edge edge;
      for (int end = 0; end < 2; ++end) {
        const int64_t node = edge_nodes_[i][end];
        if (node < 0 || node >= static_cast<int64_t>(nodes)) {
          return BadInput(StrCat("edges.nodes[", i, "]: node ", node, ", expected 0 to ", nodes - 1));
        }
        edge.nodes[end] = static_cast<int32_t>(node);
      }
      edge.costs = edge_costs_[i];
      builder_.edges().push_back(edge);
    }
    return OkStatus();
  }

  JsonScanner scanner_;
  CostNetworkBuilder builder_;
  RowTexts cost_texts_, usage_texts_;
  Rows node_costs_, edge_costs_, usages_;
  Pairs intervals_, edge_nodes_;
  std::vector<int64_t> integers_;
  std::vector<double> numbers_;
};

template <typename Item, typename Write>
void AppendList(std::string& text, std::string_view key, const std::vector<Item>& items, Write write) {
  text += StrCat("\"", key, "\":[");
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) text += ',';
    text += '[';
    write(items[i]);
    text += ']';
  }
  text += ']';
}

}  // namespace

Result<CostNetwork> ParseIopddl(std::string_view text) { return IopddlReader(text).Read(); }

std::string FormatIopddl(const CostNetwork& network) {
  // A row is written once and copied.
  std::vector<std::string> costs, usages;
  const auto number = [&](int32_t row, size_t i) {
    return network.integral ? StrCat(network.costs[row][i]) : FormatDouble(network.fractions[row][i]);
  };
  for (int32_t row = 0; row < network.costs.size(); ++row) {
    std::vector<std::string> numbers;
    for (size_t i = 0; i < network.costs[row].size(); ++i) numbers.push_back(number(row, i));
    costs.push_back(Join(numbers, ","));
  }
  for (int32_t row = 0; row < network.usages.size(); ++row) usages.push_back(Join(network.usages[row], ","));
  std::string text = StrCat("{\"problem\":{\"name\":\"", network.name, "\",\"nodes\":{");
  using Node = CostNetwork::Node;
  using Edge = CostNetwork::Edge;
  AppendList(text, "intervals", network.nodes,
             [&](const Node& node) { text += StrCat(node.begin, ",", node.usages < 0 ? node.begin : node.end); });
  text += ',';
  AppendList(text, "costs", network.nodes, [&](const Node& node) { text += costs[node.costs]; });
  text += ',';
  AppendList(text, "usages", network.nodes, [&](const Node& node) {
    if (node.usages >= 0) {
      text += usages[node.usages];
      return;
    }
    for (size_t i = 0; i < network.costs[node.costs].size(); ++i) text += i > 0 ? ",0" : "0";
  });
  text += "},\"edges\":{";
  AppendList(text, "nodes", network.edges,
             [&](const Edge& edge) { text += StrCat(edge.nodes[0], ",", edge.nodes[1]); });
  text += ',';
  std::map<std::pair<int32_t, int32_t>, std::string> whole;  // tables in full, by costs and form
  const auto in_full = [&](const Edge& edge) -> const std::string& {
    const auto [known, is_new] = whole.try_emplace({edge.costs, edge.form});
    std::string& row = known->second;
    for (int32_t a = 0; is_new && a < network.candidates(edge.nodes[0]); ++a) {
      for (int32_t b = 0; b < network.candidates(edge.nodes[1]); ++b) {
        row += (a > 0 || b > 0 ? "," : "") + number(edge.costs, network.EntryOf(edge, a, b));
      }
    }
    return row;
  };
  AppendList(text, "costs", network.edges,
             [&](const Edge& edge) { text += edge.form < 0 ? costs[edge.costs] : in_full(edge); });
  return text + StrCat("},\"usage_limit\":", network.usage_limit ? StrCat(*network.usage_limit) : "null", "}}\n");
}

std::string FormatSolution(std::span<const int32_t> choice) {
  return StrCat("{\"solution\": [", Join(choice, ", "), "]}\n");
}

Result<std::vector<int32_t>> ParseSolution(const CostNetwork& network, std::string_view text) {
  JsonScanner scanner(text);
  std::vector<int64_t> numbers;
  bool seen = false;
  std::string key;
  for (bool more = scanner.Open('{'); more && scanner.NextKey(key);) {
    if (key != "solution") {
      scanner.Skip();
      continue;
    }
    seen = true;
    const std::string_view array = scanner.NumberArray();
    if (scanner.ok()) scanner.Integers(array, numbers);
  }
  scanner.End();
  SBP_RETURN_IF_ERROR(scanner.status());
  if (!seen) return BadInput("expected an object with the member \"solution\"");
  if (numbers.size() != network.nodes.size()) {
    return BadInput(StrCat("a solution of ", numbers.size(), " nodes, expected ", network.nodes.size()));
  }
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] >= 0 && numbers[i] < network.candidates(static_cast<int>(i))) continue;
    return BadInput(StrCat("node ", i, ": candidate ", numbers[i], ", expected 0 to ",
                           network.candidates(static_cast<int>(i)) - 1));
  }
  return std::vector<int32_t>(numbers.begin(), numbers.end());
}

}  // namespace sbp
