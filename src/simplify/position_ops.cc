#include "simplify/position_ops.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include "base/dtype.h"
#include "base/ids.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "sbp/shard_math.h"

namespace sbp::simplify {
namespace {

constexpr size_t kAll = std::numeric_limits<size_t>::max();

using Arguments = std::span<const double>;

bool AreThere(const PositionCall& call, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (call.operand(i) == nullptr) return false;
  }
  return call.operands.size() >= count;
}

// By element, of exactly so many operands.
template <size_t count, double (*function)(Arguments)>
MaybePlaces ByNumber(const PositionCall& call) {
  if (!AreThere(call, count) || call.operands.size() != count) return std::nullopt;
  return Map(call.operands, call.type(), function);
}

double Both(Arguments x) { return x[0] != 0 && x[1] != 0; }
double Either(Arguments x) { return x[0] != 0 || x[1] != 0; }
double OneOnly(Arguments x) { return (x[0] != 0) != (x[1] != 0); }
double Negated(Arguments x) { return x[0] == 0; }
double Chosen(Arguments x) { return x[0] != 0 ? x[1] : x[2]; }
double Magnitude(Arguments x) { return std::fabs(x[0]); }
double Floored(Arguments x) { return std::floor(x[0]); }
double Least(Arguments x) { return std::ranges::min(x); }
double Greatest(Arguments x) { return std::ranges::max(x); }
double Same(Arguments x) { return x[0]; }
double Truncated(Arguments x) { return std::trunc(x[0]); }

template <double (*function)(Arguments)>
MaybePlaces OfAny(const PositionCall& call) {
  if (call.operands.empty() || !AreThere(call, call.operands.size())) return std::nullopt;
  return Map(call.operands, call.type(), function);
}

// Sums by factors.
template <int... factors>
MaybePlaces BySum(const PositionCall& call) {
  constexpr double kFactors[] = {factors...};
  if (call.operands.size() != std::size(kFactors) || !AreThere(call, std::size(kFactors))) return std::nullopt;
  return Combine(call.operands, kFactors, call.type());
}

template <Order order>
MaybePlaces ByOrder(const PositionCall& call) {
  if (call.operands.size() != 2 || !AreThere(call, 2)) return std::nullopt;
  return Compare(*call.operand(0), order, *call.operand(1), call.type());
}

MaybePlaces Multiplied(const PositionCall& call) {
  if (call.operands.size() != 2 || !AreThere(call, 2)) return std::nullopt;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const std::optional<double> factor = call.operand(side)->constant();
    const PlaceValue* other[] = {call.operand(1 - side)};
    if (factor) return Combine(other, {&*factor, 1}, call.type());
  }
  return Map(call.operands, call.type(), [](Arguments x) { return x[0] * x[1]; });
}

MaybePlaces Divided(const PositionCall& call) {
  if (call.operands.size() != 2 || !AreThere(call, 2)) return std::nullopt;
  const bool whole = IsInteger(call.type().dtype);
  return Map(call.operands, call.type(), [whole](Arguments x) {
    return whole && x[1] != 0 ? std::trunc(x[0] / x[1]) : x[0] / x[1];  // by 0: of integers no number
  });
}

MaybePlaces Casted(const PositionCall& call) {
  if (!AreThere(call, 1)) return std::nullopt;
  if (!IsFloat(call.operand(0)->dtype) || IsFloat(call.type().dtype)) return BySum<1>(call);
  if (call.type().dtype == DType::kBool) return ByNumber<1, Same>(call);
  return ByNumber<1, Truncated>(call);
}

// Start, end, step.
MaybePlaces Counted(const PositionCall& call) {
  if (!AreThere(call, 3)) return std::nullopt;
  const std::optional<double> start = call.operand(0)->constant(), step = call.operand(2)->constant();
  const Shape& shape = call.type().shape;
  if (!start || !step || shape.size() != 1 || shape[0] > kMostPlaces) return std::nullopt;
  // Of fractions runtimes differ in how they round.
  if (*start != std::trunc(*start) || *step != std::trunc(*step)) return std::nullopt;
  Numbers numbers;
  for (int64_t i = 0; i < shape[0]; ++i) numbers.push_back(*start + static_cast<double>(i) * *step);
  return AlongDim(std::move(numbers), 0, shape, call.type().dtype);
}

