// Attention and rotary positions of the standard, and what all attention operators share.
#include "reference/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sbp::reference {

Array SplitHeads(const Array& packed, int64_t heads) {
  const int64_t size = packed.shape[2] / heads;
  Array out(packed.dtype, {packed.shape[0], heads, packed.shape[1], size});
  ForEach(out.shape, [&](const Index& at) { out.at(at) = packed.at({at[0], at[2], at[1] * size + at[3]}); });
  return out;
}

Array MergeHeads(const Array& heads) {
  const int64_t size = heads.shape[3];
  Array out(heads.dtype, {heads.shape[0], heads.shape[2], heads.shape[1] * size});
  ForEach(heads.shape, [&](const Index& at) { out.at({at[0], at[2], at[1] * size + at[3]}) = heads.at(at); });
  return out;
}

Array AppendPositions(const Array& past, const Array& added) {
  Shape shape = past.shape;
  shape[2] += added.shape[2];
  Array out(added.dtype, shape);
  ForEach(shape, [&](Index at) {
    const bool old = at[2] < past.shape[2];
    double& cell = out.at(at);
    if (!old) at[2] -= past.shape[2];
    cell = old ? past.at(at) : added.at(at);
  });
  return out;
}

double BroadcastAt(const Array& a, const Index& at) {
  Index index(a.shape.size());
  const size_t skip = at.size() - a.shape.size();
  for (size_t d = 0; d < a.shape.size(); ++d) index[d] = a.shape[d] == 1 ? 0 : at[d + skip];
  return a.at(index);
}

AttentionScores Attend(const AttentionHeads& heads, double scale) {
  const Array &q = heads.q, &k = heads.k, &v = heads.v;
  const int64_t groups = q.shape[1] / k.shape[1], keys = k.shape[2];
  const Shape scores{q.shape[0], q.shape[1], q.shape[2], keys};
  AttentionScores out{Array(q.dtype, {q.shape[0], q.shape[1], q.shape[2], v.shape[3]}), Array(q.dtype, scores),
                      Array(q.dtype, scores), Array(q.dtype, scores)};
  ForEach(scores, [&](const Index& at) {
    double sum = 0;
    for (int64_t d = 0; d < q.shape[3]; ++d)
      sum += q.at({at[0], at[1], at[2], d}) * k.at({at[0], at[1] / groups, at[3], d});
    out.raw.at(at) = sum * scale;
    out.masked.at(at) = heads.mask ? heads.mask(at, sum * scale) : sum * scale;
  });
  ForEach(Shape{scores[0], scores[1], scores[2]}, [&](Index at) {
    at.push_back(0);
    // Less the greatest, since masks may be far below 0; a row that is masked altogether has no weights.
    double top = heads.sink ? heads.sink(at[1]) : std::numeric_limits<double>::lowest();
    for (at[3] = 0; at[3] < keys; ++at[3]) top = std::max(top, out.masked.at(at));
    double total = heads.sink ? std::exp(heads.sink(at[1]) - top) : 0;
    for (at[3] = 0; at[3] < keys; ++at[3]) total += out.weights.at(at) = std::exp(out.masked.at(at) - top);
    for (at[3] = 0; at[3] < keys; ++at[3]) {
      double& weight = out.weights.at(at);
      weight = total == 0 ? 0 : weight / total;
      for (int64_t e = 0; e < v.shape[3]; ++e)
        out.y.at({at[0], at[1], at[2], e}) += weight * v.at({at[0], at[1] / groups, at[3], e});
    }
  });
  return out;
}

void Rotate(Array& x, bool interleaved, int64_t angles,
            const std::function<double(bool sine, const Index& at, int64_t angle)>& table) {
  Shape rows = x.shape;
  rows.pop_back();
  ForEach(rows, [&](const Index& row) {
    for (int64_t a = 0; a < angles; ++a) {
      Index one = row, two = row;
      one.push_back(interleaved ? 2 * a : a);
      two.push_back(interleaved ? 2 * a + 1 : a + angles);
      const double cosine = table(false, row, a), sine = table(true, row, a), u = x.at(one), v = x.at(two);
      x.at(one) = cosine * u - sine * v;
      x.at(two) = sine * u + cosine * v;
    }
  });
}

