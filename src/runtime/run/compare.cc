#include "runtime/run/compare.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/text.h"
#include "graph/tensor_type.h"
#include "kernel/convert.h"
#include "kernel/view.h"
#include "runtime/run/tensor_store.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

std::string TypeText(const Value& value) {
  if (value.sequence != nullptr) return StrCat("a sequence of ", value.sequence->size());
  if (value.none) return "an empty optional";
  return value.view.present() ? ToString(TensorType{value.view.dtype, value.view.shape}) : "no tensor";
}

// Integers of 64 bits lose digits as doubles: their difference is taken exactly.
double Distance(const Value& out, const Value& ref, size_t i, double a, double b) {
  if (out.view.dtype == DType::kI64 && ref.view.dtype == DType::kI64) {
    const int64_t x = out.view.as<int64_t>()[i], y = ref.view.as<int64_t>()[i];
    const uint64_t gap = x > y ? static_cast<uint64_t>(x) - static_cast<uint64_t>(y)
                               : static_cast<uint64_t>(y) - static_cast<uint64_t>(x);
    return static_cast<double>(gap);
  }
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  return std::isnan(a) || std::isnan(b) ? std::numeric_limits<double>::infinity() : std::abs(a - b);
}

// The numbers of a tensor as doubles, complex ones as pairs, a block at a time: no copy of the whole is made, which for
// large tensors costs more than to look at them.
class NumberBlocks {
 public:
  static constexpr int64_t kSize = 1024;

  // Error: no tensor of numbers.
  static Result<NumberBlocks> Of(const Value& value) {
    Value plain = value;
    if (IsComplex(value.view.dtype)) {
      Shape shape = value.view.shape;
      shape.push_back(2);
      plain.view = WholeView(value.view.dtype == DType::kC64 ? DType::kF32 : DType::kF64, shape, value.view.data);
    } else if (!value.view.present() || value.view.dtype == DType::kString || IsPacked(value.view.dtype)) {
      SBP_ASSIGN_OR_RETURN(plain, CastTo(value, DType::kF64));
    }
    return NumberBlocks(std::move(plain));
  }

  int64_t count() const { return value_.view.elements(); }

  // Numbers `first` to `first + n`, n <= kSize; until the next call.
  const double* At(int64_t first, int64_t n) {
    if (value_.view.dtype == DType::kF64) return value_.view.as<double>() + first;
    const int64_t bytes = ElementBytes(value_.view.dtype);
    Convert(value_.view.dtype, value_.view.data + first * bytes, bytes, DType::kF64,
            reinterpret_cast<std::byte*>(block_.data()), sizeof(double), n);
    return block_.data();
  }

 private:
  explicit NumberBlocks(Value value)
      : value_(std::move(value)), block_(static_cast<size_t>(std::min(kSize, value_.view.elements()))) {}

  Value value_;
  std::vector<double> block_;
};

// Calls `see(i, a, b)` for every pair of numbers.
template <typename See>
void ForPairs(NumberBlocks& a, NumberBlocks& b, See see) {
  for (int64_t first = 0; first < a.count(); first += NumberBlocks::kSize) {
    const int64_t n = std::min(NumberBlocks::kSize, a.count() - first);
    const double *x = a.At(first, n), *y = b.At(first, n);
    for (int64_t i = 0; i < n; ++i) see(static_cast<size_t>(first + i), x[i], y[i]);
  }
}

}  // namespace

Result<std::vector<double>> NumbersOf(const Value& value) {
  SBP_ASSIGN_OR_RETURN(NumberBlocks blocks, NumberBlocks::Of(value));
  std::vector<double> numbers;
  numbers.reserve(static_cast<size_t>(blocks.count()));
  for (int64_t first = 0; first < blocks.count(); first += NumberBlocks::kSize) {
    const int64_t n = std::min(NumberBlocks::kSize, blocks.count() - first);
    const double* block = blocks.At(first, n);
    numbers.insert(numbers.end(), block, block + n);
  }
  return numbers;
}

