// Reductions, arg-max, softmax. A part reduces its own elements; a mean divides by the global count.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "reference/interpreter.h"

namespace sbp::reference {
namespace {

// The axes of a Reduce* op: the second operand, or the attribute; all when absent (unless noop_with_empty_axes).
std::set<int64_t> Axes(const Call& call) {
  const int64_t rank = call.in(0).rank();
  std::vector<int64_t> given;
  if (call.has(1)) {
    given.assign(call.in(1).values.begin(), call.in(1).values.end());
  } else if (const auto* axes = call.attributes->Ints("axes")) {
    given = *axes;
  }
  std::set<int64_t> axes;
  for (const int64_t axis : given) axes.insert(axis < 0 ? axis + rank : axis);
  if (axes.empty() && call.attributes->Int("noop_with_empty_axes", 0) == 0) {
    for (int64_t d = 0; d < rank; ++d) axes.insert(d);
  }
  return axes;
}

// fold(accumulator, element), started from `init`, then finish(accumulator, number of global elements).
template <typename Fold, typename Finish>
std::vector<Array> Reduce(const Call& call, double init, Fold fold, Finish finish) {
  const std::set<int64_t> axes = Axes(call);
  const bool keep = call.attributes->Int("keepdims", 1) != 0;
  Array out = call.MakeResult(0, init);
  ForEach(call.in(0).shape, [&](const Index& at) {
    Index to;
    for (size_t d = 0; d < at.size(); ++d) {
      const bool reduced = axes.count(static_cast<int64_t>(d)) > 0;
      if (!reduced)
        to.push_back(at[d]);
      else if (keep)
        to.push_back(0);
    }
    out.at(to) = fold(out.at(to), call.in(0).at(at));
  });
  double count = 1;
  for (const int64_t axis : axes) count *= static_cast<double>(call.input_pieces[0].global[axis]);
  for (double& v : out.values) v = finish(v, count);
  return {out};
}

double Same(double v, double) { return v; }

template <auto Fold, auto Init>
std::vector<Array> Plain(const Call& call) {
  return Reduce(call, Init(), Fold, Same);
}

std::vector<Array> ReduceMean(const Call& call) {
  return Reduce(
      call, 0, [](double a, double v) { return a + v; }, [](double a, double n) { return a / n; });
}
std::vector<Array> ReduceL2(const Call& call) {
  return Reduce(
      call, 0, [](double a, double v) { return a + v * v; }, [](double a, double) { return std::sqrt(a); });
}
std::vector<Array> ReduceLogSum(const Call& call) {
  return Reduce(
      call, 0, [](double a, double v) { return a + v; }, [](double a, double) { return std::log(a); });
}
std::vector<Array> ReduceLogSumExp(const Call& call) {
  return Reduce(
      call, 0, [](double a, double v) { return a + std::exp(v); }, [](double a, double) { return std::log(a); });
}

// Runs f(values along `axis`) for each line of the operand; f returns the new values.
template <typename F>
Array AlongAxis(const Array& x, int64_t axis, DType type, F f) {
  axis = axis < 0 ? axis + x.rank() : axis;
  Array out(type, x.shape);
  Shape outer = x.shape;
  outer[axis] = 1;
  ForEach(outer, [&](Index at) {
    std::vector<double> line(x.shape[axis]);
    for (int64_t i = 0; i < x.shape[axis]; ++i) {
      at[axis] = i;
      line[i] = x.at(at);
    }
    line = f(line);
    for (int64_t i = 0; i < x.shape[axis]; ++i) {
      at[axis] = i;
      out.at(at) = line[i];
    }
  });
  return out;
}

std::vector<double> SoftmaxOf(std::vector<double> line) {
  const double top = *std::max_element(line.begin(), line.end());
  double total = 0;
  for (double& v : line) total += v = std::exp(v - top);
  for (double& v : line) v /= total;
  return line;
}

std::vector<Array> Softmax(const Call& call) {
  return {AlongAxis(call.in(0), call.attributes->Int("axis", -1), call.result_types[0], SoftmaxOf)};
}
std::vector<Array> LogSoftmax(const Call& call) {
  return {AlongAxis(call.in(0), call.attributes->Int("axis", -1), call.result_types[0], [](std::vector<double> line) {
    line = SoftmaxOf(line);
    for (double& v : line) v = std::log(v);
    return line;
  })};
}
std::vector<Array> Hardmax(const Call& call) {
  return {AlongAxis(call.in(0), call.attributes->Int("axis", -1), call.result_types[0], [](std::vector<double> line) {
    const auto top = std::max_element(line.begin(), line.end()) - line.begin();
    std::fill(line.begin(), line.end(), 0);
    line[top] = 1;
    return line;
  })};
}
std::vector<Array> LpNormalization(const Call& call) {
  const double p = static_cast<double>(call.attributes->Int("p", 2));
  return {AlongAxis(call.in(0), call.attributes->Int("axis", -1), call.result_types[0], [p](std::vector<double> line) {
    double norm = 0;
    for (const double v : line) norm += std::pow(std::abs(v), p);
    norm = std::pow(norm, 1 / p);
    for (double& v : line) v = norm == 0 ? 0 : v / norm;
    return line;
  })};
}

template <bool Largest>
std::vector<Array> ArgExtreme(const Call& call) {
  const int64_t rank = call.in(0).rank();
  const int64_t axis = (call.attributes->Int("axis", 0) + rank) % rank;
  const bool keep = call.attributes->Int("keepdims", 1) != 0, last = call.attributes->Int("select_last_index", 0) != 0;
  const Array& x = call.in(0);
  Array out = call.MakeResult(0);
  Shape outer = x.shape;
  outer[axis] = 1;
  ForEach(outer, [&](Index at) {
    int64_t best = 0;
    double value = 0;
    for (int64_t i = 0; i < x.shape[axis]; ++i) {
      at[axis] = i;
      const double v = Largest ? x.at(at) : -x.at(at);
      if (i == 0 || v > value || (last && v == value)) {
        value = v;
        best = i;
      }
    }
    Index to = at;
    if (keep)
      to[axis] = 0;
    else
      to.erase(to.begin() + axis);
    out.at(to) = static_cast<double>(best + call.input_pieces[0].ranges[axis].begin);
  });
  return {out};
}

double Zero() { return 0; }
double One() { return 1; }
double Lowest() { return -std::numeric_limits<double>::infinity(); }
double Highest() { return std::numeric_limits<double>::infinity(); }

}  // namespace

void AddReductions(KernelTable& t) {
  t["ReduceSum"] = Plain<([](double a, double v) { return a + v; }), Zero>;
  t["ReduceSumSquare"] = Plain<([](double a, double v) { return a + v * v; }), Zero>;
  t["ReduceL1"] = Plain<([](double a, double v) { return a + std::abs(v); }), Zero>;
  t["ReduceProd"] = Plain<([](double a, double v) { return a * v; }), One>;
  t["ReduceMax"] = Plain<([](double a, double v) { return std::max(a, v); }), Lowest>;
  t["ReduceMin"] = Plain<([](double a, double v) { return std::min(a, v); }), Highest>;
  t["ReduceMean"] = ReduceMean;
  t["ReduceL2"] = ReduceL2;
  t["ReduceLogSum"] = ReduceLogSum;
  t["ReduceLogSumExp"] = ReduceLogSumExp;
  t["Softmax"] = Softmax;
  t["LogSoftmax"] = LogSoftmax;
  t["Hardmax"] = Hardmax;
  t["LpNormalization"] = LpNormalization;
  t["ArgMax"] = ArgExtreme<true>;
  t["ArgMin"] = ArgExtreme<false>;
}

}  // namespace sbp::reference
