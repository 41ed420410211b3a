#include "search/folded_core.h"

#include <algorithm>
#include <array>
#include <map>

#include "search/matrices.h"
#include "search/number_rows.h"

namespace sbp {
namespace {

constexpr int32_t kLeastNodes = 1000;  // of the whole: fewer are searched quickly as they are
constexpr int32_t kLeastCopies = 3;    // nodes that look alike, on average
constexpr int kLeastDepth = 3;         // edges around a node that are looked at; fewer say nothing
constexpr int kMostDepth = 4;

// Numbers of looks, from 0 in order of appearance.
struct Looks {
  std::vector<int32_t> of_node;
  int32_t count = 0;
};

Looks ByCosts(const Core& core) {
  Looks looks;
  NumberRows<double> rows;
  for (const Core::Node& node : core.nodes) looks.of_node.push_back(rows.Add(node.costs));
  looks.count = rows.size();
  return looks;
}

// One edge further around.
Looks Refined(const Core& core, const Looks& before) {
  Looks looks;
  NumberRows<int64_t> rows;
  std::vector<int64_t> row;
  for (int32_t node = 0; node < core.size(); ++node) {
    row.clear();
    for (const Core::Link& link : core.links[node]) {
      const Core::Edge& edge = core.edges[link.edge];
      const int64_t end = 2 * int64_t{edge.matrix} + (edge.nodes[0] == node ? 0 : 1);
      row.push_back(end << 32 | before.of_node[link.other]);
    }
    std::sort(row.begin(), row.end());
    row.push_back(before.of_node[node]);
    looks.of_node.push_back(rows.Add(row));
  }
  looks.count = rows.size();
  return looks;
}

// As far around as leaves enough copies; none if that is not far.
std::optional<Looks> LooksOf(const Core& core) {
  Looks looks = ByCosts(core);
  for (int depth = 0; depth < kMostDepth; ++depth) {
    Looks further = Refined(core, looks);
    if (further.count * kLeastCopies > core.size()) {
      if (depth < kLeastDepth) return std::nullopt;
      break;
    }
    const bool settled = further.count == looks.count;
    looks = std::move(further);
    if (settled) break;
  }
  return looks;
}

Matrix Times(Matrix matrix, double count) {
  for (double& entry : matrix.table) entry *= count;
  return matrix;
}

// What an edge within a folded node costs it. A node of a core has no forbidden candidates, as no message may be
// infinite: what is forbidden counts as the dearest that is not, and a search of the whole sees the difference.
void AddWithin(const Matrix& matrix, std::vector<double>& costs) {
  double dearest = 0;
  for (const double entry : matrix.table) {
    if (entry < kForbidden) dearest = std::max(dearest, entry);
  }
  for (int32_t a = 0; a < matrix.rows; ++a) costs[a] += std::min(matrix.at(a, a), dearest);
}

}  // namespace

std::vector<int32_t> FoldedCore::Unfold(std::span<const int32_t> choice) const {
  std::vector<int32_t> whole;
  whole.reserve(node_of.size());
  for (const int32_t node : node_of) whole.push_back(choice[node]);
  return whole;
}

std::optional<FoldedCore> Fold(const Core& whole) {
  if (whole.steps() > 0 || whole.size() < kLeastNodes) return std::nullopt;
  std::optional<Looks> looks = LooksOf(whole);
  if (!looks) return std::nullopt;
  FoldedCore folded;
  folded.node_of = std::move(looks->of_node);
  Core& core = folded.core;
  core.constant = whole.constant;
  core.scale = whole.scale;
  core.nodes.resize(looks->count);
  for (int32_t node = 0; node < whole.size(); ++node) {
    const std::vector<double>& costs = whole.nodes[node].costs;
    std::vector<double>& sum = core.nodes[folded.node_of[node]].costs;
    sum.resize(costs.size(), 0);
    for (size_t a = 0; a < costs.size(); ++a) sum[a] += costs[a];
  }
  std::map<std::array<int32_t, 3>, int32_t> known;  // by ends and matrix
  for (const Core::Edge& edge : whole.edges) {
    const int32_t a = folded.node_of[edge.nodes[0]];
    const int32_t b = folded.node_of[edge.nodes[1]];
    if (a == b) {
      AddWithin(whole.matrices[edge.matrix], core.nodes[a].costs);
      folded.edge_of.push_back(-1);
      continue;
    }
    const auto [entry, is_new] = known.try_emplace({a, b, edge.matrix}, static_cast<int32_t>(core.edges.size()));
    if (is_new) {
      core.edges.push_back({{a, b}, edge.matrix});
      folded.copies_of.push_back(0);
    }
    folded.edge_of.push_back(entry->second);
    ++folded.copies_of[entry->second];
  }
  for (size_t i = 0; i < core.edges.size(); ++i) {
    core.edges[i].matrix = core.matrices.Add(Times(whole.matrices[core.edges[i].matrix], folded.copies_of[i]));
  }
  MakeLinks(core);
  return folded;
}

}  // namespace sbp
