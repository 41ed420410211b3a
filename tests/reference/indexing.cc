// Indexing by values: gather and scatter families, one-hot, top-k, cumulative sums, triangles. A part contributes only
// for indices that it holds; the rest are 0.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "reference/interpreter.h"

namespace sbp::reference {
namespace {

int64_t AxisOf(const Call& call, size_t operand, int64_t fallback) {
  const int64_t rank = static_cast<int64_t>(call.input_pieces[operand].global.size());
  const int64_t axis = call.attributes->Int("axis", fallback);
  return axis < 0 ? axis + rank : axis;
}
int64_t Wrap(double index, int64_t size) {
  return static_cast<int64_t>(index < 0 ? index + static_cast<double>(size) : index);
}

std::vector<Array> Gather(const Call& call) {
  const int64_t axis = AxisOf(call, 0, 0);
  const Piece& data = call.input_pieces[0];
  const size_t k = call.in(1).shape.size();
  Array out = call.MakeResult(0);
  ForEach(out.shape, [&](const Index& at) {
    const Index which(at.begin() + axis, at.begin() + axis + k);
    Index from(at.begin(), at.begin() + axis);
    from.push_back(Wrap(call.in(1).at(which), data.global[axis]) - data.ranges[axis].begin);
    from.insert(from.end(), at.begin() + axis + k, at.end());
    if (from[axis] >= 0 && from[axis] < data.ranges[axis].size()) out.at(at) = call.in(0).at(from);
  });
  return {out};
}

std::vector<Array> GatherElements(const Call& call) {
  const int64_t axis = AxisOf(call, 0, 0);
  const Piece& data = call.input_pieces[0];
  Array out = call.MakeResult(0);
  ForEach(out.shape, [&](const Index& at) {
    // Dimensions other than `axis` are aligned by their global index.
    Index from = call.result_pieces[0].ToGlobal(at);
    from[axis] = Wrap(call.in(1).at(at), data.global[axis]);
    if (data.Contains(from)) out.at(at) = call.in(0).at(data.ToLocal(from));
  });
  return {out};
}

std::vector<Array> GatherND(const Call& call) {
  const int64_t batch = call.attributes->Int("batch_dims", 0);
  const Array& indices = call.in(1);
  const Piece& data = call.input_pieces[0];
  const int64_t depth = indices.shape.back(), lead = indices.rank() - 1;
  Array out = call.MakeResult(0);
  ForEach(out.shape, [&](const Index& at) {
    Index where(at.begin(), at.begin() + lead), from(at.begin(), at.begin() + batch);
    where.push_back(0);
    bool held = true;
    for (int64_t i = 0; i < depth; ++i) {
      where.back() = i;
      const int64_t d = batch + i;
      from.push_back(Wrap(indices.at(where), data.global[d]) - data.ranges[d].begin);
      held &= from.back() >= 0 && from.back() < data.ranges[d].size();
    }
    from.insert(from.end(), at.begin() + lead, at.end());
    if (held) out.at(at) = call.in(0).at(from);
  });
  return {out};
}

double Combine(const std::string& how, double old, double update) {
  if (how == "add") return old + update;
  if (how == "mul") return old * update;
  if (how == "max") return std::max(old, update);
  if (how == "min") return std::min(old, update);
  return update;
}

std::vector<Array> ScatterElements(const Call& call) {
  const int64_t axis = AxisOf(call, 0, 0);
  const std::string how = call.attributes->String("reduction", "none");
  const Piece& data = call.input_pieces[0];
  Array out = call.MakeResult(0);
  out.values = call.in(0).values;
  ForEach(call.in(1).shape, [&](const Index& at) {
    Index to = call.input_pieces[1].ToGlobal(at);
    to[axis] = Wrap(call.in(1).at(at), data.global[axis]);
    if (!data.Contains(to)) return;
    double& cell = out.at(data.ToLocal(to));
    cell = Combine(how, cell, call.in(2).at(at));
  });
  return {out};
}

std::vector<Array> ScatterND(const Call& call) {
  const std::string how = call.attributes->String("reduction", "none");
  const Piece& data = call.input_pieces[0];
  const Array &indices = call.in(1), &updates = call.in(2);
  const int64_t depth = indices.shape.back();
  Array out = call.MakeResult(0);
  out.values = call.in(0).values;
  ForEach(updates.shape, [&](const Index& at) {
    Index where(at.begin(), at.begin() + indices.rank() - 1), to;
    where.push_back(0);
    for (int64_t i = 0; i < depth; ++i) {
      where.back() = i;
      to.push_back(Wrap(indices.at(where), data.global[i]) - data.ranges[i].begin);
      if (to.back() < 0 || to.back() >= data.ranges[i].size()) return;
    }
    to.insert(to.end(), at.begin() + indices.rank() - 1, at.end());
    out.at(to) = Combine(how, out.at(to), updates.at(at));
  });
  return {out};
}

// A cache (batch, ..., positions, size) with an update written from each batch entry's index on.
std::vector<Array> TensorScatter(const Call& call) {
  const int64_t axis = AxisOf(call, 0, -2);
  const bool circular = call.attributes->String("mode", "linear") == "circular";
  const Piece& data = call.input_pieces[0];
  Array out = call.MakeResult(0);
  out.values = call.in(0).values;
  ForEach(call.in(1).shape, [&](const Index& at) {
    Index to = call.input_pieces[1].ToGlobal(at);
    if (call.has(2)) to[axis] += static_cast<int64_t>(call.in(2).values[at[0]]);
    if (circular) to[axis] %= data.global[axis];
    if (data.Contains(to)) out.at(data.ToLocal(to)) = call.in(1).at(at);
  });
  return {out};
}

std::vector<Array> ReverseSequence(const Call& call) {
  const int64_t batch = call.attributes->Int("batch_axis", 1), time = call.attributes->Int("time_axis", 0);
  Array out = call.MakeResult(0);
  ForEach(out.shape, [&](const Index& at) {
    const int64_t length = static_cast<int64_t>(call.in(1).values[at[batch]]);
    Index from = at;
    if (at[time] < length) from[time] = length - 1 - at[time];
    out.at(at) = call.in(0).at(from);
  });
  return {out};
}

// The slices along an axis, or the elements, for which the condition holds.
std::vector<Array> Compress(const Call& call) {
  std::vector<int64_t> kept;
  for (size_t i = 0; i < call.in(1).values.size(); ++i) {
    if (call.in(1).values[i] != 0) kept.push_back(static_cast<int64_t>(i));
  }
  const bool flat = call.attributes->Find("axis") == nullptr;
  const int64_t axis = flat ? 0 : AxisOf(call, 0, 0);
  Array out = call.MakeResult(0);
  ForEach(out.shape, [&](const Index& at) {
    Index from = at;
    from[axis] = kept[at[axis]];
    out.at(at) = flat ? call.in(0).values[from[0]] : call.in(0).at(from);
  });
  return {out};
}

std::vector<Array> OneHot(const Call& call) {
  const Piece& piece = call.result_pieces[0];
  const int64_t rank = static_cast<int64_t>(piece.global.size());
  int64_t axis = call.attributes->Int("axis", -1);
  axis = axis < 0 ? axis + rank : axis;
  Array out = call.MakeResult(0);
  ForEach(out.shape, [&](const Index& at) {
    Index which = at;
    which.erase(which.begin() + axis);
    const int64_t hot = Wrap(call.in(0).at(which), piece.global[axis]);
    out.at(at) = call.in(2).values[hot == at[axis] + piece.ranges[axis].begin ? 1 : 0];
  });
  return {out};
}

std::vector<Array> TopK(const Call& call) {
  const Array& x = call.in(0);
  const int64_t axis = AxisOf(call, 0, -1), k = call.result_pieces[0].local()[axis];
  const bool largest = call.attributes->Int("largest", 1) != 0;
  Array values = call.MakeResult(0), indices = call.MakeResult(1);
  Shape outer = x.shape;
  outer[axis] = 1;
  ForEach(outer, [&](Index at) {
    std::vector<int64_t> order(x.shape[axis]);
    std::iota(order.begin(), order.end(), 0);
    const auto value = [&](int64_t i) {
      at[axis] = i;
      return x.at(at);
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return largest ? value(a) > value(b) : value(a) < value(b); });
    for (int64_t i = 0; i < k; ++i) {
      const double v = value(order[i]);
      at[axis] = i;
      values.at(at) = v;
      indices.at(at) = static_cast<double>(order[i]);
    }
  });
  return {values, indices};
}

template <bool Product>
std::vector<Array> Cumulative(const Call& call) {
  const Array& x = call.in(0);
  int64_t axis = static_cast<int64_t>(call.in(1).values[0]);
  axis = axis < 0 ? axis + x.rank() : axis;
  const bool exclusive = call.attributes->Int("exclusive", 0) != 0, reverse = call.attributes->Int("reverse", 0) != 0;
  Array out = call.MakeResult(0);
  Shape outer = x.shape;
  outer[axis] = 1;
  ForEach(outer, [&](Index at) {
    double running = Product ? 1 : 0;
    for (int64_t step = 0; step < x.shape[axis]; ++step) {
      at[axis] = reverse ? x.shape[axis] - 1 - step : step;
      const double v = x.at(at), next = Product ? running * v : running + v;
      out.at(at) = exclusive ? running : next;
      running = next;
    }
  });
  return {out};
}

std::vector<Array> Trilu(const Call& call) {
  const Piece& piece = call.input_pieces[0];
  const int64_t rank = static_cast<int64_t>(piece.global.size());
  const int64_t k = call.has(1) ? static_cast<int64_t>(call.in(1).values[0]) : 0;
  const bool upper = call.attributes->Int("upper", 1) != 0;
  Array out = call.MakeResult(0);
  ForEach(out.shape, [&](const Index& at) {
    const Index where = piece.ToGlobal(at);
    const int64_t diagonal = where[rank - 1] - where[rank - 2];
    if (upper ? diagonal >= k : diagonal <= k) out.at(at) = call.in(0).at(at);
  });
  return {out};
}

}  // namespace

void AddIndexing(KernelTable& t) {
  t["Gather"] = Gather;
  t["GatherElements"] = GatherElements;
  t["GatherND"] = GatherND;
  t["ScatterElements"] = ScatterElements;
  t["Scatter"] = ScatterElements;
  t["ScatterND"] = ScatterND;
  t["TensorScatter"] = TensorScatter;
  t["ReverseSequence"] = ReverseSequence;
  t["Compress"] = Compress;
  t["OneHot"] = OneHot;
  t["TopK"] = TopK;
  t["CumSum"] = Cumulative<false>;
  t["CumProd"] = Cumulative<true>;
  t["Trilu"] = Trilu;
}

}  // namespace sbp::reference
