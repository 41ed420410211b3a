// Who is next to whom while nodes are eliminated, and which elimination makes the least table.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace sbp {

class EliminationGraph {
 public:
  // Nodes 0, 1, ... with so many candidates each, and per node the others that it shares edges with.
  EliminationGraph(std::vector<double> candidates, std::vector<std::set<int32_t>> adjacent)
      : candidates_(std::move(candidates)), adjacent_(std::move(adjacent)), tables_(candidates_.size()) {
    for (int32_t node = 0; node < static_cast<int32_t>(tables_.size()); ++node) Queue(node);
  }

  bool empty() const { return queue_.empty(); }
  // The node of the least table (over it and those next to it) among those that are left; the first of equal ones.
  int32_t Least() const { return queue_.begin()->second; }
  double TableOf(int32_t node) const { return tables_[node]; }  // entries
  const std::set<int32_t>& adjacent(int32_t node) const { return adjacent_[node]; }

  // Takes a node away; where it is eliminated, those next to it come next to each other.
  void Take(int32_t node, bool eliminated) {
    queue_.erase({tables_[node], node});
    for (const int32_t other : adjacent_[node]) {
      queue_.erase({tables_[other], other});
      adjacent_[other].erase(node);
      if (!eliminated) continue;
      for (const int32_t third : adjacent_[node]) {
        if (third != other) adjacent_[other].insert(third);
      }
    }
    for (const int32_t other : adjacent_[node]) Queue(other);
  }

 private:
  void Queue(int32_t node) {
    tables_[node] = candidates_[node];
    for (const int32_t other : adjacent_[node]) tables_[node] *= candidates_[other];
    queue_.emplace(tables_[node], node);
  }

  std::vector<double> candidates_;
  std::vector<std::set<int32_t>> adjacent_;
  std::vector<double> tables_;
  std::set<std::pair<double, int32_t>> queue_;
};

}  // namespace sbp
