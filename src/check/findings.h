// What the parts of the checker share: the list of violations, and how places are named.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/text.h"
#include "check/violation.h"
#include "graph/graph.h"

namespace sbp {

class Findings {
 public:
  void Add(std::string where, std::string what, std::string expected, std::string found) {
    // One wrong field can break every op of a large plan; nobody reads more than this.
    constexpr size_t kMost = 10'000;
    if (list_.size() < kMost)
      list_.push_back({std::move(where), std::move(what), std::move(expected), std::move(found)});
  }
  bool empty() const { return list_.empty(); }
  std::vector<Violation> Take() { return std::move(list_); }

 private:
  std::vector<Violation> list_;
};

inline std::string PlaceOf(const Graph& graph, OpId op) {
  return StrCat(graph.type_of(graph.op(op)), " ", Quote(graph.op(op).name));
}
inline std::string PlaceOf(const Graph& graph, TensorId tensor) {
  return StrCat("tensor ", Quote(graph.tensor(tensor).name));
}

// Equal but for the order of summation.
inline bool SameFigure(double a, double b) {
  const double scale = std::max(a < 0 ? -a : a, b < 0 ? -b : b);
  const double difference = a < b ? b - a : a - b;
  return a == b || difference <= 1e-9 * scale;  // false for NaN
}

}  // namespace sbp
