#include "verify/sample_data.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>

#include "base/dtype.h"
#include "graph/tensor_type.h"
#include "kernel/view.h"
#include "runtime/data/box.h"
#include "runtime/data/reduce.h"
#include "runtime/run/compare.h"
#include "runtime/run/tensor_store.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

constexpr int kGuard = 1;  // a byte that is a value of every type

double Uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

// A tensor of these numbers; complex ones as pairs.
Result<Value> FromNumbers(DType dtype, const Shape& shape, const std::vector<double>& numbers) {
  Shape wide_shape = shape;
  if (IsComplex(dtype)) wide_shape.push_back(2);
  const DType real = dtype == DType::kC64 ? DType::kF32 : dtype == DType::kC128 ? DType::kF64 : dtype;
  SBP_ASSIGN_OR_RETURN(Value wide, MakeTensor(DType::kF64, wide_shape));
  if (!numbers.empty()) std::memcpy(wide.view.data, numbers.data(), numbers.size() * sizeof(double));
  SBP_ASSIGN_OR_RETURN(Value value, CastTo(wide, real));
  value.view = WholeView(dtype, shape, value.view.data);
  return value;
}

bool IsUnsigned(DType dtype) { return IsInteger(dtype) && !IsSigned(dtype); }

// The values that an operand may have.
std::pair<double, double> DomainOf(const InstanceOperand& operand) {
  const std::vector<double>& given =
      operand.value != nullptr && IsFloat(operand.type.dtype) ? operand.value->floats : operand.data;
  if (!given.empty()) {
    const auto [low, high] = std::minmax_element(given.begin(), given.end());
    return {*low, *high};
  }
  if (operand.bound > 0) return {0, static_cast<double>(operand.bound - 1)};
  if (IsInteger(operand.type.dtype)) return IsUnsigned(operand.type.dtype) ? std::pair(0.0, 8.0) : std::pair(-4.0, 4.0);
  return {operand.low, operand.high};
}

// How one number is divided among `n` ranks.
class Divider {
 public:
  Divider(DType dtype, const InstanceOperand& operand, std::mt19937_64& random)
      : dtype_(dtype), domain_(DomainOf(operand)), random_(random) {}

  std::vector<double> Divide(double v, ReduceKind kind, int64_t n) {
    const bool real = IsFloat(dtype_) || IsComplex(dtype_);
    std::vector<double> parts(static_cast<size_t>(n), v);
    const auto owner = random_() % static_cast<size_t>(n);
    double rest = v;
    for (size_t p = 0; p < parts.size(); ++p) {
      const bool last = p + 1 == parts.size();
      if (dtype_ == DType::kBool) {
        parts[p] = OfBool(v, kind == ReduceKind::kMax || kind == ReduceKind::kSum, p == owner);
      } else if (kind == ReduceKind::kSum) {
        parts[p] = last ? rest : Addend(rest, real);
        rest -= parts[p];
      } else if (kind == ReduceKind::kProd) {
        parts[p] = last ? rest : real ? 0.5 + Uniform(random_) : random_() % 2 == 0 || IsUnsigned(dtype_) ? 1 : -1;
        rest /= parts[p];
      } else if (p != owner) {
        const bool max = kind == ReduceKind::kMax;
        const double worst = max ? std::min(v, domain_.first) : std::max(v, domain_.second);
        const double share = Uniform(random_);
        const bool between = std::isfinite(v) && std::isfinite(worst);
        parts[p] = between ? v + (worst - v) * share : share < 0.5 ? worst : v;
        if (!real) parts[p] = max ? std::floor(parts[p]) : std::ceil(parts[p]);
      }
    }
    return parts;
  }

 private:
  double Addend(double rest, bool real) {
    if (real) return 4 * Uniform(random_) - 2;
    if (IsUnsigned(dtype_)) return static_cast<double>(random_() % (static_cast<uint64_t>(rest) + 1));
    return static_cast<double>(random_() % 5) - 2;
  }
  double OfBool(double v, bool is_or, bool owner) {
    const auto any = static_cast<double>(random_() % 2);
    if (owner) return v;
    return is_or ? (v != 0 ? any : 0) : (v != 0 ? 1 : any);
  }

  DType dtype_;
  std::pair<double, double> domain_;
  std::mt19937_64& random_;
};

