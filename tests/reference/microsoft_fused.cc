// onnxruntime's fused forms of standard operators: activations, normalisations of sums, products, mixtures of experts.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "reference/interpreter.h"

namespace sbp::reference {
namespace {

double FusedSigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double FusedGelu(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }
double GeluByTanh(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }

// F(x + bias along the last dimension).
template <auto F>
std::vector<Array> BiasThen(const Call& call) {
  Array y = call.MakeResult(0);
  ForEach(y.shape, [&](const Index& at) {
    const double bias = call.has(1) ? call.in(1).values[at.back()] : 0;
    y.at(at) = F(call.in(0).at(at) + bias);
  });
  return {y};
}

std::vector<Array> QuickGelu(const Call& call) {
  Array y = call.MakeResult(0);
  for (size_t i = 0; i < y.values.size(); ++i) {
    const double x = call.in(0).values[i];
    y.values[i] = x * FusedSigmoid(call.attributes->Float("alpha", 1.702) * x);
  }
  return {y};
}

std::vector<Array> BiasAdd(const Call& call) {
  Array y = call.MakeResult(0);
  ForEach(y.shape,
          [&](const Index& at) { y.at(at) = call.in(0).at(at) + call.in(1).values[at.back()] + call.in(2).at(at); });
  return {y};
}

// Gauss and Jordan, on [matrix | identity].
void InvertMatrix(std::vector<std::vector<double>>& rows) {
  const size_t n = rows.size();
  for (size_t i = 0; i < n; ++i) {
    size_t pivot = i;
    for (size_t r = i; r < n; ++r) pivot = std::abs(rows[r][i]) > std::abs(rows[pivot][i]) ? r : pivot;
    std::swap(rows[i], rows[pivot]);
    const double divisor = rows[i][i];
    for (double& v : rows[i]) v /= divisor;
    for (size_t r = 0; r < n; ++r) {
      const double factor = rows[r][i];
      for (size_t c = 0; r != i && c < 2 * n; ++c) rows[r][c] -= factor * rows[i][c];
    }
  }
}

std::vector<Array> Inverse(const Call& call) {
  Array y = call.MakeResult(0);
  const int64_t n = y.shape.back();
  ForEach(Shape(y.shape.begin(), y.shape.end() - 2), [&](Index at) {
    at.resize(at.size() + 2);
    int64_t &row = at[at.size() - 2], &column = at.back();
    std::vector<std::vector<double>> rows(n, std::vector<double>(2 * n));
    for (row = 0; row < n; ++row) {
      for (column = 0; column < n; ++column) rows[row][column] = call.in(0).at(at);
      rows[row][n + row] = 1;
    }
    InvertMatrix(rows);
    for (row = 0; row < n; ++row) {
      for (column = 0; column < n; ++column) y.at(at) = rows[row][n + column];
    }
  });
  return {y};
}

// Normalises the rows of `sum`; also gives their means and inverse deviations.
struct NormalisedRows {
  Array y, mean, deviation;
};
NormalisedRows NormaliseRows(const Array& sum, double epsilon, bool centred, const Array& scale, const Array* shift) {
  Shape statistic = sum.shape;
  statistic.back() = 1;
  NormalisedRows out{sum, Array(DType::kF32, statistic), Array(DType::kF32, statistic)};
  const int64_t n = sum.shape.back();
  ForEach(statistic, [&](const Index& row) {
    Index at = row;
    double mean = 0, square = 0;
    for (at.back() = 0; at.back() < n; ++at.back()) mean += sum.at(at) / static_cast<double>(n);
    if (!centred) mean = 0;
    for (at.back() = 0; at.back() < n; ++at.back()) square += std::pow(sum.at(at) - mean, 2) / static_cast<double>(n);
    out.mean.at(row) = mean;
    out.deviation.at(row) = 1 / std::sqrt(square + epsilon);
    for (at.back() = 0; at.back() < n; ++at.back()) {
      out.y.at(at) = (sum.at(at) - mean) * out.deviation.at(row) * scale.values[at.back()];
      if (shift != nullptr) out.y.at(at) += shift->values[at.back()];
    }
  });
  return out;
}

// Operands x, skip, scale, then (centred) a shift, then a bias.
template <bool kCentred>
std::vector<Array> SkipNormalise(const Call& call) {
  const size_t bias = kCentred ? 4 : 3;
  Array sum = call.in(0);
  ForEach(sum.shape, [&](const Index& at) {
    const Array& skip = call.in(1);
    Index from(at.end() - skip.rank(), at.end());
    for (size_t d = 0; d < from.size(); ++d) from[d] = skip.shape[d] == 1 ? 0 : from[d];
    sum.at(at) += skip.at(from) + (call.has(bias) ? call.in(bias).values[at.back()] : 0);
  });
  const Array* shift = kCentred && call.has(3) ? &call.in(3) : nullptr;
  const NormalisedRows rows = NormaliseRows(sum, call.attributes->Float("epsilon", 1e-12), kCentred, call.in(2), shift);
  std::vector<Array> out{rows.y, rows.mean, rows.deviation, sum};
  out.resize(call.result_pieces.size());
  return out;
}

// Without ids a position is its index, of which a part is told its first.
std::vector<Array> EmbedNormalise(const Call& call) {
  const Array &ids = call.in(0), &words = call.in(2);
  Array sum(words.dtype, {ids.shape[0], ids.shape[1], words.shape[1]});
  ForEach(sum.shape, [&](const Index& at) {
    const auto row = [&](size_t operand) {
      const Array& a = call.in(operand);
      return static_cast<int64_t>(a.at({a.shape[0] == 1 ? 0 : at[0], at[1]}));
    };
    const int64_t position = call.has(8) ? row(8) : at[1] + call.result_pieces[0].ranges[1].begin;
    sum.at(at) = words.at({row(0), at[2]}) + call.in(3).at({position, at[2]});
    if (call.has(1)) sum.at(at) += call.in(4).at({row(1), at[2]});
  });
  const NormalisedRows rows =
      NormaliseRows(sum, call.attributes->Float("epsilon", 1e-12), true, call.in(5), &call.in(6));
  std::vector<Array> out{rows.y, Array(DType::kI32, {ids.shape[0]}), sum};
  if (call.has(7)) ForEach(call.in(7).shape, [&](const Index& at) { out[1].values[at[0]] += call.in(7).at(at); });
  out.resize(call.result_pieces.size());
  return out;
}

// Channels last or second; per sample and whole group of channels.
Array NormaliseGroups(const Call& call, const Array& x) {
  const int64_t channel = call.attributes->Int("channels_last", 1) != 0 ? x.rank() - 1 : 1;
  const int64_t per_group = call.input_pieces[0].global[channel] / call.attributes->Int("groups", 1);
  const Shape groups{x.shape[0], x.shape[channel] / per_group};
  Array count(DType::kF64, groups), mean = count, square = count, y = x;
  const auto group = [&](const Index& at) { return Index{at[0], at[channel] / per_group}; };
  ForEach(x.shape, [&](const Index& at) { count.at(group(at)) += 1; });
  ForEach(x.shape, [&](const Index& at) { mean.at(group(at)) += x.at(at) / count.at(group(at)); });
  ForEach(x.shape, [&](const Index& at) {
    square.at(group(at)) += std::pow(x.at(at) - mean.at(group(at)), 2) / count.at(group(at));
  });
  ForEach(x.shape, [&](const Index& at) {
    const double deviation = std::sqrt(square.at(group(at)) + call.attributes->Float("epsilon", 1e-5));
    const double v = (x.at(at) - mean.at(group(at))) / deviation * call.in(1).values[at[channel]];
    y.at(at) = v + call.in(2).values[at[channel]];
    if (call.attributes->Int("activation", 0) != 0) y.at(at) *= FusedSigmoid(y.at(at));
  });
  return y;
}

std::vector<Array> MicrosoftGroupNorm(const Call& call) { return {NormaliseGroups(call, call.in(0))}; }

std::vector<Array> SkipGroupNorm(const Call& call) {
  Array sum = call.in(0);
  const Array& skip = call.in(3);
  const int64_t channel = call.attributes->Int("channels_last", 1) != 0 ? sum.rank() - 1 : 1;
  ForEach(sum.shape, [&](const Index& at) {
    Index from = skip.rank() == 2 ? Index{at[0], at[channel]} : at;
    for (size_t d = 0; d < from.size(); ++d) from[d] = skip.shape[d] == 1 ? 0 : from[d];
    sum.at(at) += skip.at(from) + (call.has(4) ? call.in(4).values[at[channel]] : 0);
  });
  std::vector<Array> out{NormaliseGroups(call, sum), sum};
  out.resize(call.result_pieces.size());
  return out;
}

// Moves the dimensions of x (and of its piece) so that dimension order[i] becomes dimension i.
Array Permuted(const Array& x, const std::vector<int>& order, Piece& piece) {
  const Piece old = piece;
  Shape shape;
  for (size_t i = 0; i < order.size(); ++i) {
    shape.push_back(x.shape[order[i]]);
    piece.global[i] = old.global[order[i]];
    piece.ranges[i] = old.ranges[order[i]];
  }
  Array out(x.dtype, shape);
  ForEach(x.shape, [&](const Index& at) {
    Index to;
    for (const int d : order) to.push_back(at[d]);
    out.at(to) = x.at(at);
  });
  return out;
}

// With the batch inside, rows come first, then the batch, then columns; transposed, the two are swapped.
std::vector<int> MatrixOrder(int rank, bool transposed, bool batch_inside) {
  std::vector<int> order(rank);
  std::iota(order.begin(), order.end(), 0);
  if (batch_inside && rank > 2) std::rotate(order.begin(), order.begin() + 1, order.end() - 1);
  if (transposed && rank > 1) std::swap(order[rank - 2], order[rank - 1]);
  return order;
}

std::vector<Array> FusedMatMul(const Call& call) {
  const auto flag = [&](const char* name) { return call.attributes->Int(name, 0) != 0; };
  Call product = call;
  const Array a = Permuted(call.in(0), MatrixOrder(call.in(0).rank(), flag("transA"), flag("transBatchA")),
                           product.input_pieces[0]);
  const Array b = Permuted(call.in(1), MatrixOrder(call.in(1).rank(), flag("transB"), flag("transBatchB")),
                           product.input_pieces[1]);
  product.inputs = {&a, &b};
  std::vector<Array> out = FindKernel("MatMul")(product);
  for (double& v : out[0].values) v *= call.attributes->Float("alpha", 1);
  return out;
}

double ActivateNamed(const std::string& name, double x) {
  if (name == "Relu" || name == "relu") return std::max(x, 0.0);
  if (name == "gelu") return GeluByTanh(x);  // as onnxruntime computes it
  if (name == "silu") return x * FusedSigmoid(x);
  if (name == "Sigmoid") return FusedSigmoid(x);
  return x;
}

std::vector<Array> FusedConv(const Call& call) {
  std::vector<Array> out = FindKernel("Conv")(call);
  ForEach(out[0].shape, [&](const Index& at) {
    double& v = out[0].at(at);
    if (call.has(3)) v += call.in(3).at(call.input_pieces[3].ToLocal(call.result_pieces[0].ToGlobal(at)));
    v = ActivateNamed(call.attributes->String("activation", ""), v);
  });
  return out;
}

// The routing weight of each expert for a row of logits: softmax over all, then the k best.
std::vector<double> RouteRow(const Call& call, int64_t row) {
  const Array& logits = call.in(1);
  std::vector<double> weights(logits.shape[1]);
  double total = 0, kept = 0;
  for (int64_t e = 0; e < logits.shape[1]; ++e) total += weights[e] = std::exp(logits.at({row, e}));
  for (double& w : weights) w /= total;
  std::vector<double> sorted = weights;
  std::sort(sorted.rbegin(), sorted.rend());
  const double least = sorted[call.attributes->Int("k", 1) - 1];
  for (double& w : weights) kept += w = w < least ? 0 : w;
  for (double& w : weights) w /= call.attributes->Int("normalize_routing_weights", 0) != 0 ? kept : 1;
  return weights;
}

// One row x through expert e (local).
std::vector<double> ExpertRow(const Call& call, int64_t e, const std::vector<double>& x) {
  const Array &first = call.in(2), &second = call.in(4);
  std::vector<double> inner(second.shape[2]), out(second.shape[1]);
  const auto times = [&](size_t weights, int64_t row) {
    double sum = call.has(weights + 1) ? call.in(weights + 1).at({e, row}) : 0;
    for (size_t i = 0; i < x.size(); ++i) sum += call.in(weights).at({e, row, static_cast<int64_t>(i)}) * x[i];
    return sum;
  };
  const bool gated = first.shape[1] == 2 * second.shape[2];  // swiglu: gate and value interleaved
  for (size_t i = 0; i < inner.size(); ++i) {
    const int64_t row = static_cast<int64_t>(i);
    inner[i] = gated ? ActivateNamed("silu", times(2, 2 * row)) * times(2, 2 * row + 1)
                     : ActivateNamed(call.attributes->String("activation_type", "relu"), times(2, row));
    if (call.has(6)) inner[i] *= times(6, row);
  }
  for (size_t j = 0; j < out.size(); ++j) {
    const int64_t column = static_cast<int64_t>(j);
    if (call.has(5)) out[j] = call.in(5).at({e, column});
    for (size_t i = 0; i < inner.size(); ++i) out[j] += second.at({e, column, static_cast<int64_t>(i)}) * inner[i];
  }
  return out;
}

std::vector<Array> MixtureOfExperts(const Call& call) {
  Array y = call.MakeResult(0);
  const size_t width = static_cast<size_t>(y.shape.back());
  for (size_t row = 0; row * width < y.values.size(); ++row) {
    const auto begin = call.in(0).values.begin() + static_cast<int64_t>(row * width);
    const std::vector<double> x(begin, begin + static_cast<int64_t>(width));
    const std::vector<double> weights = RouteRow(call, static_cast<int64_t>(row));
    const Range experts = call.input_pieces[2].ranges[0];
    for (int64_t e = 0; e < experts.size(); ++e) {
      const std::vector<double> out = ExpertRow(call, e, x);
      for (size_t i = 0; i < width; ++i) y.values[row * width + i] += weights[experts.begin + e] * out[i];
    }
  }
  return {y};
}

}  // namespace

void AddMicrosoftFused(KernelTable& t) {
  t["com.microsoft::Gelu"] = BiasThen<FusedGelu>;
  t["com.microsoft::BiasGelu"] = BiasThen<FusedGelu>;
  t["com.microsoft::FastGelu"] = BiasThen<GeluByTanh>;
  t["com.microsoft::QuickGelu"] = QuickGelu;
  t["com.microsoft::BiasAdd"] = BiasAdd;
  t["com.microsoft::Inverse"] = Inverse;
  t["com.microsoft::SkipLayerNormalization"] = SkipNormalise<true>;
  t["com.microsoft::SkipSimplifiedLayerNormalization"] = SkipNormalise<false>;
  t["com.microsoft::EmbedLayerNormalization"] = EmbedNormalise;
  t["com.microsoft::GroupNorm"] = MicrosoftGroupNorm;
  t["com.microsoft::SkipGroupNorm"] = SkipGroupNorm;
  t["com.microsoft::FusedMatMul"] = FusedMatMul;
  t["com.microsoft::FusedConv"] = FusedConv;
  t["com.microsoft::MoE"] = MixtureOfExperts;
}

}  // namespace sbp::reference
