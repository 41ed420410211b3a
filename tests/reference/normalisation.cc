// Normalisations and losses.
#include <algorithm>
#include <cmath>

#include "reference/interpreter.h"

namespace sbp::reference {
namespace {

struct RunStatistics {
  double mean = 0, inverse_deviation = 0;
};

// Normalises `n` consecutive elements in place: (x - mean) / sqrt(var + eps), or x / rms without a mean.
RunStatistics Normalise(std::vector<double>& v, size_t begin, size_t n, double eps, bool centred) {
  double mean = 0, var = 0;
  for (size_t i = 0; i < n; ++i) mean += v[begin + i];
  mean = centred ? mean / static_cast<double>(n) : 0;
  for (size_t i = 0; i < n; ++i) var += (v[begin + i] - mean) * (v[begin + i] - mean);
  const double inverse = 1 / std::sqrt(var / static_cast<double>(n) + eps);
  for (size_t i = 0; i < n; ++i) v[begin + i] = (v[begin + i] - mean) * inverse;
  return {mean, inverse};
}

template <bool Centred>
std::vector<Array> LayerNorm(const Call& call) {
  const Array& x = call.in(0);
  int64_t axis = call.attributes->Int("axis", -1);
  axis = axis < 0 ? axis + x.rank() : axis;
  size_t inner = 1;
  for (int64_t d = axis; d < x.rank(); ++d) inner *= x.shape[d];
  std::vector<Array> out;
  for (size_t r = 0; r < call.result_pieces.size(); ++r) out.push_back(call.MakeResult(r));
  Array& y = out[0];
  y.values = x.values;
  for (size_t b = 0; b + inner <= y.values.size(); b += inner) {
    const RunStatistics run = Normalise(y.values, b, inner, call.attributes->Float("epsilon", 1e-5), Centred);
    if (Centred && out.size() > 1) out[1].values[b / inner] = run.mean;
    if (out.size() > (Centred ? 2 : 1)) out.back().values[b / inner] = run.inverse_deviation;
    for (size_t i = 0; i < inner; ++i) {
      y.values[b + i] *= call.in(1).values[i % call.in(1).values.size()];
      if (call.has(2)) y.values[b + i] += call.in(2).values[i % call.in(2).values.size()];
    }
  }
  return out;
}

// Per (sample, group of channels). Instance norm: a group is one channel.
std::vector<Array> GroupNormOf(const Call& call, int64_t channels_per_group) {
  const Array& x = call.in(0);
  size_t spatial = 1;
  for (int d = 2; d < x.rank(); ++d) spatial *= x.shape[d];
  Array y = call.MakeResult(0);
  y.values = x.values;
  const size_t run = spatial * channels_per_group;
  for (size_t b = 0; b + run <= y.values.size(); b += run) {
    Normalise(y.values, b, run, call.attributes->Float("epsilon", 1e-5), true);
  }
  for (size_t i = 0; i < y.values.size(); ++i) {
    const size_t c = i / spatial % x.shape[1];
    y.values[i] = y.values[i] * call.in(1).values[c] + call.in(2).values[c];
  }
  return {y};
}
std::vector<Array> InstanceNorm(const Call& call) { return GroupNormOf(call, 1); }
std::vector<Array> GroupNorm(const Call& call) {
  return GroupNormOf(call, call.input_pieces[0].global[1] / call.attributes->Int("num_groups", 1));
}

// Each channel by statistics of its own, which also go into the running ones.
std::vector<Array> TrainBatchNorm(const Call& call) {
  const Array& x = call.in(0);
  const double momentum = call.attributes->Float("momentum", 0.9);
  std::vector<Array> out;
  for (size_t r = 0; r < call.result_pieces.size(); ++r) out.push_back(call.MakeResult(r));
  const double n = static_cast<double>(x.values.size()) / static_cast<double>(x.shape[1]);
  std::vector<double> mean(x.shape[1]), var(x.shape[1]);
  ForEach(x.shape, [&](const Index& at) { mean[at[1]] += x.at(at) / n; });
  ForEach(x.shape, [&](const Index& at) { var[at[1]] += std::pow(x.at(at) - mean[at[1]], 2) / n; });
  ForEach(x.shape, [&](const Index& at) {
    const double v = (x.at(at) - mean[at[1]]) / std::sqrt(var[at[1]] + call.attributes->Float("epsilon", 1e-5));
    out[0].at(at) = v * call.in(1).values[at[1]] + call.in(2).values[at[1]];
  });
  for (size_t c = 0; c < mean.size(); ++c) {
    if (out.size() > 1) out[1].values[c] = call.in(3).values[c] * momentum + mean[c] * (1 - momentum);
    if (out.size() > 2) out[2].values[c] = call.in(4).values[c] * momentum + var[c] * (1 - momentum);
  }
  return out;
}

std::vector<Array> BatchNorm(const Call& call) {
  if (call.attributes->Int("training_mode", 0) != 0) return TrainBatchNorm(call);
  const Array& x = call.in(0);
  size_t spatial = 1;
  for (int d = 2; d < x.rank(); ++d) spatial *= x.shape[d];
  Array y = call.MakeResult(0);
  for (size_t i = 0; i < y.values.size(); ++i) {
    const size_t c = i / spatial % x.shape[1];
    const double scale = call.in(1).values[c], bias = call.in(2).values[c], mean = call.in(3).values[c],
                 var = call.in(4).values[c];
    y.values[i] = scale * (x.values[i] - mean) / std::sqrt(var + call.attributes->Float("epsilon", 1e-5)) + bias;
  }
  return {y};
}

std::vector<Array> Lrn(const Call& call) {
  const Array& x = call.in(0);
  const int64_t size = call.attributes->Int("size", 1), channels = x.shape[1];
  const double alpha = call.attributes->Float("alpha", 1e-4), beta = call.attributes->Float("beta", 0.75);
  Array y = call.MakeResult(0);
  ForEach(x.shape, [&](const Index& at) {
    double squares = 0;
    const int64_t low = std::max<int64_t>(0, at[1] - (size - 1) / 2);
    const int64_t high = std::min<int64_t>(channels - 1, at[1] + size - 1 - (size - 1) / 2);
    Index near = at;
    for (near[1] = low; near[1] <= high; ++near[1]) squares += x.at(near) * x.at(near);
    y.at(at) =
        x.at(at) / std::pow(call.attributes->Float("bias", 1) + alpha / static_cast<double>(size) * squares, beta);
  });
  return {y};
}

std::vector<Array> MeanVarianceNorm(const Call& call) {
  const Array& x = call.in(0);
  const auto* given = call.attributes->Ints("axes");
  const std::vector<int64_t> axes = given ? *given : std::vector<int64_t>{0, 2, 3};
  Shape shape = x.shape;
  double n = 1;
  for (const int64_t axis : axes) {
    n *= static_cast<double>(x.shape[axis]);
    shape[axis] = 1;
  }
  const auto run = [&](Index at) {
    for (const int64_t axis : axes) at[axis] = 0;
    return at;
  };
  Array mean(DType::kF64, shape), var = mean, y = call.MakeResult(0);
  ForEach(x.shape, [&](const Index& at) { mean.at(run(at)) += x.at(at) / n; });
  ForEach(x.shape, [&](const Index& at) { var.at(run(at)) += std::pow(x.at(at) - mean.at(run(at)), 2) / n; });
  ForEach(x.shape,
          [&](const Index& at) { y.at(at) = (x.at(at) - mean.at(run(at))) / (std::sqrt(var.at(run(at))) + 1e-9); });
  return {y};
}

// scores (N, C, d...), labels (N, d...): loss per element, or its sum or mean over all labels of all ranks.
std::vector<Array> Loss(const Call& call, bool with_softmax) {
  const Array &scores = call.in(0), &labels = call.in(1);
  const std::string reduction = call.attributes->String("reduction", "mean");
  Array log_prob(scores.dtype, scores.shape);
  log_prob.values = scores.values;
  if (with_softmax) {
    ForEach(labels.shape, [&](const Index& l) {
      Index at = l;
      at.insert(at.begin() + 1, 0);
      double total = 0;
      for (at[1] = 0; at[1] < scores.shape[1]; ++at[1]) total += std::exp(scores.at(at));
      for (at[1] = 0; at[1] < scores.shape[1]; ++at[1]) log_prob.at(at) = scores.at(at) - std::log(total);
    });
  }
  Array loss(call.result_types[0], labels.shape);
  const Range classes = call.input_pieces[0].ranges[1];
  const bool ignores = call.attributes->Find("ignore_index") != nullptr;
  double total = 0, weights = 0;
  ForEach(labels.shape, [&](const Index& l) {
    if (ignores && static_cast<int64_t>(labels.at(l)) == call.attributes->Int("ignore_index", 0)) return;
    Index at = l;
    at.insert(at.begin() + 1, static_cast<int64_t>(labels.at(l)) - classes.begin);
    if (at[1] < 0 || at[1] >= classes.size()) return;  // another rank's class
    const double weight = call.has(2) ? call.in(2).values[at[1]] : 1;
    loss.at(l) = -log_prob.at(at) * weight;
    total += loss.at(l);
    weights += weight;
  });
  std::vector<Array> out{loss};
  if (reduction != "none") {
    out[0] = call.MakeResult(0);
    const double count = call.has(2) || ignores ? weights : static_cast<double>(Elements(call.input_pieces[1].global));
    out[0].values[0] = reduction == "sum" ? total : total / count;
  }
  if (call.result_pieces.size() > 1) out.push_back(log_prob);
  return out;
}
std::vector<Array> NllLoss(const Call& call) { return Loss(call, false); }
std::vector<Array> SoftmaxLoss(const Call& call) { return Loss(call, true); }

}  // namespace

void AddNormalisation(KernelTable& t) {
  t["LayerNormalization"] = LayerNorm<true>;
  t["RMSNormalization"] = LayerNorm<false>;
  t["SimplifiedLayerNormalization"] = LayerNorm<false>;
  t["InstanceNormalization"] = InstanceNorm;
  t["GroupNormalization"] = GroupNorm;
  t["BatchNormalization"] = BatchNorm;
  t["LRN"] = Lrn;
  t["MeanVarianceNormalization"] = MeanVarianceNorm;
  t["NegativeLogLikelihoodLoss"] = NllLoss;
  t["SoftmaxCrossEntropyLoss"] = SoftmaxLoss;
}

}  // namespace sbp::reference