MaybePlaces Filled(const PositionCall& call) {
  const AttributeValue* value = call.op.attributes->Find("value");
  if (value == nullptr) return FilledWith(0, call.type().shape, call.type().dtype);
  const auto* literal = std::get_if<LiteralRef>(value);
  const MaybePlaces number = literal == nullptr ? std::nullopt : PlacesOf(**literal);
  if (!number || !number->constant()) return std::nullopt;
  return FilledWith(*number->constant(), call.type().shape, call.type().dtype);
}

MaybePlaces InShape(const PositionCall& call) {
  return AreThere(call, 1) ? Reshaped(*call.operand(0), call.type().shape) : std::nullopt;
}
MaybePlaces Broadcast(const PositionCall& call) {
  return AreThere(call, 1) ? Expanded(*call.operand(0), call.type().shape) : std::nullopt;
}
MaybePlaces Permuted(const PositionCall& call) {
  if (!AreThere(call, 1)) return std::nullopt;
  const auto rank = static_cast<int64_t>(call.type().shape.size());
  std::vector<int64_t> perm;
  if (const std::vector<int64_t>* given = call.op.attributes->Ints("perm")) {
    perm = *given;
  } else {
    for (int64_t d = rank; d-- > 0;) perm.push_back(d);
  }
  return static_cast<int64_t>(perm.size()) == rank ? Transposed(*call.operand(0), perm) : std::nullopt;
}

const std::vector<int64_t>* IntsOf(const PositionCall& call, size_t operand) {
  if (operand >= call.op.inputs.size() || !call.op.inputs[operand].valid()) return nullptr;
  const Tensor& tensor = call.graph.tensor(call.op.inputs[operand]);
  if (tensor.role != TensorRole::kParameter || tensor.literal == nullptr || !tensor.literal->is_integral())
    return nullptr;
  return &tensor.literal->ints;
}
bool IsGiven(const PositionCall& call, size_t operand) {
  return operand < call.op.inputs.size() && call.op.inputs[operand].valid();
}
std::optional<size_t> DimOf(int64_t axis, size_t rank) {
  const auto size = static_cast<int64_t>(rank);
  if (axis < -size || axis >= size) return std::nullopt;
  return static_cast<size_t>(axis < 0 ? axis + size : axis);
}

MaybePlaces SlicedPlaces(const PositionCall& call) {
  const std::vector<int64_t>*starts = IntsOf(call, 1), *axes = IntsOf(call, 3), *steps = IntsOf(call, 4);
  if (!AreThere(call, 1) || starts == nullptr) return std::nullopt;
  if ((IsGiven(call, 3) && axes == nullptr) || (IsGiven(call, 4) && steps == nullptr)) return std::nullopt;
  if ((axes != nullptr && axes->size() != starts->size()) || (steps != nullptr && steps->size() != starts->size()))
    return std::nullopt;
  MaybePlaces value = *call.operand(0);
  for (size_t i = 0; i < starts->size() && value; ++i) {
    const std::optional<size_t> dim =
        DimOf(axes == nullptr ? static_cast<int64_t>(i) : (*axes)[i], value->shape.size());
    if (!dim) return std::nullopt;
    const int64_t size = value->shape[*dim], step = steps == nullptr ? 1 : (*steps)[i];
    const int64_t start = (*starts)[i] < 0 ? (*starts)[i] + size : (*starts)[i];
    const int64_t last = step > 0 ? size : size - 1;
    value = Sliced(*value, *dim, std::clamp<int64_t>(start, 0, last), call.type().shape[*dim], step);
  }
  return value;
}

