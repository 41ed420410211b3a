// A batched product that has one row for each of its matrices, however it is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "sbp/shard_math.h"

namespace sbp::simplify {

struct ExpertProduct {
  TensorId matrices, rows;     // [lead ..., two dimensions]
  bool sums_columns = false;   // over the last dimension of the matrices, not over the one before it
  std::vector<int> row_order;  // a permutation of the dimensions of `rows`; empty: as they are
  Shape ones, stretched;       // the rows in that order, with a 1 where they stretch, and stretched to all matrices
  int64_t inner = 0, columns = 0;
  Shape result;  // of [matrices, columns] seen with all dimensions, then permuted; empty: as they are
  std::vector<int> result_order;
};

// Of an op of two operands with static types, `side` of which is the matrices. Nothing: it is no such product.
std::optional<ExpertProduct> FindExpertProduct(const Graph& graph, const Op& op, size_t side);

}  // namespace sbp::simplify
