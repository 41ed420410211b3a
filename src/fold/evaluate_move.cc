// Ops that move elements without changing them: every result element is one operand element.
#include <algorithm>
#include <numeric>

#include "base/checked_math.h"
#include "fold/evaluators.h"
#include "fold/value.h"

namespace sbp::evaluators {
namespace {

using Results = std::vector<Literal>;

// The same elements under another shape.
bool Reshaped(const Literal& source, Shape shape, Results& results) {
  const std::optional<int64_t> count = SmallCount(shape);
  if (!count || *count != source.type.num_elements()) return false;
  Literal out = source;
  out.type.shape = std::move(shape);
  out.raw.clear();
  results.push_back(std::move(out));
  return true;
}

// Splits a shape around an axis: sizes before, at and after it.
struct Around {
  int64_t outer = 1, middle = 1, inner = 1;
};
Around SplitAround(const Shape& shape, size_t axis) {
  Around around;
  for (size_t d = 0; d < shape.size(); ++d)
    (d < axis ? around.outer : d > axis ? around.inner : around.middle) *= shape[d];
  return around;
}

std::optional<int64_t> NormalIndex(int64_t index, int64_t size) {
  if (index < 0) index += size;
  return index >= 0 && index < size ? std::optional(index) : std::nullopt;
}

}  // namespace

bool Identity(const FoldRequest& request, Results& results) {
  results.push_back(request.value(0));
  return true;
}

bool Reshape(const FoldRequest& request, Results& results) {
  const Literal& data = request.value(0);
  std::optional<std::vector<int64_t>> target = IntsOf(request, 1);
  if (!target) return false;
  int64_t known = 1;
  std::optional<size_t> open;
  for (size_t d = 0; d < target->size(); ++d) {
    int64_t& size = (*target)[d];
    if (size == 0 && request.attributes->Int("allowzero", 0) == 0) {
      if (d >= data.type.shape.size()) return false;
      size = data.type.shape[d];
    }
    if (size == -1) {
      if (open) return false;
      open = d;
    } else {
      if (size < 0) return false;
      known = SaturatingMul(known, size);
    }
  }
  if (open) {
    if (known == 0 || data.type.num_elements() % known != 0) return false;
    (*target)[*open] = data.type.num_elements() / known;
  }
  return Reshaped(data, std::move(*target), results);
}

bool Flatten(const FoldRequest& request, Results& results) {
  const Literal& data = request.value(0);
  int64_t axis = request.attributes->Int("axis", 1);
  if (axis < 0) axis += data.type.rank();
  if (axis < 0 || axis > data.type.rank()) return false;
  int64_t outer = 1;
  for (int64_t d = 0; d < axis; ++d) outer *= data.type.shape[static_cast<size_t>(d)];
  int64_t inner = 1;
  for (size_t d = static_cast<size_t>(axis); d < data.type.shape.size(); ++d) inner *= data.type.shape[d];
  return Reshaped(data, {outer, inner}, results);
}

bool Squeeze(const FoldRequest& request, Results& results) {
  const Literal& data = request.value(0);
  const Shape& shape = data.type.shape;
  std::vector<size_t> ones;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) ones.push_back(d);
  }
  const std::optional<std::vector<size_t>> axes = AxesOf(request, 1, "axes", shape.size(), ones);
  if (!axes) return false;
  Shape out;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (std::ranges::count(*axes, d) == 0)
      out.push_back(shape[d]);
    else if (shape[d] != 1)
      return false;
  }
  return Reshaped(data, std::move(out), results);
}

bool Unsqueeze(const FoldRequest& request, Results& results) {
  const Literal& data = request.value(0);
  if (!request.has(1)) return false;
  const size_t rank = data.type.shape.size() + static_cast<size_t>(request.value(1).type.num_elements());
  const std::optional<std::vector<size_t>> axes = AxesOf(request, 1, "axes", rank, {});
  if (!axes) return false;
  Shape out;
  size_t next = 0;
  for (size_t d = 0; d < rank; ++d) out.push_back(std::ranges::count(*axes, d) > 0 ? 1 : data.type.shape[next++]);
  return Reshaped(data, std::move(out), results);
}

