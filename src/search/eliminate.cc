#include "search/eliminate.h"

#include <algorithm>
#include <set>
#include <utility>

#include "search/kernels.h"

namespace sbp {
namespace {

constexpr double kMostEntries = 2.5e7;  // of all tables together: 200 MB

class Elimination {
 public:
  Elimination(const Core& core, const EliminationPart& part)
      : core_(core), part_(part), size_(static_cast<int32_t>(part.nodes.size())), place_of_(core.nodes.size(), -1) {
    for (int32_t i = 0; i < size_; ++i) place_of_[part_.nodes[i]] = i;
  }

  // False: it would take more than `most_work`. Fills order_, position_ and scopes_.
  bool ChooseOrder(double most_work);
  EliminationResult Run();

 private:
  // A table over nodes of the part, by position: the last to be eliminated first, row-major. So the node that goes next
  // is the last dimension of each table that holds it.
  struct Table {
    std::vector<int32_t> scope;
    std::vector<double> entries;
  };

  int32_t Count(int32_t position) const { return static_cast<int32_t>(part_.candidates[order_[position]].size()); }
  void AddEdges();
  void Add(Table table);
  void EliminateNext(int32_t position);
  void Choose(int32_t position, std::vector<int32_t>& chosen);

  const Core& core_;
  const EliminationPart& part_;
  const int32_t size_;
  std::vector<int32_t> place_of_;             // in the part, by node of the core; -1
  std::vector<int32_t> order_;                // places, by position
  std::vector<int32_t> position_;             // positions, by place
  std::vector<std::vector<int32_t>> scopes_;  // by position: positions that its table is over, the last first
  std::vector<std::vector<Table>> tables_;    // by position of the first of its nodes to go
  std::vector<double> base_, sum_;
  int64_t work_ = 0;
  bool feasible_ = true;
};

bool Elimination::ChooseOrder(double most_work) {
  EliminationGraph graph = GraphOf(core_, part_);
  position_.assign(size_, -1);
  double work = 0, entries = 0;
  while (!graph.empty()) {
    const int32_t place = graph.Least();
    work += graph.TableOf(place);
    entries += graph.TableOf(place) / static_cast<double>(part_.candidates[place].size());
    if (work > most_work || entries > kMostEntries) return false;
    position_[place] = static_cast<int32_t>(order_.size());
    order_.push_back(place);
    scopes_.emplace_back(graph.adjacent(place).begin(), graph.adjacent(place).end());
    graph.Take(place, true);
  }
  for (std::vector<int32_t>& scope : scopes_) {
    for (int32_t& place : scope) place = position_[place];
    std::sort(scope.rbegin(), scope.rend());
  }
  return true;
}

void Elimination::AddEdges() {
  std::vector<double> scratch;
  for (int32_t i = 0; i < size_; ++i) {
    const std::vector<int32_t>& own = part_.candidates[i];
    for (const Core::Link& link : core_.links[part_.nodes[i]]) {
      const int32_t other = place_of_[link.other];
      if (other < 0 || position_[other] < position_[i]) continue;
      Table table{{position_[other], position_[i]}, {}};
      table.entries.reserve(own.size() * part_.candidates[other].size());
      for (const int32_t b : part_.candidates[other]) {
        const double* row = link.by_other->Row(b, scratch);
        for (const int32_t a : own) table.entries.push_back(row[a]);
      }
      Add(std::move(table));
    }
  }
}

void Elimination::Add(Table table) {
  std::vector<Table>& bucket = tables_[table.scope.back()];
  for (Table& known : bucket) {
    if (known.scope != table.scope) continue;
    for (size_t i = 0; i < known.entries.size(); ++i) known.entries[i] += table.entries[i];
    return;
  }
  bucket.push_back(std::move(table));
}

// The table that is left when the node at `position` takes its best candidate for each choice of its neighbours. The
// last neighbour runs fastest: tables without it are summed once for all its candidates.
void Elimination::EliminateNext(int32_t position) {
  const std::vector<int32_t>& scope = scopes_[position];
  const std::vector<double>& own = part_.costs[order_[position]];
  const int32_t columns = Count(position);
  if (scope.empty()) {
    feasible_ = feasible_ && *std::min_element(own.begin(), own.end()) < kForbidden;
    return;
  }
  const int32_t rows = Count(scope.back());
  int64_t outer = 1;
  for (size_t i = 0; i + 1 < scope.size(); ++i) outer *= Count(scope[i]);
  Table result{scope, std::vector<double>(outer * rows)};
  std::vector<int32_t> at(scope.size() - 1, 0);
  base_.resize(columns);
  sum_.resize(int64_t{rows} * columns);
  for (int64_t step = 0; step < outer; ++step) {
    std::copy(own.begin(), own.end(), base_.begin());
    const double* matrix = nullptr;
    for (const Table& table : tables_[position]) {
      int64_t offset = 0;
      bool inner = false;
      for (size_t i = 0, j = 0; i + 1 < table.scope.size(); ++i) {
        while (scope[j] != table.scope[i]) ++j;
        inner = j + 1 == scope.size();
        offset = offset * Count(scope[j]) + (inner ? 0 : at[j]);
      }
      const double* entries = table.entries.data() + offset * columns;
      if (!inner) {
        for (int32_t k = 0; k < columns; ++k) base_[k] += entries[k];
      } else if (matrix == nullptr) {
        matrix = entries;
      } else {
        for (int64_t k = 0; k < int64_t{rows} * columns; ++k) sum_[k] = matrix[k] + entries[k];
        matrix = sum_.data();
      }
    }
    LeastSums(base_.data(), matrix, rows, columns, result.entries.data() + step * rows);
    for (size_t i = at.size(); i-- > 0 && ++at[i] == Count(scope[i]);) at[i] = 0;
  }
  work_ += outer * rows * columns * static_cast<int64_t>(tables_[position].size());
  Add(std::move(result));
}

void Elimination::Choose(int32_t position, std::vector<int32_t>& chosen) {
  std::vector<double> costs = part_.costs[order_[position]];
  for (const Table& table : tables_[position]) {
    int64_t offset = 0;
    for (size_t i = 0; i + 1 < table.scope.size(); ++i) {
      offset = offset * Count(table.scope[i]) + chosen[table.scope[i]];
    }
    const double* entries = table.entries.data() + offset * static_cast<int64_t>(costs.size());
    for (size_t k = 0; k < costs.size(); ++k) costs[k] += entries[k];
  }
  const auto least = std::min_element(costs.begin(), costs.end());
  feasible_ = feasible_ && *least < kForbidden;
  chosen[position] = static_cast<int32_t>(least - costs.begin());
}

EliminationResult Elimination::Run() {
  tables_.resize(size_);
  AddEdges();
  for (int32_t position = 0; position < size_; ++position) EliminateNext(position);
  std::vector<int32_t> chosen(size_, 0);
  for (int32_t position = size_; position-- > 0;) Choose(position, chosen);
  EliminationResult result{.complete = true, .found = feasible_, .choice = {}, .work = work_};
  result.choice.resize(size_);
  for (int32_t i = 0; i < size_; ++i) result.choice[i] = part_.candidates[i][chosen[position_[i]]];
  return result;
}

}  // namespace

EliminationGraph GraphOf(const Core& core, const EliminationPart& part) {
  std::vector<int32_t> place_of(core.nodes.size(), -1);
  for (size_t i = 0; i < part.nodes.size(); ++i) place_of[part.nodes[i]] = static_cast<int32_t>(i);
  std::vector<double> candidates;
  std::vector<std::set<int32_t>> adjacent(part.nodes.size());
  for (size_t i = 0; i < part.nodes.size(); ++i) {
    candidates.push_back(static_cast<double>(part.candidates[i].size()));
    for (const Core::Link& link : core.links[part.nodes[i]]) {
      if (place_of[link.other] >= 0) adjacent[i].insert(place_of[link.other]);
    }
  }
  return {std::move(candidates), std::move(adjacent)};
}

EliminationResult Eliminate(const Core& core, const EliminationPart& part, int64_t most_work) {
  Elimination elimination(core, part);
  if (!elimination.ChooseOrder(static_cast<double>(most_work))) return {};
  return elimination.Run();
}

}  // namespace sbp
