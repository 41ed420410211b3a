// Kernels that work on the lines of a tensor along one axis: ArgMax, ArgMin, CumSum, CumProd and TopK.
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "base/host_device.h"
#include "base/status.h"
#include "gpu/fold_rows.h"
#include "gpu/for_each.h"
#include "kernel/along_axis.h"
#include "kernel/convert.h"
#include "kernel/gpu/elements.h"
#include "kernel/gpu/kernels.h"  // keep: declares what stands here
#include "kernel/gpu/operands.h"
#include "kernel/gpu/sort.h"
#include "kernel/gpu/words.h"
#include "kernel/kernel.h"
#include "kernel/operands.h"
#include "kernel/scalar/fold.h"
#include "kernel/scalar/order.h"
#include "kernel/view.h"

namespace sbp::SBP_GPU_BUILD {
namespace {

// Line l of AxisLines: where it begins, in elements.
struct Lines {
  int64_t count, size, inner;
  explicit Lines(const AxisLines& lines) : count(lines.outer * lines.inner), size(lines.size), inner(lines.inner) {}
  SBP_HD int64_t First(int64_t line) const {
    if (inner == 1) return line * size;
    const int64_t outer = Divide(line, inner);
    return outer * size * inner + line - outer * inner;
  }
};

// run(number) of the type that real elements of a type are computed in.
template <typename Run>
Status WithReal(DType type, const Run& run) {
  switch (ComputeType(type)) {
    case DType::kF32:
      return run(float{});
    case DType::kF64:
      return run(double{});
    case DType::kU64:
      return run(uint64_t{});
    default:
      return run(int64_t{});
  }
}

// An element and its place in its line; -1: none yet.
template <typename T>
struct Placed {
  T value;
  int64_t at;
};

// The place of the best element: NaN is better than any number; of equal ones the first, or the last where asked for.
template <typename T>
struct BestPlace {
  using Value = Placed<T>;
  Lines lines;
  bool largest, last;
  DType type, out_type;
  int64_t begin;  // of the part on the axis
  const std::byte* in;
  std::byte* out;
  SBP_HD Value Start() const { return {T{}, -1}; }
  SBP_HD int64_t Base(int64_t row) const { return lines.First(row); }
  SBP_HD Value At(int64_t base, int64_t j) const { return {LoadNumber<T>(type, in, base + j * lines.inner), j}; }
  SBP_HD Value Combine(Value a, Value b) const {
    if (a.at < 0 || b.at < 0) return a.at < 0 ? b : a;
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    if (a_nan != b_nan) return a_nan ? a : b;
    if (a_nan || a.value == b.value) return (a.at < b.at) != last ? a : b;
    return (a.value > b.value) == largest ? a : b;
  }
  SBP_HD void Store(int64_t row, Value value) const { StoreInteger(out_type, out, row, value.at + begin); }
};

Status ArgReduce(KernelCall& call, bool largest) {
  const TensorView& in = call.inputs[0];
  TensorView& out = call.outputs[0];
  SBP_ASSIGN_OR_RETURN(const int64_t axis, AxisIn(call.attributes->Int("axis", 0), in.rank()));
  const bool last = call.attributes->Int("select_last_index", 0) != 0;
  const Lines lines{AxisLines(in.shape, axis)};
  if (out.elements() != lines.count) return Defect("the result's shape does not follow from the axis");
  if (out.elements() > 0 && lines.size == 0) return RunFailed("there is no largest or smallest of no elements");
  return WithReal(in.dtype, [&]<typename T>(T) {
    const BestPlace<T> best{lines, largest, last, in.dtype, out.dtype, in.ranges[axis].begin, in.data, out.data};
    return gpu::FoldRows(*call.stream, lines.count, lines.size, lines.inner > 1, best);
  });
}

// Running folds: every line in chunks. First the fold of each chunk but a line's last, then what precedes each chunk,
// then each chunk from there on.
template <typename A, typename X, typename F>
struct Running {
  Lines lines;
  int64_t chunk, chunks;
  bool exclusive, reverse;
  DType type, out_type;
  const std::byte* in;
  std::byte* out;
  A* before;  // [chunks, lines]