bool Transpose(const FoldRequest& request, Results& results) {
  const Literal& data = request.value(0);
  const size_t rank = data.type.shape.size();
  std::vector<size_t> permutation(rank);
  for (size_t d = 0; d < rank; ++d) permutation[d] = rank - 1 - d;
  const std::optional<std::vector<size_t>> given = AxesOf(request, request.operands.size(), "perm", rank, permutation);
  if (!given || given->size() != rank) return false;
  const std::vector<int64_t> strides = Strides(data.type.shape);
  Shape shape;
  std::vector<int64_t> moved;
  for (const size_t axis : *given) {
    shape.push_back(data.type.shape[axis]);
    moved.push_back(strides[axis]);
  }
  const std::vector<int64_t> indices = FlatIndices(shape, moved);
  results.push_back(Pick(data, indices, std::move(shape)));
  return true;
}

bool Expand(const FoldRequest& request, Results& results) {
  const Literal& data = request.value(0);
  const std::optional<std::vector<int64_t>> target = IntsOf(request, 1);
  if (!target) return false;
  const std::optional<Shape> shape = BroadcastShape(data.type.shape, *target);
  if (!shape || !SmallCount(*shape)) return false;
  const std::vector<int64_t> indices = FlatIndices(*shape, BroadcastStrides(data.type.shape, *shape));
  results.push_back(Pick(data, indices, *shape));
  return true;
}

bool Tile(const FoldRequest& request, Results& results) {
  const Literal& data = request.value(0);
  const std::optional<std::vector<int64_t>> repeats = IntsOf(request, 1);
  if (!repeats || repeats->size() != data.type.shape.size()) return false;
  Shape shape;
  for (size_t d = 0; d < repeats->size(); ++d) {
    if ((*repeats)[d] < 0) return false;
    shape.push_back(SaturatingMul(data.type.shape[d], (*repeats)[d]));
  }
  const std::optional<int64_t> count = SmallCount(shape);
  if (!count) return false;
  const std::vector<int64_t> from = Strides(data.type.shape);
  const std::vector<int64_t> to = Strides(shape);
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < *count; ++i) {
    int64_t flat = 0;
    for (size_t d = 0; d < shape.size(); ++d) flat += i / to[d] % shape[d] % data.type.shape[d] * from[d];
    indices.push_back(flat);
  }
  results.push_back(Pick(data, indices, std::move(shape)));
  return true;
}

bool Concat(const FoldRequest& request, Results& results) {
  if (request.operands.empty()) return false;
  const TensorType& first = request.value(0).type;
  const std::optional<size_t> axis = Axis(request.attributes->Int("axis", 0), first.shape.size());
  if (!axis) return false;
  Shape shape = first.shape;
  shape[*axis] = 0;
  for (size_t i = 0; i < request.operands.size(); ++i) {
    const TensorType& type = request.value(i).type;
    if (type.shape.size() != shape.size() || type.dtype != first.dtype) return false;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (d == *axis)
        shape[d] = SaturatingAdd(shape[d], type.shape[d]);
      else if (type.shape[d] != shape[d])
        return false;
    }
  }
  if (!SmallCount(shape)) return false;
  Literal out = EmptyLiteral(first.dtype, shape);
  const Around around = SplitAround(shape, *axis);
  for (int64_t o = 0; o < around.outer; ++o) {
    for (size_t i = 0; i < request.operands.size(); ++i) {
      const Literal& part = request.value(i);
      const int64_t run = part.type.shape[*axis] * around.inner;
      for (int64_t k = 0; k < run; ++k) AppendElementOf(part, static_cast<size_t>(o * run + k), out);
    }
  }
  results.push_back(std::move(out));
  return true;
}