namespace {

constexpr double kMasked = -std::numeric_limits<double>::infinity();

// The mask of the standard's Attention: lengths, causal, windows, given. Keys behind a short mask are masked.
double StandardMask(const Call& call, int64_t past, const Index& at, double score) {
  const Piece& queries = call.result_pieces[0];
  const bool packed = queries.global.size() == 3;
  int64_t first = past;  // the position of the first query
  if (call.has(6)) {
    const int64_t length = static_cast<int64_t>(call.in(6).values[at[0]]);
    if (at[3] >= length) return kMasked;
    first = length - queries.global[packed ? 1 : 2];
  }
  const int64_t query = at[2] + queries.ranges[packed ? 1 : 2].begin + first;
  const int64_t left = call.attributes->Int("left_window_size", -1),
                right = call.attributes->Int("right_window_size", -1);
  if (call.attributes->Int("is_causal", 0) != 0 && at[3] > query) return kMasked;
  if (left >= 0 && at[3] < query - left) return kMasked;
  if (right >= 0 && at[3] > query + right) return kMasked;
  if (!call.has(3)) return score;
  if (at[3] >= call.in(3).shape.back()) return kMasked;
  const double given = BroadcastAt(call.in(3), at);
  if (call.in(3).dtype != DType::kBool) return score + given;
  return given == 0 ? kMasked : score;
}

// Of the row of scores at these leading indices.
double LogSumExp(const Array& scores, Index at) {
  double sum = 0;
  at.push_back(0);
  for (; at.back() < scores.shape.back(); ++at.back()) sum += std::exp(scores.at(at));
  return std::log(sum);
}

std::vector<Array> StandardAttention(const Call& call) {
  const bool packed = call.in(0).rank() == 3;
  AttentionHeads heads{call.in(0), call.in(1), call.in(2), {}, {}};
  if (packed) {
    const int64_t size = call.input_pieces[0].global[2] / call.attributes->Int("q_num_heads", 1);
    heads.q = SplitHeads(call.in(0), call.in(0).shape[2] / size);
    heads.k = SplitHeads(call.in(1), call.in(1).shape[2] / size);
    heads.v = SplitHeads(call.in(2), heads.k.shape[1]);  // the values of a head may be split
  }
  const int64_t past = call.has(4) ? call.in(4).shape[2] : 0;
  if (call.has(4)) heads.k = AppendPositions(call.in(4), heads.k);
  if (call.has(5)) heads.v = AppendPositions(call.in(5), heads.v);
  const double cap = call.attributes->Float("softcap", 0);
  const auto capped = [&](double score) { return cap > 0 ? cap * std::tanh(score / cap) : score; };
  heads.mask = [&](const Index& at, double score) { return StandardMask(call, past, at, capped(score)); };
  const double size = static_cast<double>(heads.q.shape[3]);
  AttentionScores scores = Attend(heads, call.attributes->Float("scale", 1 / std::sqrt(size)));
  std::vector<Array> out{packed ? MergeHeads(scores.y) : scores.y, heads.k, heads.v};
  const int64_t mode = call.attributes->Int("qk_matmul_output_mode", 0);
  out.push_back(mode == 3 ? scores.weights : mode == 2 ? scores.masked : scores.raw);
  if (mode == 1) std::transform(out[3].values.begin(), out[3].values.end(), out[3].values.begin(), capped);
  if (call.result_pieces.size() > 4) {
    out.push_back(call.MakeResult(4));
    ForEach(out[4].shape, [&](const Index& at) { out[4].at(at) = LogSumExp(scores.masked, at); });
  }
  out.resize(call.result_pieces.size());
  return out;
}

// sbp::FlashAttention and its kin, on (batch, key/value heads, query heads of each, positions, size): scores before and
// after masks.
struct FlashScores {
  Array capped, masked;
};

double FlashMask(const Call& call, const Index& at, double score) {
  int64_t query = at[3] + call.input_pieces[0].ranges[3].begin + call.attributes->Int("past", 0);
  if (call.has(4)) {
    const auto length = static_cast<int64_t>(call.in(4).values[at[0]]);
    if (at[4] >= length) return kMasked;
    query += length - call.input_pieces[0].global[3];
  }
  const int64_t left = call.attributes->Int("left_window_size", -1),
                right = call.attributes->Int("right_window_size", -1);
  if (call.attributes->Int("is_causal", 0) != 0 && at[4] > query) return kMasked;
  if (left >= 0 && at[4] < query - left) return kMasked;
  if (right >= 0 && at[4] > query + right) return kMasked;
  if (!call.has(3)) return score;
  const double given = BroadcastAt(call.in(3), at);
  if (call.in(3).dtype != DType::kBool) return score + given;
  return given == 0 ? kMasked : score;
}

FlashScores ScoresOf(const Call& call) {
  const Array &q = call.in(0), &k = call.in(1);
  const double scale = call.attributes->Float("scale", 1), cap = call.attributes->Float("softcap", 0);
  const Shape shape{q.shape[0], q.shape[1], q.shape[2], q.shape[3], k.shape[2]};
  FlashScores scores{Array(q.dtype, shape), Array(q.dtype, shape)};
  ForEach(shape, [&](const Index& at) {
    double sum = 0;
    for (int64_t d = 0; d < q.shape[4]; ++d)
      sum += q.at({at[0], at[1], at[2], at[3], d}) * k.at({at[0], at[1], at[4], d});
    sum *= scale;
    scores.capped.at(at) = cap > 0 ? cap * std::tanh(sum / cap) : sum;
    scores.masked.at(at) = FlashMask(call, at, scores.capped.at(at));
  });
  return scores;
}

std::vector<Array> FlashAttention(const Call& call) {
  const Array& v = call.in(2);
  const Array scores = ScoresOf(call).masked;
  Array y = call.MakeResult(0), logs(DType::kF64, Shape(scores.shape.begin(), scores.shape.end() - 1));
  ForEach(logs.shape, [&](const Index& at) {
    const double sink = call.has(5) ? std::exp(BroadcastAt(call.in(5), {at[1], at[2]})) : 0;
    logs.at(at) = std::log(std::exp(LogSumExp(scores, at)) + sink);
  });
  ForEach(y.shape, [&](const Index& at) {
    const double log = logs.at({at[0], at[1], at[2], at[3]});
    for (int64_t t = 0; t < v.shape[2] && std::isfinite(log); ++t)
      y.at(at) += std::exp(scores.at({at[0], at[1], at[2], at[3], t}) - log) * v.at({at[0], at[1], t, at[4]});
  });
  std::vector<Array> out{y};
  if (call.result_pieces.size() > 1) {
    out.push_back(call.MakeResult(1));
    out[1].values = logs.values;
  }
  return out;
}

// Operands: q, k, v, mask, lengths, y, the logarithms, and the cotangents of the last two.
std::vector<Array> FlashAttentionGrad(const Call& call) {
  const Array &q = call.in(0), &k = call.in(1), &v = call.in(2), &y = call.in(5), &logs = call.in(6), &dy = call.in(7);
  const double scale = call.attributes->Float("scale", 1), cap = call.attributes->Float("softcap", 0);
  const FlashScores scores = ScoresOf(call);
  Array dq(q.dtype, q.shape), dk(k.dtype, k.shape), dv(v.dtype, v.shape);
  ForEach(scores.masked.shape, [&](const Index& at) {
    const Index row{at[0], at[1], at[2], at[3]};
    const double weight = std::exp(scores.masked.at(at) - (std::isinf(logs.at(row)) ? 0 : logs.at(row)));
    double slope = call.has(8) ? call.in(8).at(row) : 0;  // of the score
    for (int64_t e = 0; e < v.shape[3]; ++e) {
      const Index place{at[0], at[1], at[2], at[3], e}, value{at[0], at[1], at[4], e};
      slope += dy.at(place) * (v.at(value) - y.at(place));
      dv.at(value) += weight * dy.at(place);
    }
    slope *= weight * scale;
    if (cap > 0) slope *= 1 - std::pow(scores.capped.at(at) / cap, 2);
    for (int64_t d = 0; d < q.shape[4]; ++d) {
      const Index query{at[0], at[1], at[2], at[3], d}, key{at[0], at[1], at[4], d};
      dq.at(query) += slope * k.at(key);
      dk.at(key) += slope * q.at(query);
    }
  });
  return {dq, dk, dv};
}

std::vector<Array> StandardRotary(const Call& call) {
  const bool packed = call.in(0).rank() == 3, by_id = call.has(3);
  Array x = call.in(0);
  if (packed) {
    const int64_t size = call.input_pieces[0].global[2] / call.attributes->Int("num_heads", 1);
    x = SplitHeads(x, x.shape[2] / size);
  }
  int64_t width = call.attributes->Int("rotary_embedding_dim", 0);
  if (width == 0) width = x.shape[3];
  Rotate(x, call.attributes->Int("interleaved", 0) != 0, width / 2, [&](bool sine, const Index& at, int64_t angle) {
    const Array& table = call.in(sine ? 2 : 1);
    if (!by_id) return table.at({at[0], at[2], angle});
    return table.at({static_cast<int64_t>(call.in(3).at({at[0], at[2]})), angle});
  });
  return {packed ? MergeHeads(x) : x};
}

}  // namespace

void AddAttention(KernelTable& t) {
  t["Attention"] = StandardAttention;
  t["sbp::FlashAttention"] = FlashAttention;
  t["sbp::FlashAttentionGrad"] = FlashAttentionGrad;
  t["RotaryEmbedding"] = StandardRotary;
}

}  // namespace sbp::reference