  SBP_HD int64_t Place(int64_t first, int64_t step) const {
    return first + (reverse ? lines.size - 1 - step : step) * lines.inner;
  }
  SBP_HD A Load(int64_t place) const { return static_cast<A>(LoadNumber<X>(type, in, place)); }
};
template <typename A, typename X, typename F>
struct FoldChunk {
  Running<A, X, F> run;
  SBP_HD void operator()(int64_t i) const {
    const F f;
    const int64_t part = i / run.lines.count, first = run.lines.First(i % run.lines.count);
    A value = F::template Start<A>();
    for (int64_t step = part * run.chunk; step < (part + 1) * run.chunk; ++step)
      value = f(value, run.Load(run.Place(first, step)));
    run.before[i + run.lines.count] = value;
  }
};
template <typename A, typename X, typename F>
struct FoldBefore {
  Running<A, X, F> run;
  SBP_HD void operator()(int64_t line) const {
    const F f;
    A value = F::template Start<A>();
    run.before[line] = value;
    for (int64_t part = 1; part < run.chunks; ++part) {
      A& own = run.before[part * run.lines.count + line];
      value = f(value, own);
      own = value;
    }
  }
};
template <typename A, typename X, typename F>
struct WriteChunk {
  Running<A, X, F> run;
  SBP_HD void operator()(int64_t i) const {
    const F f;
    const int64_t part = i / run.lines.count, first = run.lines.First(i % run.lines.count);
    const int64_t begin = part * run.chunk;
    const int64_t end = begin + run.chunk < run.lines.size ? begin + run.chunk : run.lines.size;
    A value = run.chunks > 1 ? run.before[i] : F::template Start<A>();
    for (int64_t step = begin; step < end; ++step) {
      const int64_t place = run.Place(first, step);
      const A next = f(value, run.Load(place));
      StoreNumber(run.out_type, run.out, place, run.exclusive ? value : next);
      value = next;
    }
  }
};

template <typename A, typename X, typename F>
Status Accumulate(KernelCall& call, int64_t axis) {
  constexpr int64_t kWhole = 128;  // lines so short are one chunk
  const TensorView& in = call.inputs[0];
  TensorView& out = call.outputs[0];
  Running<A, X, F> run{Lines(AxisLines(in.shape, axis))};
  run.exclusive = call.attributes->Int("exclusive", 0) != 0;
  run.reverse = call.attributes->Int("reverse", 0) != 0;
  run.type = in.dtype, run.out_type = out.dtype;
  run.in = in.data, run.out = out.data;
  run.chunk = run.lines.size;
  if (run.lines.size > kWhole) run.chunk = static_cast<int64_t>(std::sqrt(static_cast<double>(run.lines.size))) + 1;
  run.chunks = (run.lines.size + run.chunk - 1) / run.chunk;
  if (run.chunks > 1) {
    SBP_ASSIGN_OR_RETURN(run.before, ScratchFor<A>(call, run.chunks * run.lines.count));
    const int64_t folded = (run.chunks - 1) * run.lines.count;
    SBP_RETURN_IF_ERROR(gpu::ForEach(*call.stream, folded, FoldChunk<A, X, F>{run}));
    SBP_RETURN_IF_ERROR(gpu::ForEach(*call.stream, run.lines.count, FoldBefore<A, X, F>{run}));
  }
  return gpu::ForEach(*call.stream, run.chunks * run.lines.count, WriteChunk<A, X, F>{run});
}

// In f64 for floats.
template <typename F>
Status Cumulative(KernelCall& call) {
  const TensorView& in = call.inputs[0];
  if (in.shape != call.outputs[0].shape) return Defect("the result's shape is not that of the operand");
  SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> given, IntsOf(call, 1));
  if (given.size() != 1) return RunFailed("axis must be one number");
  SBP_ASSIGN_OR_RETURN(const int64_t axis, AxisIn(given[0], in.rank()));
  if (in.elements() == 0) return OkStatus();
  const DType compute = ComputeType(in.dtype);
  if (IsComplex(compute)) return Defect("no kernel for this element type");
  if (compute == DType::kF64) return Accumulate<double, double, F>(call, axis);
  if (compute == DType::kF32) return Accumulate<double, float, F>(call, axis);
  return Accumulate<uint64_t, uint64_t, F>(call, axis);
}

// The order of TopK: of equal elements the lower place comes first.
template <typename T>
SBP_HD bool ComesFirst(bool largest, Placed<T> a, Placed<T> b) {
  const bool less = largest ? scalar::Before(b.value, a.value) : scalar::Before(a.value, b.value);
  const bool more = largest ? scalar::Before(a.value, b.value) : scalar::Before(b.value, a.value);
  return less || (!more && a.at < b.at);
}

// The first of each line among those that come after the one found before; for few, a pass each.
template <typename T>
struct NextBest {
  using Value = Placed<T>;
  Lines lines;
  bool largest;
  DType type;
  const std::byte* in;
  int64_t k, found;
  T* values;  // [outer, k, inner]
  int64_t* places;
  SBP_HD int64_t Slot(int64_t row, int64_t j) const {
    const int64_t outer = Divide(row, lines.inner);
    return (outer * k + j) * lines.inner + row - outer * lines.inner;
  }
  SBP_HD Value Start() const { return {T{}, -1}; }
  SBP_HD int64_t Base(int64_t row) const { return row; }
  SBP_HD Value At(int64_t row, int64_t j) const {
    const Value own{LoadNumber<T>(type, in, lines.First(row) + j * lines.inner), j};
    if (found == 0) return own;
    const int64_t slot = Slot(row, found - 1);
    return ComesFirst(largest, {values[slot], places[slot]}, own) ? own : Start();
  }
  SBP_HD Value Combine(Value a, Value b) const {
    if (a.at < 0 || b.at < 0) return a.at < 0 ? b : a;
    return ComesFirst(largest, a, b) ? a : b;
  }
  SBP_HD void Store(int64_t row, Value value) const {
    const int64_t slot = Slot(row, found);
    values[slot] = value.value;
    places[slot] = value.at;
  }
};

// For many: whole lines sorted. Padding has places beyond the line's size.
template <typename T>
struct LineKeys {
  bool largest;
  int64_t size;
  T* values;
  int64_t* places;
  SBP_HD bool Before(int64_t a, int64_t b) const {
    if (places[a] >= size || places[b] >= size) return places[a] < places[b];
    return ComesFirst<T>(largest, {values[a], places[a]}, {values[b], places[b]});
  }
  SBP_HD void Swap(int64_t a, int64_t b) const {
    const T value = values[a];
    const int64_t place = places[a];
    values[a] = values[b];
    places[a] = places[b];
    values[b] = value;
    places[b] = place;
  }
};
template <typename T>
struct MakeLineKeys {
  LineKeys<T> keys;
  Lines lines;
  int64_t padded;
  DType type;
  const std::byte* in;
  SBP_HD void operator()(int64_t i) const {
    const int64_t line = i / padded, j = i - line * padded;
    keys.values[i] = j < lines.size ? LoadNumber<T>(type, in, lines.First(line) + j * lines.inner) : T{};
    keys.places[i] = j;
  }
};
template <typename T>
struct TakeFirst {
  LineKeys<T> keys;
  NextBest<T> to;
  int64_t padded;
  SBP_HD void operator()(int64_t i) const {
    const int64_t line = i / to.k, j = i - line * to.k, slot = to.Slot(line, j);
    to.values[slot] = keys.values[line * padded + j];
    to.places[slot] = keys.places[line * padded + j];
  }
};

template <typename T>
Status TopOf(KernelCall& call, NextBest<T> best) {
  constexpr int64_t kMostPasses = 16;
  if (best.k <= kMostPasses) {
    for (; best.found < best.k; ++best.found) {
      SBP_RETURN_IF_ERROR(gpu::FoldRows(*call.stream, best.lines.count, best.lines.size, best.lines.inner > 1, best));
    }
    return OkStatus();
  }
  const int64_t padded = PaddedToSort(best.lines.size), n = best.lines.count * padded;
  LineKeys<T> keys{best.largest, best.lines.size, nullptr, nullptr};
  SBP_ASSIGN_OR_RETURN(keys.values, ScratchFor<T>(call, n));
  SBP_ASSIGN_OR_RETURN(keys.places, ScratchFor<int64_t>(call, n));
  SBP_RETURN_IF_ERROR(gpu::ForEach(*call.stream, n, MakeLineKeys<T>{keys, best.lines, padded, best.type, best.in}));
  SBP_RETURN_IF_ERROR(Sort(*call.stream, best.lines.count, padded, keys));
  return gpu::ForEach(*call.stream, best.lines.count * best.k, TakeFirst<T>{keys, best, padded});
}

}  // namespace