MaybePlaces CutApart(const PositionCall& call) {
  if (!AreThere(call, 1)) return std::nullopt;
  const PlaceValue& value = *call.operand(0);
  const std::optional<size_t> dim = DimOf(call.op.attributes->Int("axis", 0), value.shape.size());
  if (!dim) return std::nullopt;
  int64_t start = 0;
  for (size_t r = 0; r < call.result; ++r) {
    if (!call.op.outputs[r].valid()) return std::nullopt;
    start += call.graph.tensor(call.op.outputs[r]).type.shape[*dim];
  }
  return Sliced(value, *dim, start, call.type().shape[*dim], 1);
}

// What varies along one dimension, as numbers along it; nothing where it varies along another.
std::optional<Numbers> NumbersAlong(const PlaceValue& value, size_t dim) {
  const PlaceSum* sum = value.sum();
  if (sum == nullptr || value.shape[dim] > kMostPlaces) return std::nullopt;
  if (sum->terms.size() > 1 || (sum->terms.size() == 1 && !sum->terms.contains(dim))) return std::nullopt;
  Numbers numbers(static_cast<size_t>(value.shape[dim]), sum->base);
  if (sum->terms.empty()) return numbers;
  const Numbers& term = sum->terms.at(dim);
  for (size_t i = 0; i < term.size(); ++i) numbers[i] += term[i];
  return numbers;
}

MaybePlaces Joined(const PositionCall& call) {
  if (call.operands.empty() || !AreThere(call, call.operands.size())) return std::nullopt;
  const TensorType& type = call.type();
  const std::optional<size_t> axis = DimOf(call.op.attributes->Int("axis", 0), type.shape.size());
  if (!axis || type.shape[*axis] > kMostPlaces) return std::nullopt;
  if (call.operands.size() == 1) return *call.operand(0);
  Numbers joined;
  for (const PlaceValue* operand : call.operands) {
    const std::optional<Numbers> numbers = NumbersAlong(*operand, *axis);
    if (!numbers) break;
    joined.insert(joined.end(), numbers->begin(), numbers->end());
  }
  if (static_cast<int64_t>(joined.size()) == type.shape[*axis])
    return AlongDim(std::move(joined), *axis, type.shape, type.dtype);
  PlaceStack stack{*axis, {}};
  for (const PlaceValue* operand : call.operands) {
    if (operand->shape[*axis] != 1 || operand->sum() == nullptr) return std::nullopt;
    stack.parts.push_back(*operand->sum());
  }
  return PlaceValue{type.shape, type.dtype, std::move(stack)};
}

MaybePlaces RunningSum(const PositionCall& call) {
  if (!AreThere(call, 2) || !call.operand(1)->constant()) return std::nullopt;
  const PlaceValue& value = *call.operand(0);
  const std::optional<size_t> axis = DimOf(static_cast<int64_t>(*call.operand(1)->constant()), value.shape.size());
  std::optional<Numbers> numbers = axis ? NumbersAlong(value, *axis) : std::nullopt;
  if (!numbers) return std::nullopt;
  // The order in which fractions are added is each runtime's own.
  if (std::ranges::any_of(*numbers, [](double number) { return number != std::trunc(number); })) return std::nullopt;
  const bool backwards = call.op.attributes->Int("reverse", 0) != 0;
  const bool without = call.op.attributes->Int("exclusive", 0) != 0;
  if (backwards) std::ranges::reverse(*numbers);
  double total = 0;
  for (double& number : *numbers) {
    const double before = total;
    total += number;
    if (Rounded(total, value.dtype) != total) return std::nullopt;
    number = without ? before : total;
  }
  if (backwards) std::ranges::reverse(*numbers);
  return AlongDim(*std::move(numbers), *axis, call.type().shape, call.type().dtype);
}

// The numbers of a table at the places that `index` names, which varies along one dimension at most; with that
// dimension. Nothing: it varies otherwise, or names a place that is not there.
struct LookedUp {
  std::optional<size_t> dim;  // of the index
  Numbers numbers;
};
std::optional<LookedUp> LookUp(const Numbers& table, const PlaceSum& index) {
  if (index.terms.size() > 1) return std::nullopt;
  LookedUp result;
  Numbers places = {index.base};
  if (!index.terms.empty()) {
    result.dim = index.terms.begin()->first;
    places = index.terms.begin()->second;
    for (double& place : places) place += index.base;
  }
  const auto size = static_cast<double>(table.size());
  for (const double place : places) {
    const double at = place < 0 ? place + size : place;
    if (at < 0 || at >= size) return std::nullopt;
    result.numbers.push_back(table[static_cast<size_t>(at)]);
  }
  return result;
}

