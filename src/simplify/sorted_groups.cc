#include "simplify/sorted_groups.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "sbp/shard_math.h"
#include "simplify/moves.h"

namespace sbp::simplify {
namespace {

constexpr int kMostBared = 12, kDeepestElement = 16;
constexpr int64_t kMostGroups = 4096;            // each number is looked at
constexpr int64_t kMostRows = int64_t{1} << 24;  // that f32 counts one by one

const Literal* LiteralOf(const Graph& graph, TensorId id) {
  if (!id.valid() || graph.tensor(id).role != TensorRole::kParameter) return nullptr;
  return graph.tensor(id).literal.get();
}

double ElementOf(const Literal& literal, size_t i) {
  return literal.is_integral() ? static_cast<double>(literal.ints[i]) : literal.floats[i];
}

size_t CountOf(const Literal& literal) { return literal.is_integral() ? literal.ints.size() : literal.floats.size(); }

bool HoldsCounts(DType type) {
  return type == DType::kI32 || type == DType::kI64 || type == DType::kF32 || type == DType::kF64;
}

// What a tensor is but for casts that keep whole numbers, and other shapes of the same elements.
TensorId Bare(const Graph& graph, TensorId id) {
  for (int way = 0; way < kMostBared; ++way) {
    const Op* op = ProducerOf(graph, id);
    if (op == nullptr || op->inputs.empty() || !op->signature_pin.empty()) break;
    const std::string_view type = graph.type_of(*op);
    const bool shapes = type == "Unsqueeze" || type == "Reshape" || type == "Squeeze" || type == "Flatten";
    const bool casts = type == "Cast" && HoldsCounts(graph.tensor(id).type.dtype);
    if (!shapes && !casts) break;
    id = op->inputs[0];
  }
  return id;
}

// The op that writes what a tensor is (Bare), if it is of that type.
const Op* WriterOf(const Graph& graph, TensorId id, std::string_view type) {
  const Op* op = ProducerOf(graph, Bare(graph, id));
  return op != nullptr && graph.type_of(*op) == type && op->signature_pin.empty() ? op : nullptr;
}

// A sum over this dimension alone, of two.
bool SumsOver(const Graph& graph, const Op& op, int64_t dim) {
  const Literal* axes = op.inputs.size() > 1 ? LiteralOf(graph, op.inputs[1]) : nullptr;
  if (graph.tensor(op.inputs[0]).type.shape.size() != 2 || axes == nullptr || axes->ints.size() != 1) return false;
  return axes->ints[0] == dim || axes->ints[0] == dim - 2;
}

using Elements = std::map<TensorId, std::optional<double>>;
std::optional<double> ComputeElement(const Graph& graph, TensorId id, Elements& known, int depth);

// An element of a tensor that is computed by element, from those that `known` has, which keeps what is found.
std::optional<double> ElementFor(const Graph& graph, TensorId id, Elements& known, int depth = 0) {
  if (const auto found = known.find(id); found != known.end()) return found->second;
  const std::optional<double> element = ComputeElement(graph, id, known, depth);
  known.emplace(id, element);
  return element;
}

std::optional<double> ComputeElement(const Graph& graph, TensorId id, Elements& known, int depth) {
  if (const std::optional<double> number = NumberOf(graph, id)) return number;
  const Op* op = ProducerOf(graph, id);
  if (op == nullptr || depth == kDeepestElement || !op->signature_pin.empty()) return std::nullopt;
  std::vector<double> x;
  const std::string_view type = graph.type_of(*op);
  const bool shapes = type == "Unsqueeze" || type == "Reshape" || type == "Squeeze" || type == "Flatten";
  for (size_t i = 0; i < (shapes ? 1 : op->inputs.size()); ++i) {
    if (!op->inputs[i].valid()) return std::nullopt;
    const std::optional<double> part = ElementFor(graph, op->inputs[i], known, depth + 1);
    if (!part) return std::nullopt;
    x.push_back(*part);
  }
  const DType dtype = graph.tensor(id).type.dtype;
  const auto rounded = [dtype](double number) -> std::optional<double> {
    if (dtype == DType::kF32) return static_cast<double>(static_cast<float>(number));
    if (dtype == DType::kF64) return number;
    if (dtype == DType::kBool) return number != 0 ? 1 : 0;
    if (dtype == DType::kI32 || dtype == DType::kI64) return std::trunc(number);
    return std::nullopt;
  };
  if (shapes || type == "Cast") return rounded(x[0]);
  if (x.size() == 3) return type == "Where" ? rounded(x[0] != 0 ? x[1] : x[2]) : std::nullopt;
  if (type == "Floor") return x[0] == std::floor(x[0]) ? x[0] : std::floor(x[0]);
  if (x.size() != 2) return std::nullopt;
  const double a = x[0], b = x[1];
  if (type == "Add") return rounded(a + b);
  if (type == "Sub") return rounded(a - b);
  if (type == "Mul") return rounded(a * b);
  if (type == "Div" && b != 0) return rounded(a / b);
  if (type == "Min") return std::min(a, b);
  if (type == "Max") return std::max(a, b);
  if (type == "Less") return a < b;
  if (type == "Greater") return a > b;
  if (type == "Or") return a != 0 || b != 0;
  if (type == "And") return a != 0 && b != 0;
  return std::nullopt;
}

// How many rows have each number: the sum over rows of one-hot numbers.
bool AreCounts(const Graph& graph, TensorId counts, TensorId sorted, TensorId unsorted, int64_t count) {
  const Op* sum = WriterOf(graph, counts, "ReduceSum");
  const Op* equal = sum != nullptr && SumsOver(graph, *sum, 0) ? WriterOf(graph, sum->inputs[0], "Equal") : nullptr;
  if (equal == nullptr || graph.tensor(equal->outputs[0]).type.shape.size() != 2) return false;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const TensorId row = equal->inputs[1 - side], column = equal->inputs[side];
    if (graph.tensor(row).type.num_elements() != count || !IsIota(graph, row)) continue;
    const Shape &of_row = graph.tensor(row).type.shape, &of_column = graph.tensor(column).type.shape;
    if (of_row.empty() || of_row.back() != count || of_column.size() != 2 || of_column[1] != 1) continue;
    bool same = true;
    for (int64_t number = 0; same && number < count; ++number) {
      Elements known = {{sorted, static_cast<double>(number)}, {unsorted, static_cast<double>(number)}};
      same = ElementFor(graph, column, known) == static_cast<double>(number);
    }
    return same;
  }
  return false;
}

}  // namespace

