// Ops that combine elements along axes.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "fold/evaluators.h"
#include "fold/value.h"

namespace sbp::evaluators {
namespace {

using Results = std::vector<Literal>;

// For every result element, in order, the operand elements that it combines.
struct Groups {
  Shape shape;  // of the result
  std::vector<std::vector<size_t>> members;
};

Groups GroupBy(const Shape& shape, const std::vector<size_t>& axes, bool keep_dims) {
  Groups groups;
  Shape kept = shape;
  for (const size_t axis : axes) kept[axis] = 1;
  std::vector<int64_t> strides = Strides(kept);
  for (size_t d = 0; d < shape.size(); ++d) {
    if (std::ranges::count(axes, d) > 0) strides[d] = 0;
    if (keep_dims || std::ranges::count(axes, d) == 0) groups.shape.push_back(kept[d]);
  }
  groups.members.resize(static_cast<size_t>(SmallCount(kept).value_or(0)));
  size_t at = 0;
  for (const int64_t group : FlatIndices(shape, strides)) groups.members[static_cast<size_t>(group)].push_back(at++);
  return groups;
}

std::optional<Groups> ReducedGroups(const FoldRequest& request) {
  const Shape& shape = request.value(0).type.shape;
  std::vector<size_t> all(shape.size());
  std::iota(all.begin(), all.end(), size_t{0});
  // No axes, or an empty list: all of them, unless the op says none.
  const bool none = request.attributes->Int("noop_with_empty_axes", 0) != 0;
  std::optional<std::vector<size_t>> axes = AxesOf(request, 1, "axes", shape.size(), {});
  if (!axes) return std::nullopt;
  if (axes->empty() && !none) axes = all;
  return GroupBy(shape, *axes, request.attributes->Int("keepdims", 1) != 0);
}

template <typename Ints, typename Floats>
bool Reduce(const FoldRequest& request, Results& results, Ints ints, Floats floats) {
  const Literal& data = request.value(0);
  const std::optional<Groups> groups = ReducedGroups(request);
  const DType dtype = data.type.dtype;
  if (!groups || (!data.is_integral() && !CanRound(dtype))) return false;
  Literal out = EmptyLiteral(dtype, groups->shape);
  for (const std::vector<size_t>& members : groups->members) {
    if (members.empty()) return false;  // the neutral element is not worth a case
    int64_t total = 0;
    double sum = 0;
    for (size_t i = 0; i < members.size(); ++i) {
      if (data.is_integral())
        total = i == 0 ? data.ints[members[i]] : ints(total, data.ints[members[i]]);
      else
        sum = i == 0 ? data.floats[members[i]] : floats(sum, data.floats[members[i]]);
    }
    if (data.is_integral())
      out.ints.push_back(WrapInteger(dtype, total));
    else
      out.floats.push_back(*RoundFloat(dtype, sum));
  }
  results.push_back(std::move(out));
  return true;
}

template <typename Better>
bool ArgBest(const FoldRequest& request, Results& results, Better better) {
  const Literal& data = request.value(0);
  const std::optional<size_t> axis = Axis(request.attributes->Int("axis", 0), data.type.shape.size());
  if (!axis || (!data.is_integral() && !IsFloat(data.type.dtype))) return false;
  const bool last = request.attributes->Int("select_last_index", 0) != 0;
  const Groups groups = GroupBy(data.type.shape, {*axis}, request.attributes->Int("keepdims", 1) != 0);
  Literal out = EmptyLiteral(DType::kI64, groups.shape);
  for (const std::vector<size_t>& members : groups.members) {
    if (members.empty()) return false;
    const auto value = [&](size_t i) {
      return data.is_integral() ? static_cast<double>(data.ints[members[i]]) : data.floats[members[i]];
    };
    size_t best = 0;
    for (size_t i = 1; i < members.size(); ++i) {
      if (better(value(i), value(best)) || (last && value(i) == value(best))) best = i;
    }
    out.ints.push_back(static_cast<int64_t>(best));
  }
  results.push_back(std::move(out));
  return true;
}

int64_t WrapAdd(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t WrapMultiply(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

}  // namespace

bool ReduceSum(const FoldRequest& r, Results& out) { return Reduce(r, out, WrapAdd, std::plus<double>()); }
bool ReduceProd(const FoldRequest& r, Results& out) { return Reduce(r, out, WrapMultiply, std::multiplies<double>()); }
bool ReduceMin(const FoldRequest& r, Results& out) {
  return Reduce(
      r, out, [](int64_t a, int64_t b) { return std::min(a, b); }, [](double a, double b) { return std::min(a, b); });
}
bool ReduceMax(const FoldRequest& r, Results& out) {
  return Reduce(
      r, out, [](int64_t a, int64_t b) { return std::max(a, b); }, [](double a, double b) { return std::max(a, b); });
}

bool ReduceMean(const FoldRequest& request, Results& results) {
  const DType dtype = request.value(0).type.dtype;
  const std::optional<Groups> groups = ReducedGroups(request);
  if (!groups || !CanRound(dtype)) return false;  // means of integers round in ways that differ between runtimes
  Literal out = EmptyLiteral(dtype, groups->shape);
  for (const std::vector<size_t>& members : groups->members) {
    if (members.empty()) return false;
    double sum = 0;
    for (const size_t i : members) sum += request.value(0).floats[i];
    out.floats.push_back(*RoundFloat(dtype, sum / static_cast<double>(members.size())));
  }
  results.push_back(std::move(out));
  return true;
}

bool ArgMax(const FoldRequest& r, Results& out) { return ArgBest(r, out, std::greater<double>()); }
bool ArgMin(const FoldRequest& r, Results& out) { return ArgBest(r, out, std::less<double>()); }

bool CumSum(const FoldRequest& request, Results& results) {
  const Literal& data = request.value(0);
  const std::optional<std::vector<int64_t>> axes = IntsOf(request, 1);
  if (!axes || axes->size() != 1 || !data.is_integral()) return false;
  const std::optional<size_t> axis = Axis((*axes)[0], data.type.shape.size());
  if (!axis) return false;
  const bool exclusive = request.attributes->Int("exclusive", 0) != 0;
  const bool reverse = request.attributes->Int("reverse", 0) != 0;
  Literal out = data;
  out.raw.clear();
  for (std::vector<size_t>& members : GroupBy(data.type.shape, {*axis}, true).members) {
    if (reverse) std::ranges::reverse(members);
    int64_t sum = 0;
    for (const size_t i : members) {
      const int64_t after = WrapAdd(sum, data.ints[i]);
      out.ints[i] = WrapInteger(data.type.dtype, exclusive ? sum : after);
      sum = after;
    }
  }
  results.push_back(std::move(out));
  return true;
}

}  // namespace sbp::evaluators
