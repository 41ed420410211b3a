#include "simplify/expert_product.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "sbp/shard_math.h"

namespace sbp::simplify {
namespace {

std::optional<ExpertProduct> OfMatMul(const Graph& graph, const Op& op, size_t side) {
  ExpertProduct p{.matrices = op.inputs[side], .rows = op.inputs[1 - side]};
  const Shape &matrices = graph.tensor(p.matrices).type.shape, &rows = graph.tensor(p.rows).type.shape;
  p.result = graph.tensor(op.outputs[0]).type.shape;
  const size_t rank = matrices.size();
  if (rank < 3 || rows.size() < 2 || rows.size() > rank || p.result.size() != rank) return std::nullopt;
  // One row at the left of the matrices (side 1), one column at the right of them (side 0).
  if (rows[side == 1 ? rows.size() - 2 : rows.size() - 1] != 1) return std::nullopt;
  if (!std::equal(p.result.begin(), p.result.end() - 2, matrices.begin())) return std::nullopt;
  p.sums_columns = side == 0;  // y = W x, that is x's row times W's transpose
  p.inner = rows[side == 1 ? rows.size() - 1 : rows.size() - 2];
  p.columns = p.result[side == 1 ? rank - 1 : rank - 2];
  p.ones = rows;
  p.stretched.assign(p.result.begin(), p.result.end() - 2);
  p.stretched.insert(p.stretched.end(), rows.end() - 2, rows.end());
  return p;
}

bool HasLetter(const std::string& letters, char c) { return letters.find(c) != std::string::npos; }

// One term of an equation with two operands; `weights` are [lead ..., two letters].
struct Letters {
  std::string weights, rows, result, lead;
  char inner = 0, column = 0;
};

std::optional<Letters> LettersOf(std::string equation, size_t side) {
  std::erase(equation, ' ');
  const size_t comma = equation.find(','), arrow = equation.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || arrow < comma || HasLetter(equation, '.'))
    return std::nullopt;
  const std::string operands[] = {equation.substr(0, comma), equation.substr(comma + 1, arrow - comma - 1)};
  Letters l{.weights = operands[side], .rows = operands[1 - side], .result = equation.substr(arrow + 2), .lead = {}};
  for (std::string letters : {l.weights, l.rows, l.result}) {
    std::ranges::sort(letters);
    if (std::ranges::adjacent_find(letters) != letters.end()) return std::nullopt;
  }
  if (l.weights.size() < 3) return std::nullopt;
  l.lead = l.weights.substr(0, l.weights.size() - 2);
  l.inner = l.weights[l.weights.size() - 2];
  l.column = l.weights.back();
  if (HasLetter(l.rows, l.column)) std::swap(l.inner, l.column);
  return l;
}

// Lead letters are all in the result and some in the rows; these have the inner letter, and the result has the
// column's.
bool IsRowForEach(const Letters& l) {
  const auto in_rows = [&](char c) { return c == l.inner || HasLetter(l.lead, c); };
  const auto in_result = [&](char c) { return HasLetter(l.result, c); };
  return HasLetter(l.rows, l.inner) && in_result(l.column) && l.result.size() == l.lead.size() + 1 &&
         std::ranges::all_of(l.rows, in_rows) && std::ranges::all_of(l.lead, in_result);
}

std::optional<ExpertProduct> OfEinsum(const Graph& graph, const Op& op, size_t side) {
  const std::optional<Letters> l = LettersOf(op.attributes->String("equation", ""), side);
  if (!l || !IsRowForEach(*l)) return std::nullopt;
  ExpertProduct p{.matrices = op.inputs[side], .rows = op.inputs[1 - side]};
  const Shape &matrices = graph.tensor(p.matrices).type.shape, &rows = graph.tensor(p.rows).type.shape;
  if (matrices.size() != l->weights.size() || rows.size() != l->rows.size()) return std::nullopt;
  p.sums_columns = l->weights.back() == l->inner;
  const std::string wanted = l->lead + l->inner;
  for (const char c : wanted) {
    const int64_t size = matrices[l->weights.find(c)];
    const size_t at = l->rows.find(c);
    if (at != std::string::npos) {
      if (rows[at] != size && (c == l->inner || rows[at] != 1)) return std::nullopt;
      p.row_order.push_back(static_cast<int>(at));
    }
    p.ones.push_back(at == std::string::npos ? 1 : rows[at]);
    p.stretched.push_back(size);
  }
  p.inner = p.stretched.back();
  p.columns = matrices[l->weights.find(l->column)];
  const std::string written = l->lead + l->column;
  for (const char c : written) p.result.push_back(matrices[l->weights.find(c)]);
  for (const char c : l->result) p.result_order.push_back(static_cast<int>(written.find(c)));
  for (std::vector<int>* order : {&p.row_order, &p.result_order}) {
    if (std::ranges::is_sorted(*order)) order->clear();
  }
  return p;
}

}  // namespace

std::optional<ExpertProduct> FindExpertProduct(const Graph& graph, const Op& op, size_t side) {
  const std::string& type = graph.type_of(op);
  if (type == "MatMul") return OfMatMul(graph, op, side);
  if (type == "Einsum") return OfEinsum(graph, op, side);
  return std::nullopt;
}

}  // namespace sbp::simplify
