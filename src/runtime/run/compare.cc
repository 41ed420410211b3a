#include "runtime/run/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/text.h"
#include "graph/tensor_type.h"
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

}  // namespace

Result<std::vector<double>> NumbersOf(const Value& value) {
  Value real = value;
  if (IsComplex(value.view.dtype)) {
    Shape shape = value.view.shape;
    shape.push_back(2);
    real.view = WholeView(value.view.dtype == DType::kC64 ? DType::kF32 : DType::kF64, shape, value.view.data);
  }
  SBP_ASSIGN_OR_RETURN(const Value wide, CastTo(real, DType::kF64));
  const auto* numbers = wide.view.as<double>();
  return std::vector<double>(numbers, numbers + wide.view.elements());
}

namespace {

Result<Difference> CompareTensors(const Value& out, const Value& ref, const ElementTolerance& tolerance) {
  if (out.view.shape != ref.view.shape || !out.view.present() || !ref.view.present()) {
    return Status(Code::kMismatch, StrCat("is ", TypeText(out), "; expected ", TypeText(ref)));
  }
  SBP_ASSIGN_OR_RETURN(const std::vector<double> a, NumbersOf(out));
  SBP_ASSIGN_OR_RETURN(const std::vector<double> b, NumbersOf(ref));
  Difference difference;
  difference.elements = static_cast<int64_t>(a.size());
  // Scaled by the largest magnitude, so that squares neither overflow nor vanish.
  double largest = 0, errors = 0, norms = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double distance = Distance(out, ref, i, a[i], b[i]);
    difference.max_abs_error = std::max(difference.max_abs_error, distance);
    if (std::isnan(a[i]) && !std::isnan(b[i])) ++difference.nan;
    if (distance > 0 && (std::isinf(distance) || !(distance <= tolerance.atol + tolerance.rtol * std::abs(b[i])))) {
      ++difference.outside;  // a bound that is infinite, for an infinite reference, allows nothing else
    }
    if (std::isfinite(b[i])) largest = std::max(largest, std::abs(b[i]));
  }
  if (difference.max_abs_error == 0) return difference;
  if (!std::isfinite(difference.max_abs_error)) {
    difference.relative_error = std::numeric_limits<double>::infinity();
    return difference;
  }
  const double scale = std::max(largest, difference.max_abs_error);
  for (size_t i = 0; i < a.size(); ++i) {
    const double distance = Distance(out, ref, i, a[i], b[i]) / scale;
    errors += distance * distance;
    if (std::isfinite(b[i])) norms += (b[i] / scale) * (b[i] / scale);
  }
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

bool HasNaN(const TensorView& view) {
  if (!IsFloat(view.dtype) || view.elements() == 0) return false;
  if (view.dtype == DType::kF32) {
    const auto* begin = view.as<float>();
    return std::any_of(begin, begin + view.elements(), [](float v) { return std::isnan(v); });
  }
  Value value;
  value.view = view;
  const auto numbers = NumbersOf(value);
  return numbers.ok() && std::any_of(numbers->begin(), numbers->end(), [](double v) { return std::isnan(v); });
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