// Whole tensors that combine to `whole`.
Result<std::vector<Value>> Divide(const Value& whole, const InstanceOperand& operand, ReduceKind kind, int64_t n,
                                  std::mt19937_64& random) {
  SBP_RETURN_IF_ERROR(CanReduce(whole.view.dtype, kind));
  SBP_ASSIGN_OR_RETURN(const std::vector<double> numbers, NumbersOf(whole));
  std::vector<std::vector<double>> parts(static_cast<size_t>(n), numbers);
  Divider divider(whole.view.dtype, operand, random);
  for (size_t i = 0; i < numbers.size(); ++i) {
    const std::vector<double> divided = divider.Divide(numbers[i], kind, n);
    for (size_t p = 0; p < parts.size(); ++p) parts[p][i] = divided[p];
  }
  std::vector<Value> values;
  for (const std::vector<double>& part : parts) {
    SBP_ASSIGN_OR_RETURN(Value value, FromNumbers(whole.view.dtype, whole.view.shape, part));
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace

Result<Value> MakeOperand(const InstanceOperand& operand, std::mt19937_64& random) {
  if (operand.value != nullptr) return MakeTensor(*operand.value);
  if (operand.type.dtype == DType::kString) return RunFailed("tensors of strings are not executed");
  if (!operand.data.empty()) return FromNumbers(operand.type.dtype, operand.type.shape, operand.data);
  std::vector<double> numbers(
      static_cast<size_t>(operand.type.num_elements() * (IsComplex(operand.type.dtype) ? 2 : 1)));
  for (double& v : numbers) {
    if (operand.bound > 0) {
      v = static_cast<double>(random() % static_cast<uint64_t>(operand.bound));
    } else if (operand.type.dtype == DType::kBool) {
      v = static_cast<double>(random() % 2);
    } else if (IsInteger(operand.type.dtype)) {
      v = static_cast<double>(random() % 9) + DomainOf(operand).first;
    } else {
      v = operand.low + (operand.high - operand.low) * Uniform(random);
    }
  }
  return FromNumbers(operand.type.dtype, operand.type.shape, numbers);
}

Result<std::vector<Value>> MakeParts(const Value& whole, const InstanceOperand& operand, const NdSbp& layout,
                                     const Mesh& mesh, const HaloWidths& halo, std::mt19937_64& random) {
  // One whole tensor per point of the partial axes; all other axes cut or copy it.
  std::map<std::vector<int64_t>, size_t> points;
  std::vector<size_t> point_of;
  ReduceKind kind = ReduceKind::kSum;
  for (int64_t device = 0; device < mesh.num_devices(); ++device) {
    std::vector<int64_t> key;
    const std::vector<int64_t> coordinates = mesh.Coordinates(device);
    for (int axis = 0; axis < layout.size(); ++axis) {
      if (!layout[axis].is_partial()) continue;
      key.push_back(coordinates[axis]);
      kind = layout[axis].reduce_kind();
    }
    point_of.push_back(points.emplace(std::move(key), points.size()).first->second);
  }
  std::vector<Value> wholes{whole};
  if (layout.has_partial()) {
    SBP_ASSIGN_OR_RETURN(wholes, Divide(whole, operand, kind, static_cast<int64_t>(points.size()), random));
  }
  std::vector<Value> parts;
  for (int64_t device = 0; device < mesh.num_devices(); ++device) {
    const TensorView& source = wholes[point_of[device]].view;
    const std::vector<Range> box =
        Reached(LocalSlice(source.whole, layout, mesh, mesh.Coordinates(device)), halo, source.whole);
    Shape shape;
    for (const Range& range : box) shape.push_back(range.size());
    SBP_ASSIGN_OR_RETURN(Value part, MakeGuarded(source.dtype, std::move(shape), source.bytes()));
    part.view.whole = source.whole;
    part.view.ranges = box;
    CopyBox(source.dtype, box, source.data, source.ranges, part.view.data, box);
    parts.push_back(std::move(part));
  }
  return parts;
}

namespace {

int64_t Aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

Result<Value> MakeGuarded(DType dtype, Shape shape, int64_t whole_bytes) {
  const TensorType type{dtype, std::move(shape)};
  const int64_t guard = Aligned(whole_bytes + 64), inner = Aligned(type.num_bytes());
  Value value;
  value.memory = AllocateBytes(2 * guard + inner);
  if (value.memory == nullptr) return RunFailed("out of memory");
  std::memset(value.memory.get(), kGuard, static_cast<size_t>(2 * guard + inner));
  std::memset(value.memory.get() + guard, 0, static_cast<size_t>(type.num_bytes()));
  value.view = WholeView(dtype, type.shape, value.memory.get() + guard);
  return value;
}

bool GuardsIntact(const Value& value) {
  const std::byte* begin = value.memory.get();
  const int64_t guard = value.view.data - begin;
  const auto is_guard = [](std::byte b) { return b == std::byte{kGuard}; };
  return std::all_of(begin, begin + guard, is_guard) &&
         std::all_of(value.view.data + Aligned(value.view.bytes()),
                     value.view.data + Aligned(value.view.bytes()) + guard, is_guard);
}

}  // namespace sbp