// A sum with numbers that were looked up along a dimension; terms of one number each go into the base.
PlaceSum WithLookedUp(PlaceSum sum, const LookedUp& found, size_t dim) {
  if (!found.dim) {
    sum.base += found.numbers[0];
    return sum;
  }
  Numbers& along = sum.terms.try_emplace(dim, Numbers(found.numbers.size())).first->second;
  for (size_t i = 0; i < found.numbers.size(); ++i) along[i] += found.numbers[i];
  return sum;
}

// Terms of which all numbers are the same are none; what has one term has its base in it.
MaybePlaces Normal(PlaceSum sum, const TensorType& type) {
  for (auto at = sum.terms.begin(); at != sum.terms.end();) {
    const double first = at->second[0];
    if (std::ranges::any_of(at->second, [first](double number) { return number != first; })) {
      ++at;
    } else {
      sum.base += first;
      at = sum.terms.erase(at);
    }
  }
  if (sum.terms.empty()) return FilledWith(sum.base, type.shape, type.dtype);
  if (sum.terms.size() == 1) {
    const auto& [dim, term] = *sum.terms.begin();
    Numbers numbers = term;
    for (double& number : numbers) number += sum.base;
    return AlongDim(std::move(numbers), dim, type.shape, type.dtype);
  }
  return PlaceValue{type.shape, type.dtype, std::move(sum)};
}

MaybePlaces Gathered(const PositionCall& call) {
  if (!AreThere(call, 2) || call.operand(0)->sum() == nullptr || call.operand(1)->sum() == nullptr) return std::nullopt;
  const PlaceValue &data = *call.operand(0), &index = *call.operand(1);
  const std::optional<size_t> axis = DimOf(call.op.attributes->Int("axis", 0), data.shape.size());
  if (!axis) return std::nullopt;
  PlaceSum gathered{data.sum()->base, {}};
  for (const auto& [dim, term] : data.sum()->terms) {
    if (dim != *axis) {
      gathered.terms.emplace(dim < *axis ? dim : dim + index.shape.size() - 1, term);
      continue;
    }
    const std::optional<LookedUp> found = LookUp(term, *index.sum());
    if (!found) return std::nullopt;
    gathered = WithLookedUp(std::move(gathered), *found, *axis + found->dim.value_or(0));
  }
  return Normal(std::move(gathered), call.type());
}

// The part of an index that counts along one of the dimensions that it names.
const PlaceSum* PartOf(const PlaceValue& index, size_t part) {
  if (const auto* stack = std::get_if<PlaceStack>(&index.form))
    return stack->axis + 1 == index.shape.size() && part < stack->parts.size() ? &stack->parts[part] : nullptr;
  return index.shape.back() == 1 ? index.sum() : nullptr;
}

MaybePlaces GatheredByParts(const PositionCall& call) {
  if (!AreThere(call, 2) || call.operand(0)->sum() == nullptr || call.operand(1)->shape.empty()) return std::nullopt;
  const PlaceValue &data = *call.operand(0), &index = *call.operand(1);
  const auto batch = static_cast<size_t>(call.op.attributes->Int("batch_dims", 0));
  const auto named = static_cast<size_t>(index.shape.back());
  PlaceSum gathered{data.sum()->base, {}};
  for (const auto& [dim, term] : data.sum()->terms) {
    if (dim < batch || dim >= batch + named) {
      const size_t to = dim < batch ? dim : index.shape.size() - 1 + dim - batch - named;
      gathered = WithLookedUp(std::move(gathered), {to, term}, to);
      continue;
    }
    const PlaceSum* part = PartOf(index, dim - batch);
    const std::optional<LookedUp> found = part == nullptr ? std::nullopt : LookUp(term, *part);
    if (!found) return std::nullopt;
    gathered = WithLookedUp(std::move(gathered), *found, found->dim.value_or(0));
  }
  return Normal(std::move(gathered), call.type());
}