std::optional<double> NumberOf(const Graph& graph, TensorId id) {
  const Literal* literal = LiteralOf(graph, id);
  return literal != nullptr && CountOf(*literal) == 1 ? std::optional(ElementOf(*literal, 0)) : std::nullopt;
}

bool IsIota(const Graph& graph, TensorId id) {
  id = Bare(graph, id);
  const int64_t count = graph.tensor(id).type.num_elements();
  if (const Literal* literal = LiteralOf(graph, id)) {
    if (static_cast<int64_t>(CountOf(*literal)) != count) return false;
    for (int64_t i = 0; i < count; ++i) {
      if (ElementOf(*literal, static_cast<size_t>(i)) != static_cast<double>(i)) return false;
    }
    return true;
  }
  const Op* op = ProducerOf(graph, id);
  if (op == nullptr || graph.type_of(*op) != "Range" || op->inputs.size() != 3) return false;
  return NumberOf(graph, op->inputs[0]) == 0.0 && NumberOf(graph, op->inputs[2]) == 1.0;
}

bool AreSortedGroups(const Graph& graph, TensorId groups, TensorId sorted, TensorId unsorted, int64_t count) {
  const int64_t rows = graph.tensor(sorted).type.num_elements();
  if (count < 1 || count > kMostGroups || rows > kMostRows) return false;
  TensorId passed = groups;
  if (const Op* least = WriterOf(graph, groups, "Min"); least != nullptr && least->inputs.size() == 2) {
    const bool second = NumberOf(graph, least->inputs[1]).has_value();
    if (NumberOf(graph, least->inputs[second ? 1 : 0]) != static_cast<double>(count - 1)) return false;
    passed = least->inputs[second ? 0 : 1];
  }
  const Op* sum = WriterOf(graph, passed, "ReduceSum");
  if (sum == nullptr || !SumsOver(graph, *sum, 1)) return false;
  const Op* not_before = WriterOf(graph, sum->inputs[0], "GreaterOrEqual");
  if (not_before == nullptr) return false;
  const TensorId row = not_before->inputs[0], end = not_before->inputs[1];
  const auto shape = [&](TensorId id) { return graph.tensor(id).type.shape; };
  if (shape(row) != Shape{rows, 1} || shape(end) != Shape{1, count} || !IsIota(graph, row)) return false;
  const Op* running = WriterOf(graph, end, "CumSum");
  if (running == nullptr || running->attributes->Int("exclusive", 0) != 0 ||
      running->attributes->Int("reverse", 0) != 0)
    return false;
  return shape(running->inputs[0]) == Shape{count} && AreCounts(graph, running->inputs[0], sorted, unsorted, count);
}

}  // namespace sbp::simplify
