// The problem that `sbp-plan solve` and the strategy `optimal` answer, as plain data: choose one candidate per node so
// that the sum of node and edge costs is least while no time step holds more than the usage limit. (A cost-function
// network with interval knapsacks; the form of the IOPDDL contest, ASPLOS/EuroSys 2025.)
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "search/number_rows.h"

namespace sbp {

// A cost of this or more forbids what it stands at.
inline constexpr int64_t kInfiniteCost = 1'000'000'000'000'000'000;

struct CostNetwork {
  struct Node {
    int32_t costs = 0;    // row of `costs`: one per candidate
    int32_t usages = -1;  // row of `usages`: one per candidate; -1: holds nothing
    int64_t begin = 0;    // held at time steps [begin, end)
    int64_t end = 0;
  };
  // What a node holds at further times than its own. Quotients have such (quotient.h); files cannot say it.
  struct Hold {
    int32_t node = 0;
    int32_t usages = 0;  // row of `usages`: one per candidate of the node
    int64_t begin = 0, end = 0;
  };
  // Which lines of an edge's table a candidate reads: rows of `maps`, one entry per candidate.
  struct Lines {
    int32_t first = -1;   // -1: candidate i reads line i
    int32_t second = -1;  // -1: it reads one line
  };
  // A table that is smaller than the ends of its edges. A candidate of nodes[0] reads one or two of its rows, one of
  // nodes[1] one or two of its columns; the least of the two or four entries counts. (A reader that takes a tensor from
  // where it was written or from a copy, whatever is nearer.)
  struct Form {
    int32_t rows = 0;
    int32_t columns = 0;
    Lines lines[2];
  };
  struct Edge {
    int32_t nodes[2] = {0, 0};
    int32_t costs = 0;  // row of `costs`, row-major: [candidate of nodes[0]][candidate of nodes[1]]
    int32_t form = -1;  // of `forms`; then `costs` is [row][column] of the form
  };

  std::string name;
  std::vector<Node> nodes;
  // Where a search that sweeps over the nodes has each one; empty: in their own order. Good is an order in which chains
  // of edges are long and each edge is short.
  std::vector<int32_t> places;
  std::vector<Hold> further;
  std::vector<Edge> edges;  // parallel edges may occur, edges from a node to itself may not
  NumberRows<int64_t> costs;
  NumberRows<int64_t> usages;  // >= 0
  std::vector<Form> forms;
  NumberRows<int32_t> maps;
  std::optional<int64_t> usage_limit;  // the same at all time steps; absent: none
  // Costs given as fractions: row i of `fractions` is what row i of `costs` stands for, rounded down to whole `unit`s.
  bool integral = true;
  double unit = 1;
  std::vector<std::vector<double>> fractions;

  int candidates(int node) const { return static_cast<int>(costs[nodes[node].costs].size()); }
  // Where the cost of these two candidates stands in the edge's row of `costs`.
  size_t EntryOf(const Edge& edge, int32_t a, int32_t b) const;
};

// Collects a problem and proves its form. Rows are added first; nodes and edges name them by what AddCosts and
// AddUsages returned.
class CostNetworkBuilder {
 public:
  int32_t AddCosts(std::span<const int64_t> row);
  int32_t AddCosts(std::span<const double> row);  // makes the problem fractional; 10^18 and more is forbidden here too
  int32_t AddUsages(std::span<const int64_t> row) { return network_.usages.Add(row); }
  int32_t AddMap(std::span<const int32_t> map) { return network_.maps.Add(map); }
  int32_t AddForm(const CostNetwork::Form& form) {
    network_.forms.push_back(form);
    return static_cast<int32_t>(network_.forms.size()) - 1;
  }
  void SetName(std::string name) { network_.name = std::move(name); }
  void SetPlaces(std::vector<int32_t> places) { network_.places = std::move(places); }  // one per node
  void SetUsageLimit(int64_t limit) { network_.usage_limit = limit; }
  std::vector<CostNetwork::Node>& nodes() { return network_.nodes; }
  std::vector<CostNetwork::Edge>& edges() { return network_.edges; }
  // Errors, each naming the node or edge by its index: no candidates; sizes that do not fit each other; a node out of
  // range, an edge from a node to itself, an interval that ends before it begins, a negative usage or limit, a number
  // that is none; costs or usages whose sum leaves 64 bits.
  Result<CostNetwork> Build() &&;

 private:
  Status CheckNodes() const;
  Status CheckEdges() const;
  Status CheckForm(int32_t edge) const;
  Status CheckSums() const;
  std::vector<double> Fractions(int32_t row) const;
  Status ScaleFractions();

  struct Row {
    bool fractional;
    int32_t id;  // in network_.costs or fractions_
  };
  CostNetwork network_;
  std::vector<Row> rows_;
  NumberRows<double> fractions_;
  std::vector<int32_t> row_of_integers_, row_of_fractions_;
};

// What a choice costs and holds.
struct Evaluation {
  int64_t cost = 0;        // in units; saturates at kInt64Max once a forbidden entry is met
  double value = 0;        // the cost in the numbers of the problem; equal to `cost` when integral
  bool forbidden = false;  // a forbidden entry is chosen
  int64_t peak = 0;        // largest usage of a time step
  int64_t peak_time = 0;   // the first step that holds it
  bool feasible = false;   // nothing forbidden, peak within the limit
};
// `choice` holds one valid candidate per node.
Evaluation Evaluate(const CostNetwork& network, std::span<const int32_t> choice);

// Canonical text of the problem: nodes, edges and distinct rows in order.
std::string Dump(const CostNetwork& network);

}  // namespace sbp