// A triangle of the last two dimensions, the rest 0.
MaybePlaces Triangle(const PositionCall& call) {
  if (!AreThere(call, 1) || (call.operands.size() > 1 && call.operand(1) == nullptr)) return std::nullopt;
  const std::optional<double> shift = call.operands.size() > 1 ? call.operand(1)->constant() : 0;
  const Shape& shape = call.type().shape;
  if (!shift || shape.size() < 2 || std::max(shape.back(), shape[shape.size() - 2]) > kMostPlaces) return std::nullopt;
  const auto places = [&](size_t dim) {
    Numbers numbers;
    for (int64_t i = 0; i < shape[dim]; ++i) numbers.push_back(static_cast<double>(i));
    return AlongDim(std::move(numbers), dim, shape, DType::kI64);
  };
  const MaybePlaces row = places(shape.size() - 2), column = places(shape.size() - 1);
  const MaybePlaces diagonal = FilledWith(*shift, shape, DType::kI64);
  if (!row || !column || !diagonal) return std::nullopt;
  const PlaceValue* sides[] = {&*row, &*diagonal};
  const double ones[] = {1, 1};
  const MaybePlaces bound = Combine(sides, ones, {DType::kI64, shape});
  const bool upper = call.op.attributes->Int("upper", 1) != 0;
  if (!bound) return std::nullopt;
  const MaybePlaces kept =
      Compare(*column, upper ? Order::kGreaterOrEqual : Order::kLessOrEqual, *bound, {DType::kBool, shape});
  if (!kept) return std::nullopt;
  const PlaceValue* operands[] = {&*kept, call.operand(0)};
  return Map(operands, call.type(), [](Arguments x) { return x[0] != 0 ? x[1] : 0; });
}

constexpr PositionRow kRows[] = {
    {"Abs", kAll, ByNumber<1, Magnitude>},
    {"Add", kAll, BySum<1, 1>},
    {"And", kAll, ByNumber<2, Both>},
    {"Cast", 1, Casted},
    {"Concat", kAll, Joined},
    {"ConstantOfShape", 0, Filled},
    {"CumSum", kAll, RunningSum},
    {"Div", kAll, Divided},
    {"Equal", kAll, ByOrder<Order::kEqual>},
    {"Expand", 1, Broadcast},
    {"Flatten", 1, InShape},
    {"Floor", kAll, ByNumber<1, Floored>},
    {"Gather", kAll, Gathered},
    {"GatherND", kAll, GatheredByParts},
    {"Greater", kAll, ByOrder<Order::kGreater>},
    {"GreaterOrEqual", kAll, ByOrder<Order::kGreaterOrEqual>},
    {"Identity", 1, InShape},
    {"Less", kAll, ByOrder<Order::kLess>},
    {"LessOrEqual", kAll, ByOrder<Order::kLessOrEqual>},
    {"Max", kAll, OfAny<Greatest>},
    {"Min", kAll, OfAny<Least>},
    {"Mul", kAll, Multiplied},
    {"Neg", kAll, BySum<-1>},
    {"Not", kAll, ByNumber<1, Negated>},
    {"Or", kAll, ByNumber<2, Either>},
    {"Range", kAll, Counted},
    {"Reshape", 1, InShape},
    {"Slice", 1, SlicedPlaces},
    {"Split", 1, CutApart},
    {"Squeeze", 1, InShape},
    {"Sub", kAll, BySum<1, -1>},
    {"Transpose", 1, Permuted},
    {"Trilu", kAll, Triangle},
    {"Unsqueeze", 1, InShape},
    {"Where", kAll, ByNumber<3, Chosen>},
    {"Xor", kAll, ByNumber<2, OneOnly>},
};

}  // namespace

const PositionRow* FindPositionRow(std::string_view op) {
  const auto row = std::ranges::lower_bound(kRows, op, {}, &PositionRow::op);
  return row != std::end(kRows) && row->op == op ? row : nullptr;
}

}  // namespace sbp::simplify