bool Split(const FoldRequest& request, Results& results) {
  const Literal& data = request.value(0);
  const std::optional<size_t> axis = Axis(request.attributes->Int("axis", 0), data.type.shape.size());
  if (!axis) return false;
  const int64_t size = data.type.shape[*axis];
  std::vector<int64_t> sizes;
  if (request.has(1)) {
    const std::optional<std::vector<int64_t>> given = IntsOf(request, 1);
    if (!given) return false;
    sizes = *given;
  } else {
    const auto parts = static_cast<int64_t>(request.num_results);
    if (parts == 0) return false;
    const int64_t part = CeilDiv(size, parts);
    for (int64_t i = 0; i < parts; ++i) sizes.push_back(std::clamp<int64_t>(size - i * part, 0, part));
  }
  if (sizes.size() != request.num_results || std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) != size)
    return false;
  const Around around = SplitAround(data.type.shape, *axis);
  int64_t begin = 0;
  for (const int64_t part : sizes) {
    if (part < 0) return false;
    std::vector<int64_t> indices;
    for (int64_t o = 0; o < around.outer; ++o) {
      for (int64_t k = 0; k < part * around.inner; ++k) indices.push_back((o * size + begin) * around.inner + k);
    }
    Shape shape = data.type.shape;
    shape[*axis] = part;
    results.push_back(Pick(data, indices, std::move(shape)));
    begin += part;
  }
  return true;
}

bool Slice(const FoldRequest& request, Results& results) {
  const Literal& data = request.value(0);
  const size_t rank = data.type.shape.size();
  if (!request.has(1) || !request.has(2)) return false;
  const std::optional<std::vector<int64_t>> starts = IntsOf(request, 1);
  const std::optional<std::vector<int64_t>> ends = IntsOf(request, 2);
  if (!starts || !ends || starts->size() != ends->size() || starts->size() > rank) return false;
  std::vector<size_t> leading(starts->size());
  std::iota(leading.begin(), leading.end(), size_t{0});
  const std::optional<std::vector<size_t>> axes = AxesOf(request, 3, "", rank, leading);
  std::vector<int64_t> steps(starts->size(), 1);
  if (request.has(4)) {
    const std::optional<std::vector<int64_t>> given = IntsOf(request, 4);
    if (!given) return false;
    steps = *given;
  }
  if (!axes || axes->size() != starts->size() || steps.size() != starts->size()) return false;
  Shape shape = data.type.shape;
  std::vector<int64_t> strides = Strides(data.type.shape);
  int64_t offset = 0;
  for (size_t i = 0; i < axes->size(); ++i) {
    const size_t axis = (*axes)[i];
    const int64_t size = data.type.shape[axis];
    const int64_t step = steps[i];
    if (step == 0) return false;
    const auto from_end = [&](int64_t index) { return index < 0 ? SaturatingAdd(index, size) : index; };
    const int64_t low = step > 0 ? 0 : -1;
    const int64_t high = step > 0 ? size : size - 1;
    const int64_t start = std::clamp(from_end((*starts)[i]), int64_t{0}, high < 0 ? int64_t{0} : high);
    const int64_t end = std::clamp(from_end((*ends)[i]), low, high < low ? low : high);
    // Magnitudes are below the size, so a huge step simply takes one element.
    const int64_t span = step > 0 ? end - start : start - end;
    const int64_t pace = step > 0 ? step : (step == INT64_MIN ? INT64_MAX : -step);
    shape[axis] = span > 0 && size > 0 ? CeilDiv(span, pace) : 0;
    offset += start * strides[axis];
    if (shape[axis] > 1) strides[axis] *= step;
  }
  std::vector<int64_t> indices = FlatIndices(shape, strides);
  for (int64_t& index : indices) index += offset;
  results.push_back(Pick(data, indices, std::move(shape)));
  return true;
}

bool Gather(const FoldRequest& request, Results& results) {
  const Literal& data = request.value(0);
  const Literal& where = request.value(1);
  const std::optional<size_t> axis = Axis(request.attributes->Int("axis", 0), data.type.shape.size());
  if (!axis || !where.is_integral()) return false;
  Shape shape(data.type.shape.begin(), data.type.shape.begin() + static_cast<int64_t>(*axis));
  shape.insert(shape.end(), where.type.shape.begin(), where.type.shape.end());
  shape.insert(shape.end(), data.type.shape.begin() + static_cast<int64_t>(*axis) + 1, data.type.shape.end());
  if (!SmallCount(shape)) return false;
  const Around around = SplitAround(data.type.shape, *axis);
  std::vector<int64_t> indices;
  for (int64_t o = 0; o < around.outer; ++o) {
    for (const int64_t index : where.ints) {
      const std::optional<int64_t> normal = NormalIndex(index, around.middle);
      if (!normal) return request.Refuse("an index is out of range");
      for (int64_t k = 0; k < around.inner; ++k) indices.push_back((o * around.middle + *normal) * around.inner + k);
    }
  }
  results.push_back(Pick(data, indices, std::move(shape)));
  return true;
}

