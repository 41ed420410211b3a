#include "search/folded_core.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <utility>

#include "search/folded_time.h"
#include "search/matrices.h"
#include "search/number_rows.h"
#include "search/timeline.h"

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

// By costs, and by what is held, whenever that is.
Looks ByCosts(const Core& core, const std::vector<std::vector<int32_t>>& usages) {
  Looks looks;
  NumberRows<double> rows;
  NumberRows<int64_t> pairs;
  std::vector<int64_t> pair;
  for (int32_t node = 0; node < core.size(); ++node) {
    pair.assign(usages[node].begin(), usages[node].end());
    std::sort(pair.begin(), pair.end());
    pair.erase(std::unique(pair.begin(), pair.end()), pair.end());
    pair.push_back(rows.Add(core.nodes[node].costs));
    looks.of_node.push_back(pairs.Add(pair));
  }
  looks.count = pairs.size();
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
std::optional<Looks> LooksOf(const Core& core, const std::vector<std::vector<int32_t>>& usages) {
  Looks looks = ByCosts(core, usages);
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

// What ties a node to its twin.
Matrix Same(int32_t candidates) {
  std::vector<double> entries(static_cast<size_t>(candidates) * candidates, kForbidden);
  for (int32_t a = 0; a < candidates; ++a) entries[static_cast<size_t>(a) * candidates + a] = 0;
  return Matrix::Plain(candidates, candidates, std::move(entries));
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

// Per node and hold the number of its usages.
std::vector<std::vector<int32_t>> NumbersOfUsages(const Core& core) {
  std::vector<std::vector<int32_t>> numbers(core.nodes.size());
  NumberRows<double> rows;
  for (int32_t node = 0; node < core.size(); ++node) {
    for (const Core::Hold& hold : core.nodes[node].holds) numbers[node].push_back(rows.Add(hold.usages));
  }
  return numbers;
}

// What the members of a folded node hold, at one of the moments of each kind. False: nothing fits.
bool FoldMemory(const Core& whole, const std::vector<std::vector<int32_t>>& usages, FoldedCore& folded) {
  std::vector<HeldSpan> spans;
  NumberRows<int32_t> kinds;  // folded node and usages
  for (int32_t node = 0; node < whole.size(); ++node) {
    for (size_t i = 0; i < usages[node].size(); ++i) {
      const Core::Hold& hold = whole.nodes[node].holds[i];
      const int32_t what = kinds.Add(std::array<int32_t, 2>{folded.node_of[node], usages[node][i]});
      spans.push_back({what, hold.begin, hold.end});
    }
  }
  const FoldedTime time = FoldTime(spans, whole.limits);
  std::map<std::array<int32_t, 3>, std::pair<const Core::Hold*, double>> counts;  // by kind, begin and end
  auto span = spans.begin();
  for (const Core::Node& node : whole.nodes) {
    for (const Core::Hold& hold : node.holds) {
      const int32_t begin = time.Place(span->begin), end = time.Place(span->end);
      if (begin < end) {
        auto& [usage, count] = counts[{span->what, begin, end}];
        usage = &hold;
        ++count;
      }
      ++span;
    }
  }
  for (const auto& [key, held] : counts) {
    Core::Hold hold{key[1], key[2], held.first->usages};
    for (double& usage : hold.usages) usage *= held.second;
    folded.core.nodes[kinds[key[0]][0]].holds.push_back(std::move(hold));
  }
  for (const int32_t step : time.first) folded.core.limits.push_back(whole.limits[step]);
  std::vector<int32_t> old_step;
  if (CompressTimeline(folded.core.nodes, folded.core.limits, old_step)) return false;
  std::vector<int32_t> new_step(time.size(), -1);
  for (size_t step = 0; step < old_step.size(); ++step) {
    new_step[old_step[step]] = static_cast<int32_t>(step);
    folded.core.times.push_back(whole.times[time.first[old_step[step]]]);
    folded.steps_of.push_back(time.copies[old_step[step]]);
  }
  for (const int32_t of : time.class_of) folded.step_of.push_back(new_step[of]);
  return true;
}

}  // namespace

std::vector<int32_t> FoldedCore::Unfold(std::span<const int32_t> choice) const {
  std::vector<int32_t> whole;
  whole.reserve(node_of.size());
  for (const int32_t node : node_of) whole.push_back(choice[node]);
  return whole;
}

std::vector<int32_t> FoldedCore::WithTwins(std::span<const int32_t> choice) const {
  std::vector<int32_t> all;
  all.reserve(twin_of.size());
  for (const int32_t node : twin_of) all.push_back(choice[node]);
  return all;
}

std::optional<FoldedCore> Fold(const Core& whole, Twins twins) {
  if (whole.size() < kLeastNodes) return std::nullopt;
  const std::vector<std::vector<int32_t>> usages = NumbersOfUsages(whole);
  std::optional<Looks> looks = LooksOf(whole, usages);
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
  folded.twin_of.resize(core.nodes.size());
  std::iota(folded.twin_of.begin(), folded.twin_of.end(), 0);
  std::map<int32_t, int32_t> twins_known;  // by folded node
  const auto twin_of = [&](int32_t node) {
    const auto [entry, is_new] = twins_known.try_emplace(node, core.size());
    if (is_new) {
      core.nodes.push_back({.costs = std::vector<double>(core.nodes[node].costs.size(), 0)});
      folded.twin_of.push_back(node);
    }
    return entry->second;
  };
  std::map<std::array<int32_t, 3>, int32_t> known;  // by ends and matrix
  for (const Core::Edge& edge : whole.edges) {
    const int32_t a = folded.node_of[edge.nodes[0]];
    int32_t b = folded.node_of[edge.nodes[1]];
    if (a == b && twins == Twins::kNone) {
      AddWithin(whole.matrices()[edge.matrix], core.nodes[a].costs);
      folded.edge_of.push_back(-1);
      continue;
    }
    if (a == b) b = twin_of(a);
    const auto [entry, is_new] = known.try_emplace({a, b, edge.matrix}, static_cast<int32_t>(core.edges.size()));
    if (is_new) {
      core.edges.push_back({{a, b}, edge.matrix});
      folded.copies_of.push_back(0);
    }
    folded.edge_of.push_back(entry->second);
    ++folded.copies_of[entry->second];
  }
  for (size_t i = 0; i < core.edges.size(); ++i) {
    core.edges[i].matrix = core.matrices().Add(Times(whole.matrices()[core.edges[i].matrix], folded.copies_of[i]));
  }
  for (const auto& [node, twin] : twins_known) {
    core.edges.push_back({{node, twin}, core.matrices().Add(Same(core.candidates(node)))});
    folded.copies_of.push_back(0);
  }
  MakeLinks(core);
  if (whole.steps() > 0 && !FoldMemory(whole, usages, folded)) return std::nullopt;
  return folded;
}

}  // namespace sbp
