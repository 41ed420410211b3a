// onnxruntime's attention operators. Where heads of several tensors are packed into one, a part reads those that its
// result holds.
#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/attention.h"

namespace sbp::reference {
namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();  // of later positions

// Added to what a padding mask hides, so that no row is empty.
double FilterOf(const Call& call) { return call.attributes->Float("mask_filter_value", -10000); }

// Dimension `dim` of x from `begin` on, `size` elements of it.
Array TakeRange(const Array& x, int dim, int64_t begin, int64_t size) {
  Shape shape = x.shape;
  shape[dim] = size;
  Array out(x.dtype, shape);
  ForEach(shape, [&](const Index& at) {
    Index from = at;
    from[dim] += begin;
    out.at(at) = x.at(from);
  });
  return out;
}

// One of the tensors packed in (batch, positions, heads, which, size), as (batch, heads, positions, size).
Array Unpack(const Array& x, int64_t which) {
  Array out(x.dtype, {x.shape[0], x.shape[2], x.shape[1], x.shape[4]});
  ForEach(out.shape, [&](const Index& at) { out.at(at) = x.at({at[0], at[2], at[1], which, at[3]}); });
  return out;
}

// What a mask by batch adds to a score: [b] lengths; [2 b] ends and starts; [3 b + 2] lengths first; [b, keys]; [b,
// queries, keys]; [b, 1, n, n].
double PaddingMask(const Array& mask, double filter, const Piece& result, const Piece& piece, const Index& at,
                   double score) {
  const int64_t all = result.global[0];
  bool keep = true;
  if (mask.rank() == 1) {
    const bool whole = piece.global[0] != all;  // lists of all batches stay whole
    const int64_t b = at[0] + (whole ? result.ranges[0].begin : 0);
    keep = static_cast<double>(at[3]) < mask.values[b];
    if (piece.global[0] == 2 * all) keep = keep && static_cast<double>(at[3]) >= mask.values[b + all];
  } else if (mask.rank() == 2) {
    keep = mask.at({at[0], at[3]}) != 0;
  } else if (mask.rank() == 3) {
    keep = mask.at({at[0], at[2], at[3]}) != 0;
  } else {
    keep = mask.at({at[0], 0, at[2], at[3]}) != 0;
  }
  return keep ? score : score + filter;
}

// `past` with `added` written from position `at` on.
Array WritePositions(const Array& past, const Array& added, int64_t at) {
  Array out = past;
  ForEach(added.shape, [&](const Index& from) {
    Index to = from;
    to[2] += at;
    if (to[2] < past.shape[2]) out.at(to) = added.at(from);
  });
  return out;
}

// Adds the bias of heads [first, first + heads) to x (batch, heads, positions, size).
void AddHeadBias(Array& x, const Array& bias, int64_t offset, int64_t first) {
  ForEach(x.shape, [&](const Index& at) {
    x.at(at) += bias.values[static_cast<size_t>(offset + (first + at[1]) * x.shape[3] + at[3])];
  });
}

AttentionHeads MultiHeads(const Call& call) {
  AttentionHeads heads;
  if (call.in(0).rank() == 5) {
    heads.q = Unpack(call.in(0), 0);
    heads.k = Unpack(call.in(0), 1);
    heads.v = Unpack(call.in(0), 2);
    return heads;
  }
  const int64_t size = call.input_pieces[0].global[2] / call.attributes->Int("num_heads", 1);
  const int64_t count = call.in(0).shape[2] / size;
  heads.q = SplitHeads(call.in(0), count);
  if (call.in(1).rank() == 5) {
    heads.k = Unpack(call.in(1), 0);
    heads.v = Unpack(call.in(1), 1);
  } else {
    heads.k = call.in(1).rank() == 4 ? call.in(1) : SplitHeads(call.in(1), count);
    heads.v = call.in(2).rank() == 4 ? call.in(2) : SplitHeads(call.in(2), count);
  }
  return heads;
}

std::vector<Array> MultiHeadAttention(const Call& call) {
  AttentionHeads heads = MultiHeads(call);
  if (call.has(3)) {
    const int64_t all = call.attributes->Int("num_heads", 1), width = all * heads.q.shape[3];
    const bool packed = call.in(0).rank() == 5;
    const Range mine = call.input_pieces[0].ranges[2];
    const int64_t first = packed ? mine.begin : mine.begin / heads.q.shape[3];
    AddHeadBias(heads.q, call.in(3), 0, first);
    AddHeadBias(heads.k, call.in(3), width, first);
    AddHeadBias(heads.v, call.in(3), 2 * width, first);
  }
  const bool buffer = call.has(8) && call.has(6);
  int64_t past = call.has(6) ? call.in(6).shape[2] : 0, total = past + heads.k.shape[2];
  if (buffer) {
    past = static_cast<int64_t>(call.in(8).values[0]);
    total = past + heads.k.shape[2];
    heads.k = WritePositions(call.in(6), heads.k, past);
    heads.v = WritePositions(call.in(7), heads.v, past);
  } else if (call.has(6)) {
    heads.k = AppendPositions(call.in(6), heads.k);
    heads.v = AppendPositions(call.in(7), heads.v);
  }
  const Piece& result = call.result_pieces[0];
  heads.mask = [&](const Index& at, double score) {
    if (at[3] >= total) return -std::numeric_limits<double>::infinity();  // not written yet
    if (call.has(4)) score = PaddingMask(call.in(4), FilterOf(call), result, call.input_pieces[4], at, score);
    if (call.has(5)) score += BroadcastAt(call.in(5), at);
    const bool causal = call.attributes->Int("unidirectional", 0) != 0;
    return causal && at[3] > at[2] + result.ranges[1].begin + past ? kHidden : score;
  };
  const double size = static_cast<double>(heads.q.shape[3]);
  const AttentionScores scores = Attend(heads, call.attributes->Float("scale", 1 / std::sqrt(size)));
  std::vector<Array> out{MergeHeads(scores.y), heads.k, heads.v, scores.masked};
  out.resize(call.result_pieces.size());
  return out;
}

// Query, key or value (which: 0, 1, 2) of the heads that the result holds: input times their columns, plus bias.
Array Project(const Call& call, int which, const std::vector<int64_t>& widths, Range mine) {
  const Array &x = call.in(0), &weights = call.in(1);
  const int64_t size = widths[which] / call.attributes->Int("num_heads", 1);
  int64_t offset = mine.begin * size;
  for (int i = 0; i < which; ++i) offset += widths[i];
  Array out(x.dtype, {x.shape[0], mine.size(), x.shape[1], size});
  ForEach(out.shape, [&](const Index& at) {
    const int64_t column = offset + at[1] * size + at[3];
    double sum = call.has(2) ? call.in(2).values[column] : 0;
    for (int64_t i = 0; i < x.shape[2]; ++i) sum += x.at({at[0], at[2], i}) * weights.at({i, column});
    out.at(at) = sum;
  });
  return out;
}

std::vector<Array> FusedAttention(const Call& call) {
  const int64_t all = call.attributes->Int("num_heads", 1), columns = call.in(1).shape[1];
  const auto* given = call.attributes->Ints("qkv_hidden_sizes");
  const std::vector<int64_t> widths = given ? *given : std::vector<int64_t>(3, columns / 3);
  const Piece& result = call.result_pieces[0];
  const int64_t value_size = widths[2] / all;
  const Range mine{result.ranges[2].begin / value_size, result.ranges[2].end / value_size};
  AttentionHeads heads{
      Project(call, 0, widths, mine), Project(call, 1, widths, mine), Project(call, 2, widths, mine), {}, {}};
  int64_t past = 0;
  if (call.has(4)) {
    const auto cache = [&](int64_t which) {
      Array part = TakeRange(call.in(4), 0, which, 1);
      part.shape.erase(part.shape.begin());
      return part;
    };
    past = call.in(4).shape[3];
    heads.k = AppendPositions(cache(0), heads.k);
    heads.v = AppendPositions(cache(1), heads.v);
  }
  heads.mask = [&](const Index& at, double score) {
    if (call.has(3)) score = PaddingMask(call.in(3), FilterOf(call), result, call.input_pieces[3], at, score);
    if (call.has(5)) score += BroadcastAt(call.in(5), at);
    return call.attributes->Int("unidirectional", 0) != 0 && at[3] > at[2] + past ? kHidden : score;
  };
  const double size = static_cast<double>(heads.q.shape[3]);
  const AttentionScores scores = Attend(heads, call.attributes->Float("scale", 1 / std::sqrt(size)));
  std::vector<Array> out{MergeHeads(scores.y)};
  if (result.global.empty() || call.result_pieces.size() < 2) return out;
  out.push_back(call.MakeResult(1));
  const size_t half = heads.k.values.size();
  std::copy(heads.k.values.begin(), heads.k.values.end(), out[1].values.begin());
  std::copy(heads.v.values.begin(), heads.v.values.end(), out[1].values.begin() + static_cast<int64_t>(half));
  return out;
}

// Query, key and value of the heads that a result of GroupQueryAttention holds.
AttentionHeads GroupedHeads(const Call& call) {
  const int64_t queries = call.attributes->Int("num_heads", 1), keys = call.attributes->Int("kv_num_heads", 1);
  if (call.has(1)) {
    const int64_t size = call.input_pieces[0].global[2] / queries;
    return {SplitHeads(call.in(0), call.in(0).shape[2] / size),
            SplitHeads(call.in(1), call.in(1).shape[2] / size),
            SplitHeads(call.in(2), call.in(2).shape[2] / size),
            {},
            {}};
  }
  const Array all = SplitHeads(call.in(0), queries + 2 * keys);
  const int64_t size = all.shape[3], groups = queries / keys;
  const Range mine{call.result_pieces[0].ranges[2].begin / size, call.result_pieces[0].ranges[2].end / size};
  const int64_t first = mine.begin / groups, count = (mine.end - 1) / groups + 1 - first;
  return {TakeRange(all, 1, mine.begin, mine.size()),
          TakeRange(all, 1, queries + first, count),
          TakeRange(all, 1, queries + keys + first, count),
          {},
          {}};
}

// The position of the first new key of a batch entry: 0 without a past, and in a first prompt, whose keys may be
// followed by padding.
int64_t FirstPosition(const Call& call, int64_t entry) {
  const int64_t added = call.input_pieces[0].global[1], past = call.has(3) ? call.in(3).shape[2] : 0;
  if (past == 0 || (added > 1 && call.in(6).values[0] == static_cast<double>(added))) return 0;
  return static_cast<int64_t>(call.in(5).values[entry]) + 1 - added;
}

// The caches with this call's keys or values written behind what each batch entry has so far.
Array WriteCache(const Call& call, size_t operand, const Array& added, int64_t capacity) {
  Array out(added.dtype, {added.shape[0], added.shape[1], capacity, added.shape[3]});
  if (call.has(operand)) {
    ForEach(call.in(operand).shape, [&](const Index& at) { out.at(at) = call.in(operand).at(at); });
  }
  ForEach(added.shape, [&](const Index& from) {
    Index to = from;
    to[2] += FirstPosition(call, from[0]);
    if (to[2] >= 0 && to[2] < capacity) out.at(to) = added.at(from);
  });
  return out;
}

// Turns x; its first position is number `begin` of the call's. Every rank turns all keys, so that ids are whole.
void RotateGrouped(const Call& call, Array& x, int64_t begin) {
  Rotate(x, call.attributes->Int("rotary_interleaved", 0) != 0, call.in(7).shape[1],
         [&](bool sine, const Index& at, int64_t angle) {
           int64_t row = FirstPosition(call, at[0]) + begin + at[2];
           if (call.has(9)) row = static_cast<int64_t>(call.in(9).at({at[0], begin + at[2]}));
           return call.in(sine ? 8 : 7).at({row, angle});
         });
}

std::vector<Array> GroupQueryAttention(const Call& call) {
  AttentionHeads heads = GroupedHeads(call);
  const Piece& result = call.result_pieces[0];
  const int64_t begin = result.ranges[1].begin, window = call.attributes->Int("local_window_size", -1);
  if (call.attributes->Int("do_rotary", 0) != 0) {
    RotateGrouped(call, heads.q, begin);
    RotateGrouped(call, heads.k, 0);
  }
  const int64_t capacity = std::max(call.has(3) ? call.in(3).shape[2] : 0, static_cast<int64_t>(call.in(6).values[0]));
  heads.k = WriteCache(call, 3, heads.k, capacity);
  heads.v = WriteCache(call, 4, heads.v, capacity);
  heads.mask = [&](const Index& at, double score) {
    const int64_t position = FirstPosition(call, at[0]) + begin + at[2];
    const double cap = call.attributes->Float("softcap", 0);
    if (cap > 0) score = cap * std::tanh(score / cap);
    if (call.has(10) && at[3] < call.in(10).shape[3]) score += BroadcastAt(call.in(10), at);
    const bool causal = call.attributes->Int("causal", 1) != 0;
    const bool reached = causal ? at[3] <= position : static_cast<double>(at[3]) < call.in(5).values[at[0]] + 1;
    return reached && (window < 0 || at[3] > position - window) ? score : -std::numeric_limits<double>::infinity();
  };
  if (call.has(11)) heads.sink = [&](int64_t head) { return call.in(11).values[head]; };
  if (call.attributes->Int("smooth_softmax", -1) == 1) heads.sink = [](int64_t) { return 0.0; };
  const double size = static_cast<double>(heads.q.shape[3]);
  const AttentionScores scores = Attend(heads, call.attributes->Float("scale", 1 / std::sqrt(size)));
  const bool wants_scores = call.attributes->Int("qk_output", 0) == 1;
  std::vector<Array> out{MergeHeads(scores.y), heads.k, heads.v, wants_scores ? scores.masked : scores.weights};
  out.resize(call.result_pieces.size());
  return out;
}

std::vector<Array> CachedRotary(const Call& call) {
  const bool packed = call.in(0).rank() == 3;
  const Piece& result = call.result_pieces[0];
  const Array& ids = call.in(1);
  Array x = call.in(0);
  if (packed) {
    const int64_t heads = call.attributes->Int("num_heads", 0);
    const int64_t size = heads > 0 ? result.global[2] / heads : 2 * call.in(2).shape[1];
    x = SplitHeads(x, x.shape[2] / size);
  }
  const bool interleaved = call.attributes->Int("interleaved", 0) != 0;
  Rotate(x, interleaved, call.in(2).shape[1], [&](bool sine, const Index& at, int64_t angle) {
    const int64_t position = at[2] + result.ranges[packed ? 1 : 2].begin;
    const double row = ids.rank() == 2 ? ids.at({at[0], at[2]}) : ids.values[0] + static_cast<double>(position);
    return call.in(sine ? 3 : 2).at({static_cast<int64_t>(row), angle});
  });
  return {packed ? MergeHeads(x) : x};
}

}  // namespace

void AddMicrosoftAttention(KernelTable& t) {
  t["com.microsoft::Attention"] = FusedAttention;
  t["com.microsoft::MultiHeadAttention"] = MultiHeadAttention;
  t["com.microsoft::GroupQueryAttention"] = GroupQueryAttention;
  t["com.microsoft::RotaryEmbedding"] = CachedRotary;
}

}  // namespace sbp::reference
