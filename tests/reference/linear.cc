// Contractions and windows: matmul, Gemm, einsum, convolution, pooling.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "reference/interpreter.h"

namespace sbp::reference {
namespace {

// Sums products of operands over all letters. `terms[i]` spells operand i, `out` the result; every letter one
// dimension.
Array Contract(const std::vector<const Array*>& operands, const std::vector<std::string>& terms, const std::string& out,
               DType type) {
  std::map<char, int64_t> sizes;
  for (size_t i = 0; i < operands.size(); ++i) {
    for (size_t d = 0; d < terms[i].size(); ++d)
      sizes[terms[i][d]] = std::max(sizes[terms[i][d]], operands[i]->shape[d]);
  }
  std::string letters;
  Shape space, shape;
  for (const auto& [letter, size] : sizes) {
    letters += letter;
    space.push_back(size);
  }
  for (const char c : out) shape.push_back(sizes[c]);
  Array result(type, shape);
  ForEach(space, [&](const Index& at) {
    const auto pick = [&](const std::string& term, const Shape& of) {
      Index index;
      for (size_t d = 0; d < term.size(); ++d) index.push_back(of[d] == 1 ? 0 : at[letters.find(term[d])]);
      return index;
    };
    double product = 1;
    for (size_t i = 0; i < operands.size(); ++i) product *= operands[i]->at(pick(terms[i], operands[i]->shape));
    result.at(pick(out, shape)) += product;
  });
  return result;
}

std::vector<Array> MatMul(const Call& call) {
  const Array &a = call.in(0), &b = call.in(1);
  const int batch = std::max({a.rank() - 2, b.rank() - 2, 0});
  std::string all;
  for (int i = 0; i < batch; ++i) all += static_cast<char>('A' + i);
  const auto term = [&](int rank, const char* last) {
    if (rank == 1) return std::string("k");
    return all.substr(batch - (rank - 2)) + last;
  };
  std::string out = all;
  if (a.rank() > 1) out += 'm';
  if (b.rank() > 1) out += 'n';
  Array result = Contract({&a, &b}, {term(a.rank(), "mk"), term(b.rank(), "kn")}, out, call.result_types[0]);
  result.shape = call.result_pieces[0].local();
  return {result};
}

// Row by row: the matrix of the row's expert is looked up; one that another part holds contributes nothing.
std::vector<Array> GroupedMatMul(const Call& call) {
  const Array &x = call.in(0), &w = call.in(1), &expert = call.in(2);
  const bool transposed = call.attributes->Int("transB", 0) != 0;
  const int64_t n = w.shape[transposed ? 1 : 2];
  const Range held = call.input_pieces[1].ranges[0];
  Array y(call.result_types[0], {x.shape[0], n});
  ForEach({x.shape[0], n, x.shape[1]}, [&](const Index& at) {
    const auto [row, column, k] = std::tuple(at[0], at[1], at[2]);
    auto e = static_cast<int64_t>(expert.at({row}));
    if (e < 0) e += call.input_pieces[1].global[0];
    e -= held.begin;
    if (e < 0 || e >= w.shape[0]) return;
    y.at({row, column}) += x.at({row, k}) * w.at(transposed ? Index{e, column, k} : Index{e, k, column});
  });
  return {y};
}

// Each row's outer product is added to the matrix of its expert; that of one that another part holds is left out.
std::vector<Array> GroupedOuter(const Call& call) {
  const Array &a = call.in(0), &b = call.in(1), &expert = call.in(2);
  const Range held = call.result_pieces[0].ranges[0];
  Array y(call.result_types[0], call.result_pieces[0].local());
  ForEach({a.shape[0], a.shape[1], b.shape[1]}, [&](const Index& at) {
    const auto [row, k, n] = std::tuple(at[0], at[1], at[2]);
    auto e = static_cast<int64_t>(expert.at({row}));
    if (e < 0) e += call.result_pieces[0].global[0];
    e -= held.begin;
    if (e < 0 || e >= y.shape[0]) return;
    y.at({e, k, n}) += a.at({row, k}) * b.at({row, n});
  });
  return {y};
}

// As GroupedMatMul, of matrices that are operands of their own.
std::vector<Array> ExpertsMatMul(const Call& call) {
  const Array &x = call.in(0), &expert = call.in(1);
  const bool transposed = call.attributes->Int("transB", 0) != 0;
  const auto count = static_cast<int64_t>(call.inputs.size()) - 2;
  Array y(call.result_types[0], {x.shape[0], call.in(2).shape[transposed ? 0 : 1]});
  ForEach({x.shape[0], y.shape[1], x.shape[1]}, [&](const Index& at) {
    const auto [row, column, k] = std::tuple(at[0], at[1], at[2]);
    const auto e = static_cast<int64_t>(expert.at({row}));
    const Array& w = call.in(static_cast<size_t>(2 + (e < 0 ? e + count : e)));
    y.at({row, column}) += x.at({row, k}) * w.at(transposed ? Index{column, k} : Index{k, column});
  });
  return {y};
}

std::vector<Array> Gemm(const Call& call) {
  const bool ta = call.attributes->Int("transA", 0) != 0, tb = call.attributes->Int("transB", 0) != 0;
  Array y = Contract({&call.in(0), &call.in(1)}, {ta ? "km" : "mk", tb ? "nk" : "kn"}, "mn", call.result_types[0]);
  for (double& v : y.values) v *= call.attributes->Float("alpha", 1);
  if (!call.has(2)) return {y};
  const Array& c = call.in(2);
  ForEach(y.shape, [&](const Index& at) {
    Index index;
    for (int d = 0; d < c.rank(); ++d) index.push_back(c.shape[d] == 1 ? 0 : at[2 - c.rank() + d]);
    y.at(at) += call.attributes->Float("beta", 1) * c.at(index);
  });
  return {y};
}

// '...' of a term stands for the dimensions that it does not spell, named "0", "1", ... so that the last ones agree.
std::string SpellOut(const std::string& term, int rank, int most) {
  const size_t dots = term.find("...");
  if (dots == std::string::npos) return term;
  const int unnamed = rank - (static_cast<int>(term.size()) - 3);
  std::string names;
  for (int i = most - unnamed; i < most; ++i) names += static_cast<char>('0' + i);
  return term.substr(0, dots) + names + term.substr(dots + 3);
}

std::vector<Array> Einsum(const Call& call) {
  std::string equation;
  for (const char c : call.attributes->String("equation", "")) {
    if (c != ' ') equation += c;
  }
  const size_t arrow = equation.find("->");
  const std::string left = equation.substr(0, arrow);
  std::vector<std::string> terms;
  for (size_t from = 0, comma = 0; comma != std::string::npos; from = comma + 1) {
    comma = left.find(',', from);
    terms.push_back(left.substr(from, comma - from));
  }
  int most = 0;  // dimensions that a term leaves to '...'
  for (size_t i = 0; i < terms.size(); ++i) {
    if (terms[i].find("...") != std::string::npos)
      most = std::max(most, call.in(i).rank() - (static_cast<int>(terms[i].size()) - 3));
  }
  for (size_t i = 0; i < terms.size(); ++i) terms[i] = SpellOut(terms[i], call.in(i).rank(), most);
  std::string out;
  if (arrow != std::string::npos) {
    out = equation.substr(arrow + 2);
    out = SpellOut(out, static_cast<int>(out.size()) - 3 + most, most);
  } else {
    out = SpellOut("...", most, most);
    for (char c = 'A'; c <= 'z'; ++c) {
      if (std::count(left.begin(), left.end(), c) == 1) out += c;
    }
  }
  return {Contract(call.inputs, terms, out, call.result_types[0])};
}

// Geometry of a window along each spatial dimension.
struct Window {
  std::vector<int64_t> kernel, stride, dilation, pad_low, pad_high;
};
Window WindowOf(const Call& call, Shape kernel) {
  const size_t n = kernel.size();
  const auto list = [&](const char* name, int64_t fallback) {
    const auto* given = call.attributes->Ints(name);
    return given ? *given : std::vector<int64_t>(n, fallback);
  };
  Window w{kernel, list("strides", 1), list("dilations", 1), list("pads", 0)};
  w.pad_low.resize(2 * n);
  w.pad_high.assign(w.pad_low.begin() + static_cast<std::ptrdiff_t>(n), w.pad_low.end());
  w.pad_low.resize(n);
  const std::string mode = call.attributes->String("auto_pad", "NOTSET");
  if (mode != "SAME_UPPER" && mode != "SAME_LOWER") return w;
  for (size_t d = 0; d < n; ++d) {
    const int64_t in = call.input_pieces[0].global[d + 2], out = (in + w.stride[d] - 1) / w.stride[d];
    const int64_t total = std::max<int64_t>(0, (out - 1) * w.stride[d] + (kernel[d] - 1) * w.dilation[d] + 1 - in);
    w.pad_low[d] = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
    w.pad_high[d] = total - w.pad_low[d];
  }
  return w;
}

// Does the kernel's element lie on the input or its padding? Where sizes are rounded up it may lie beyond.
bool OnPadded(const Window& w, const Call& call, const Index& out, const Index& kernel) {
  for (size_t d = 2; d < out.size(); ++d) {
    const int64_t place = (out[d] + call.result_pieces[0].ranges[d].begin) * w.stride[d - 2] - w.pad_low[d - 2];
    if (place + kernel[d - 2] * w.dilation[d - 2] >= call.input_pieces[0].global[d] + w.pad_high[d - 2]) return false;
  }
  return true;
}

// The input's element under (output index, kernel index), all local; false when it lies in the padding. Windows are
// laid over the whole, so that a part has to hold what lies under its own: NaN if it does not.
bool Under(const Window& w, const Call& call, const Index& out, const Index& kernel, Index& at, double& value) {
  const Piece &in = call.input_pieces[0], &result = call.result_pieces[0];
  for (size_t d = 2; d < out.size(); ++d) {
    const int64_t place = (out[d] + result.ranges[d].begin) * w.stride[d - 2] - w.pad_low[d - 2];
    const int64_t i = place + kernel[d - 2] * w.dilation[d - 2];
    if (i < 0 || i >= in.global[d]) return false;
    at[d] = i - in.ranges[d].begin;
  }
  bool held = true;
  for (size_t d = 2; d < out.size(); ++d) held = held && at[d] >= 0 && at[d] < in.ranges[d].size();
  value = held ? call.in(0).at(at) : std::numeric_limits<double>::quiet_NaN();
  return true;
}

std::vector<Array> Conv(const Call& call) {
  const Array &x = call.in(0), &weight = call.in(1);
  const Window w = WindowOf(call, Shape(weight.shape.begin() + 2, weight.shape.end()));
  // Local groups: what the local channels say, since a group never straddles ranks.
  const int64_t per_group = weight.shape[1], groups = x.shape[1] / per_group;
  const int64_t out_per_group = weight.shape[0] / std::max<int64_t>(groups, 1);
  Array y = call.MakeResult(0);
  ForEach(y.shape, [&](const Index& out) {
    double sum = call.has(2) ? call.in(2).values[out[1]] : 0;
    for (int64_t c = 0; c < per_group; ++c) {
      ForEach(w.kernel, [&](const Index& k) {
        Index at(x.rank());
        at[0] = out[0];
        at[1] = out[1] / out_per_group * per_group + c;
        Index from{out[1], c};
        from.insert(from.end(), k.begin(), k.end());
        double v = 0;
        if (Under(w, call, out, k, at, v)) sum += v * weight.at(from);
      });
    }
    y.at(out) = sum;
  });
  return {y};
}

// The pads of a transposed convolution follow from the result's size where that is given.
Window TransposedWindow(const Call& call, Shape kernel) {
  Window w = WindowOf(call, kernel);
  const std::string mode = call.attributes->String("auto_pad", "NOTSET");
  if (call.attributes->Find("output_shape") == nullptr && mode.substr(0, 4) != "SAME") return w;
  const auto* padding = call.attributes->Ints("output_padding");
  for (size_t d = 0; d < kernel.size(); ++d) {
    const int64_t spread = w.stride[d] * (call.input_pieces[0].global[d + 2] - 1) + (padding ? (*padding)[d] : 0) +
                           (kernel[d] - 1) * w.dilation[d] + 1;
    const int64_t total = std::max<int64_t>(0, spread - call.result_pieces[0].global[d + 2]);
    w.pad_low[d] = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
  }
  return w;
}

std::vector<Array> ConvTranspose(const Call& call) {
  const Array &x = call.in(0), &weight = call.in(1);
  const Window w = TransposedWindow(call, Shape(weight.shape.begin() + 2, weight.shape.end()));
  Array y = call.MakeResult(0);
  const int64_t out_per_group = weight.shape[1], groups = y.shape[1] / out_per_group;
  const int64_t in_per_group = x.shape[1] / std::max<int64_t>(groups, 1);
  if (call.has(2)) ForEach(y.shape, [&](const Index& at) { y.at(at) = call.in(2).values[at[1]]; });
  ForEach(x.shape, [&](const Index& in) {
    for (int64_t c = 0; c < out_per_group; ++c) {
      ForEach(w.kernel, [&](const Index& k) {
        Index at(x.rank());
        at[0] = in[0];
        at[1] = in[1] / in_per_group * out_per_group + c;
        for (size_t d = 0; d < k.size(); ++d) {
          const int64_t from = in[d + 2] + call.input_pieces[0].ranges[d + 2].begin;
          const int64_t to = from * w.stride[d] - w.pad_low[d] + k[d] * w.dilation[d];
          at[d + 2] = to - call.result_pieces[0].ranges[d + 2].begin;
          if (at[d + 2] < 0 || at[d + 2] >= y.shape[d + 2]) return;
        }
        Index from{in[1], c};
        from.insert(from.end(), k.begin(), k.end());
        y.at(at) += x.at(in) * weight.at(from);
      });
    }
  });
  return {y};
}

enum class Pool { kMax, kAverage, kLp };
template <Pool kind>
std::vector<Array> PoolOver(const Call& call) {
  const Array& x = call.in(0);
  const auto* shape = call.attributes->Ints("kernel_shape");
  const bool global = shape == nullptr;
  const Window w = WindowOf(call, global ? Shape(x.shape.begin() + 2, x.shape.end()) : *shape);
  const double p = static_cast<double>(call.attributes->Int("p", 2));
  Array y = call.MakeResult(0), positions = call.result_pieces.size() > 1 ? call.MakeResult(1) : Array();
  ForEach(y.shape, [&](const Index& out) {
    Index best = out;
    double value = kind == Pool::kMax ? -std::numeric_limits<double>::infinity() : 0;
    int64_t count = 0, padded = 0;
    ForEach(w.kernel, [&](const Index& k) {
      padded += !global && OnPadded(w, call, out, k) ? 1 : 0;
      Index at = out;
      double v = 0;
      if (global) {  // all that a part holds
        std::copy(k.begin(), k.end(), at.begin() + 2);
        v = x.at(at);
      } else if (!Under(w, call, out, k, at, v)) {
        return;
      }
      ++count;
      if (kind == Pool::kMax && v > value) best = at;
      if (std::isnan(v)) value = v;
      value = kind == Pool::kMax ? std::max(value, v) : value + (kind == Pool::kLp ? std::pow(std::abs(v), p) : v);
    });
    if (kind == Pool::kAverage) {
      int64_t divisor = call.attributes->Int("count_include_pad", 0) != 0 ? padded : count;
      if (global) divisor = Elements(Shape(call.input_pieces[0].global.begin() + 2, call.input_pieces[0].global.end()));
      value /= static_cast<double>(divisor);
    }
    y.at(out) = kind == Pool::kLp ? std::pow(value, 1 / p) : value;
    if (positions.values.empty()) return;  // positions count in the whole input
    const Shape& sizes = call.input_pieces[0].global;
    best = call.input_pieces[0].ToGlobal(best);
    const bool first_fastest = call.attributes->Int("storage_order", 0) != 0;  // of a plane's dimensions
    int64_t position = best[0] * sizes[1] + best[1];
    for (size_t d = 2; d < best.size(); ++d) {
      const size_t e = first_fastest ? best.size() + 1 - d : d;
      position = position * sizes[e] + best[e];
    }
    positions.at(out) = static_cast<double>(position);
  });
  if (!positions.values.empty()) return {y, positions};
  return {y};
}

}  // namespace

void AddLinear(KernelTable& t) {
  t["MatMul"] = MatMul;
  t["Gemm"] = Gemm;
  t["sbp::ExpertsMatMul"] = ExpertsMatMul;
  t["sbp::GroupedMatMul"] = GroupedMatMul;
  t["sbp::GroupedOuter"] = GroupedOuter;
  t["Einsum"] = Einsum;
  t["Conv"] = Conv;
  t["ConvTranspose"] = ConvTranspose;
  t["MaxPool"] = t["GlobalMaxPool"] = PoolOver<Pool::kMax>;
  t["AveragePool"] = t["GlobalAveragePool"] = PoolOver<Pool::kAverage>;
  t["LpPool"] = t["GlobalLpPool"] = PoolOver<Pool::kLp>;
}

}  // namespace sbp::reference