Status ArgMax(KernelCall& call) { return ArgReduce(call, true); }
Status ArgMin(KernelCall& call) { return ArgReduce(call, false); }
Status CumSum(KernelCall& call) { return Cumulative<scalar::SumFold>(call); }
Status CumProd(KernelCall& call) { return Cumulative<scalar::ProductFold>(call); }

Status TopK(KernelCall& call) {
  const TensorView& in = call.inputs[0];
  SBP_ASSIGN_OR_RETURN(const int64_t axis, AxisIn(call.attributes->Int("axis", -1), in.rank()));
  SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> wanted, IntsOf(call, 1));
  const Lines lines{AxisLines(in.shape, axis)};
  SBP_RETURN_IF_ERROR(SizeOfTopK(wanted, axis, call));
  const bool largest = call.attributes->Int("largest", 1) != 0;
  return WithReal(in.dtype, [&]<typename T>(T) -> Status {
    const int64_t n = lines.count * wanted[0];
    NextBest<T> best{lines, largest, in.dtype, in.data, wanted[0], 0, nullptr, nullptr};
    SBP_ASSIGN_OR_RETURN(best.values, ScratchFor<T>(call, n));
    SBP_ASSIGN_OR_RETURN(best.places, ScratchFor<int64_t>(call, n));
    SBP_RETURN_IF_ERROR(TopOf(call, best));
    const auto* values = reinterpret_cast<const std::byte*>(best.values);
    const auto* places = reinterpret_cast<const std::byte*>(best.places);
    if (call.wants(0)) SBP_RETURN_IF_ERROR(FinishResult(call, values, ComputeType(in.dtype), call.outputs[0]));
    if (call.wants(1)) SBP_RETURN_IF_ERROR(FinishResult(call, places, DType::kI64, call.outputs[1]));
    return OkStatus();
  });
}

}  // namespace sbp::SBP_GPU_BUILD