bool GatherElements(const FoldRequest& request, Results& results) {
  const Literal& data = request.value(0);
  const Literal& where = request.value(1);
  const std::optional<size_t> axis = Axis(request.attributes->Int("axis", 0), data.type.shape.size());
  if (!axis || !where.is_integral() || where.type.shape.size() != data.type.shape.size()) return false;
  for (size_t d = 0; d < data.type.shape.size(); ++d) {
    if (d != *axis && where.type.shape[d] > data.type.shape[d]) return false;
  }
  std::vector<int64_t> strides = Strides(data.type.shape);
  const int64_t along = strides[*axis];
  strides[*axis] = 0;
  std::vector<int64_t> indices = FlatIndices(where.type.shape, strides);
  for (size_t i = 0; i < indices.size(); ++i) {
    const std::optional<int64_t> normal = NormalIndex(where.ints[i], data.type.shape[*axis]);
    if (!normal) return request.Refuse("an index is out of range");
    indices[i] += *normal * along;
  }
  results.push_back(Pick(data, indices, where.type.shape));
  return true;
}

bool GatherND(const FoldRequest& request, Results& results) {
  const Literal& data = request.value(0);
  const Literal& where = request.value(1);
  if (!where.is_integral() || where.type.shape.empty() || request.attributes->Int("batch_dims", 0) != 0) return false;
  const auto depth = static_cast<size_t>(where.type.shape.back());
  if (depth > data.type.shape.size() || depth == 0) return false;
  Shape shape(where.type.shape.begin(), where.type.shape.end() - 1);
  shape.insert(shape.end(), data.type.shape.begin() + static_cast<int64_t>(depth), data.type.shape.end());
  if (!SmallCount(shape)) return false;
  const std::vector<int64_t> strides = Strides(data.type.shape);
  const int64_t inner = strides[depth - 1];
  std::vector<int64_t> indices;
  for (size_t row = 0; row + depth <= where.ints.size(); row += depth) {
    int64_t flat = 0;
    for (size_t d = 0; d < depth; ++d) {
      const std::optional<int64_t> normal = NormalIndex(where.ints[row + d], data.type.shape[d]);
      if (!normal) return request.Refuse("an index is out of range");
      flat += *normal * strides[d];
    }
    for (int64_t k = 0; k < inner; ++k) indices.push_back(flat + k);
  }
  results.push_back(Pick(data, indices, std::move(shape)));
  return true;
}

bool Where(const FoldRequest& request, Results& results) {
  const Literal& condition = request.value(0);
  const Literal& yes = request.value(1);
  const Literal& no = request.value(2);
  if (!condition.is_integral() || yes.type.dtype != no.type.dtype) return false;
  std::optional<Shape> shape = BroadcastShape(condition.type.shape, yes.type.shape);
  if (shape) shape = BroadcastShape(*shape, no.type.shape);
  if (!shape || !SmallCount(*shape)) return false;
  const std::vector<int64_t> of_condition = FlatIndices(*shape, BroadcastStrides(condition.type.shape, *shape));
  const std::vector<int64_t> of_yes = FlatIndices(*shape, BroadcastStrides(yes.type.shape, *shape));
  const std::vector<int64_t> of_no = FlatIndices(*shape, BroadcastStrides(no.type.shape, *shape));
  Literal out = EmptyLiteral(yes.type.dtype, *shape);
  for (size_t i = 0; i < of_condition.size(); ++i) {
    const bool taken = condition.ints[static_cast<size_t>(of_condition[i])] != 0;
    AppendElementOf(taken ? yes : no, static_cast<size_t>(taken ? of_yes[i] : of_no[i]), out);
  }
  results.push_back(std::move(out));
  return true;
}

}  // namespace sbp::evaluators