namespace {

Result<Difference> CompareTensors(const Value& out, const Value& ref, const ElementTolerance& tolerance) {
  if (out.view.shape != ref.view.shape || !out.view.present() || !ref.view.present()) {
    return Status(Code::kMismatch, StrCat("is ", TypeText(out), "; expected ", TypeText(ref)));
  }
  SBP_ASSIGN_OR_RETURN(NumberBlocks outs, NumberBlocks::Of(out));
  SBP_ASSIGN_OR_RETURN(NumberBlocks refs, NumberBlocks::Of(ref));
  if (outs.count() != refs.count()) {
    return Status(Code::kMismatch, StrCat("is ", TypeText(out), "; expected ", TypeText(ref)));
  }
  Difference difference;
  difference.elements = outs.count();
  // Scaled by the largest magnitude, so that squares neither overflow nor vanish.
  double largest = 0, errors = 0, norms = 0;
  ForPairs(outs, refs, [&](size_t i, double a, double b) {
    const double distance = Distance(out, ref, i, a, b);
    difference.max_abs_error = std::max(difference.max_abs_error, distance);
    if (std::isnan(a) && !std::isnan(b)) ++difference.nan;
    if (distance > 0 && (std::isinf(distance) || !(distance <= tolerance.atol + tolerance.rtol * std::abs(b)))) {
      ++difference.outside;  // a bound that is infinite, for an infinite reference, allows nothing else
    }
    if (std::isfinite(b)) largest = std::max(largest, std::abs(b));
  });
  if (difference.max_abs_error == 0) return difference;
  if (!std::isfinite(difference.max_abs_error)) {
    difference.relative_error = std::numeric_limits<double>::infinity();
    return difference;
  }
  const double scale = std::max(largest, difference.max_abs_error);
  ForPairs(outs, refs, [&](size_t i, double a, double b) {
    const double distance = Distance(out, ref, i, a, b) / scale;
    errors += distance * distance;
    if (std::isfinite(b)) norms += (b / scale) * (b / scale);
  });
  difference.relative_error = norms > 0 ? std::sqrt(errors / norms) : std::sqrt(errors) * scale;
  return difference;
}

}  // namespace

Result<Difference> Compare(const Value& out, const Value& ref, const ElementTolerance& tolerance) {
  if (out.none && ref.none) return Difference();
  if (out.sequence == nullptr && ref.sequence == nullptr) return CompareTensors(out, ref, tolerance);
  if (out.sequence == nullptr || ref.sequence == nullptr || out.sequence->size() != ref.sequence->size()) {
    return Status(Code::kMismatch, StrCat("is ", TypeText(out), "; expected ", TypeText(ref)));
  }
  Difference whole;
  for (size_t i = 0; i < ref.sequence->size(); ++i) {
    const Result<Difference> entry = Compare((*out.sequence)[i], (*ref.sequence)[i], tolerance);
    if (!entry.ok()) return entry.status().WithContext(StrCat("entry ", i));
    whole.relative_error = std::max(whole.relative_error, entry->relative_error);
    whole.max_abs_error = std::max(whole.max_abs_error, entry->max_abs_error);
    whole.outside += entry->outside;
    whole.elements += entry->elements;
    whole.nan += entry->nan;
  }
  return whole;
}

namespace {

template <typename IsBad>
bool HasAny(const TensorView& view, const IsBad& is_bad) {
  if (!IsFloat(view.dtype) || view.elements() == 0) return false;
  if (view.dtype == DType::kF32) {
    const auto* begin = view.as<float>();
    return std::any_of(begin, begin + view.elements(), is_bad);
  }
  Value value;
  value.view = view;
  Result<NumberBlocks> blocks = NumberBlocks::Of(value);
  for (int64_t first = 0; blocks.ok() && first < blocks->count(); first += NumberBlocks::kSize) {
    const int64_t n = std::min(NumberBlocks::kSize, blocks->count() - first);
    const double* numbers = blocks->At(first, n);
    if (std::any_of(numbers, numbers + n, is_bad)) return true;
  }
  return false;
}

}  // namespace

bool HasNaN(const TensorView& view) {
  return HasAny(view, [](auto v) { return std::isnan(v); });
}

bool AllFinite(const TensorView& view) {
  return !HasAny(view, [](auto v) { return !std::isfinite(v); });
}

TensorId FirstWithNaN(const Graph& graph, TensorStore& store) {
  for (uint32_t t = 0; t < graph.tensors.size(); ++t) {
    if (graph.tensors[t].role == TensorRole::kActivation) continue;
    const Result<Value> value = store.Get(TensorId(t));
    if (value.ok() && value->view.present() && HasNaN(value->view)) return TensorId(t);
  }
  return {};
}

double DefaultTolerance(const Graph& graph) {
  bool single = false, half = false;
  for (const Tensor& tensor : graph.tensors) {
    single = single || tensor.type.dtype == DType::kF32;
    half = half || (IsFloat(tensor.type.dtype) && DTypeBits(tensor.type.dtype) <= 16);
  }
  return half ? 2e-2 : single ? 1e-4 : 1e-10;
}

}  // namespace sbp
