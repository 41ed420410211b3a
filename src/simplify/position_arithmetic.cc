// What ops by element make of tables and bands of positions.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "graph/tensor_type.h"
#include "sbp/shard_math.h"
#include "simplify/positions.h"

namespace sbp::simplify {
namespace {

// An operand broadcast to a result: its dimension d is the result's dimension d + more.
struct Aligned {
  const PlaceValue* value;
  size_t more;

  const Numbers* term(size_t dim) const {
    const PlaceSum* sum = value->sum();
    if (sum == nullptr || dim < more) return nullptr;
    const auto at = sum->terms.find(dim - more);
    return at == sum->terms.end() ? nullptr : &at->second;
  }
};

struct Operands {
  std::vector<Aligned> all;
  std::set<size_t> dims;  // along which sums vary
  bool has_bands = false, has_stacks = false;
};

std::optional<Operands> Align(std::span<const PlaceValue* const> operands, const Shape& shape) {
  Operands aligned;
  for (const PlaceValue* value : operands) {
    if (value->shape.size() > shape.size()) return std::nullopt;
    const size_t more = shape.size() - value->shape.size();
    for (size_t d = 0; d < value->shape.size(); ++d) {
      if (value->shape[d] != 1 && value->shape[d] != shape[d + more]) return std::nullopt;
    }
    aligned.all.push_back({value, more});
    if (const PlaceSum* sum = value->sum()) {
      for (const auto& [dim, term] : sum->terms) aligned.dims.insert(dim + more);
    } else {
      (value->band() != nullptr ? aligned.has_bands : aligned.has_stacks) = true;
    }
  }
  return aligned;
}

// Of operands that vary along one dimension at most.
MaybePlaces MapAlong(const Operands& operands, const TensorType& type, const ByElement& function) {
  Numbers elements(operands.all.size());
  const size_t dim = operands.dims.empty() ? 0 : *operands.dims.begin();
  const int64_t count = operands.dims.empty() ? 1 : type.shape[dim];
  Numbers results;
  for (int64_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < elements.size(); ++k) {
      const Numbers* term = operands.dims.empty() ? nullptr : operands.all[k].term(dim);
      elements[k] = operands.all[k].value->sum()->base + (term == nullptr ? 0 : (*term)[static_cast<size_t>(i)]);
    }
    results.push_back(function(elements));
  }
  if (operands.dims.empty()) return FilledWith(results[0], type.shape, type.dtype);
  return AlongDim(std::move(results), dim, type.shape, type.dtype);
}

// Of a row: where a number begins that goes on up to the next one.
struct Step {
  int64_t from;
  double number;
};
using Steps = std::vector<Step>;

// `inside` in each row, and where; nothing where it is not in one piece.
std::optional<PlaceBand> AsBand(const std::vector<Steps>& rows, int64_t columns, double inside, double outside) {
  PlaceBand band{0, 0, {}, {}, inside, outside};
  for (const Steps& steps : rows) {
    const auto at = std::ranges::find(steps, inside, &Step::number);
    const bool found = at != steps.end();
    const auto next = found ? std::next(at) : at;
    if (std::find_if(next, steps.end(), [&](const Step& step) { return step.number == inside; }) != steps.end())
      return std::nullopt;
    band.first.push_back(found ? at->from : 0);
    band.end.push_back(!found ? 0 : next == steps.end() ? columns : next->from);
  }
  return band;
}

// A row's elements, as far as bands and what varies from row to row decide them.
std::optional<Steps> MapRow(const Operands& operands, size_t row, int64_t r, int64_t columns, DType dtype,
                            const ByElement& function) {
  std::vector<int64_t> cuts = {0};
  const auto at = static_cast<size_t>(r);
  for (const Aligned& operand : operands.all) {
    if (const PlaceBand* band = operand.value->band()) cuts.insert(cuts.end(), {band->first[at], band->end[at]});
  }
  std::ranges::sort(cuts);
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  Steps steps;
  Numbers elements(operands.all.size());
  for (const int64_t cut : cuts) {
    if (cut >= columns) break;
    for (size_t k = 0; k < elements.size(); ++k) {
      const Aligned& operand = operands.all[k];
      if (const PlaceBand* band = operand.value->band()) {
        elements[k] = band->first[at] <= cut && cut < band->end[at] ? band->inside : band->outside;
      } else {
        const Numbers* term = operand.term(row);
        elements[k] = operand.value->sum()->base + (term == nullptr ? 0 : (*term)[at]);
      }
    }
    const std::optional<double> number = Rounded(function(elements), dtype);
    if (!number) return std::nullopt;
    if (steps.empty() || steps.back().number != *number) steps.push_back({cut, *number});
  }
  return steps;
}

// Of bands over the same rows and columns, and of what varies along the rows alone.
MaybePlaces MapBands(const Operands& operands, const TensorType& type, const ByElement& function) {
  std::optional<std::pair<size_t, size_t>> place;
  for (const Aligned& operand : operands.all) {
    const PlaceBand* band = operand.value->band();
    if (band == nullptr) continue;
    const std::pair<size_t, size_t> here = {band->row + operand.more, band->column + operand.more};
    if (place && *place != here) return std::nullopt;
    place = here;
  }
  const auto [row, column] = *place;
  if (std::ranges::any_of(operands.dims, [row = row](size_t dim) { return dim != row; })) return std::nullopt;
  std::vector<Steps> rows;
  std::set<double> numbers;
  for (int64_t r = 0; r < type.shape[row]; ++r) {
    std::optional<Steps> steps = MapRow(operands, row, r, type.shape[column], type.dtype, function);
    if (!steps) return std::nullopt;
    for (const Step& step : *steps) numbers.insert(step.number);
    if (numbers.size() > 2) return std::nullopt;
    rows.push_back(*std::move(steps));
  }
  if (numbers.size() == 1) return FilledWith(*numbers.begin(), type.shape, type.dtype);
  const double low = *numbers.begin(), high = *numbers.rbegin();
  std::optional<PlaceBand> band = AsBand(rows, type.shape[column], high, low);
  if (!band) band = AsBand(rows, type.shape[column], low, high);
  if (!band) return std::nullopt;
  band->row = row;
  band->column = column;
  return PlaceValue{type.shape, type.dtype, *std::move(band)};
}

// Part by part along the axis of the stacks.
MaybePlaces MapStacks(const Operands& operands, const TensorType& type, const ByElement& function) {
  std::optional<size_t> axis;
  for (const Aligned& operand : operands.all) {
    const auto* stack = std::get_if<PlaceStack>(&operand.value->form);
    if (stack == nullptr) continue;
    if (axis && *axis != stack->axis + operand.more) return std::nullopt;
    axis = stack->axis + operand.more;
  }
  TensorType thin = type;
  thin.shape[*axis] = 1;
  PlaceStack result{*axis, {}};
  for (int64_t i = 0; i < type.shape[*axis]; ++i) {
    std::vector<PlaceValue> parts;
    for (const Aligned& operand : operands.all) {
      const bool there = *axis >= operand.more && operand.value->shape[*axis - operand.more] != 1;
      const MaybePlaces part = there ? Sliced(*operand.value, *axis - operand.more, i, 1, 1) : *operand.value;
      if (!part || part->sum() == nullptr) return std::nullopt;
      parts.push_back(*part);
    }
    std::vector<const PlaceValue*> views;
    for (const PlaceValue& part : parts) views.push_back(&part);
    const MaybePlaces mapped = Map(views, thin, function);
    if (!mapped || mapped->sum() == nullptr) return std::nullopt;
    result.parts.push_back(*mapped->sum());
  }
  return PlaceValue{type.shape, type.dtype, std::move(result)};
}

// The greatest whole number up to which a type holds every one.
double LastWhole(DType type) {
  switch (type) {
    case DType::kBF16:
      return 256;
    case DType::kF16:
      return 2048;
    case DType::kF32:
      return 16777216;
    default:
      return 9007199254740992;
  }
}

bool IsWhole(const PlaceSum& sum) {
  const auto whole = [](double number) { return std::isfinite(number) && number == std::trunc(number); };
  return whole(sum.base) &&
         std::ranges::all_of(sum.terms, [&](const auto& entry) { return std::ranges::all_of(entry.second, whole); });
}

}  // namespace

MaybePlaces Map(std::span<const PlaceValue* const> operands, const TensorType& type, const ByElement& function) {
  const std::optional<Operands> aligned = Align(operands, type.shape);
  if (!aligned) return std::nullopt;
  if (aligned->has_stacks) return aligned->has_bands ? std::nullopt : MapStacks(*aligned, type, function);
  if (aligned->has_bands) return MapBands(*aligned, type, function);
  return aligned->dims.size() > 1 ? std::nullopt : MapAlong(*aligned, type, function);
}

MaybePlaces Combine(std::span<const PlaceValue* const> operands, std::span<const double> factors,
                    const TensorType& type) {
  const std::optional<Operands> aligned = Align(operands, type.shape);
  if (!aligned) return std::nullopt;
  if (aligned->dims.size() < 2 || aligned->has_bands || aligned->has_stacks) {
    return Map(operands, type, [&](std::span<const double> elements) {
      double total = 0;
      for (size_t k = 0; k < elements.size(); ++k) total += factors[k] * elements[k];
      return total;
    });
  }
  PlaceSum total;
  for (size_t k = 0; k < aligned->all.size(); ++k) {
    const PlaceSum& sum = *aligned->all[k].value->sum();
    if (!IsWhole(sum) || factors[k] != std::trunc(factors[k])) return std::nullopt;
    total.base += factors[k] * sum.base;
    for (const auto& [dim, term] : sum.terms) {
      Numbers& along = total.terms.try_emplace(dim + aligned->all[k].more, Numbers(term.size())).first->second;
      for (size_t i = 0; i < term.size(); ++i) along[i] += factors[k] * term[i];
    }
  }
  double least = total.base, greatest = total.base;
  for (const auto& [dim, term] : total.terms) {
    const auto [low, high] = std::ranges::minmax(term);
    least += low;
    greatest += high;
  }
  if (Rounded(least, type.dtype) != least || Rounded(greatest, type.dtype) != greatest) return std::nullopt;
  if (std::max(-least, greatest) > LastWhole(type.dtype)) return std::nullopt;
  return PlaceValue{type.shape, type.dtype, std::move(total)};
}

namespace {

bool Holds(double a, Order order, double b) {
  switch (order) {
    case Order::kLess:
      return a < b;
    case Order::kLessOrEqual:
      return a <= b;
    case Order::kEqual:
      return a == b;
    case Order::kGreaterOrEqual:
      return a >= b;
    default:
      return a > b;
  }
}

// The places of ascending numbers that stand in an order to `bound`.
std::pair<int64_t, int64_t> PlacesInOrder(const Numbers& ascending, Order order, double bound) {
  const auto count = static_cast<int64_t>(ascending.size());
  const int64_t low = std::ranges::lower_bound(ascending, bound) - ascending.begin();
  const int64_t high = std::ranges::upper_bound(ascending, bound) - ascending.begin();
  switch (order) {
    case Order::kLess:
      return {0, low};
    case Order::kLessOrEqual:
      return {0, high};
    case Order::kEqual:
      return {low, high};
    case Order::kGreaterOrEqual:
      return {low, count};
    default:
      return {high, count};
  }
}

// Both sides of a comparison as numbers that vary along the columns against numbers that vary along the rows.
struct Sides {
  Numbers columns, rows;
};
std::optional<Sides> Separate(const Aligned& a, const Aligned& b, size_t row, size_t column, const Shape& shape) {
  const bool apart = (a.term(row) == nullptr) != (b.term(row) == nullptr) &&
                     (a.term(column) == nullptr) != (b.term(column) == nullptr) &&
                     (a.term(row) == nullptr) != (a.term(column) == nullptr);
  const double base = b.value->sum()->base - a.value->sum()->base;
  // A subtraction of fractions would round; numbers on different sides are only negated.
  if (!(IsWhole(*a.value->sum()) && IsWhole(*b.value->sum())) && !(apart && base == 0)) return std::nullopt;
  const auto difference = [&](const Numbers* from, const Numbers* less, int64_t size) {
    Numbers numbers;
    for (int64_t i = 0; i < size; ++i) {
      const auto at = static_cast<size_t>(i);
      numbers.push_back((from == nullptr ? 0 : (*from)[at]) - (less == nullptr ? 0 : (*less)[at]));
    }
    return numbers;
  };
  Sides sides{difference(a.term(column), b.term(column), shape[column]),
              difference(b.term(row), a.term(row), shape[row])};
  for (double& number : sides.rows) number += base;
  return sides;
}

}  // namespace

MaybePlaces Compare(const PlaceValue& a, Order order, const PlaceValue& b, const TensorType& type) {
  const PlaceValue* both[] = {&a, &b};
  const std::optional<Operands> aligned = Align(both, type.shape);
  if (!aligned) return std::nullopt;
  if (aligned->dims.size() != 2 || aligned->has_bands || aligned->has_stacks)
    return Map(both, type, [order](std::span<const double> x) { return Holds(x[0], order, x[1]) ? 1.0 : 0.0; });
  const size_t row = *aligned->dims.begin(), column = *aligned->dims.rbegin();
  std::optional<Sides> sides = Separate(aligned->all[0], aligned->all[1], row, column, type.shape);
  if (!sides) return std::nullopt;
  const bool descends = sides->columns.front() > sides->columns.back();
  if (descends) std::ranges::reverse(sides->columns);
  if (!std::ranges::is_sorted(sides->columns)) return std::nullopt;
  PlaceBand band{row, column, {}, {}, 1, 0};
  const int64_t count = type.shape[column];
  int64_t seen = 0;
  for (const double bound : sides->rows) {
    auto [first, end] = PlacesInOrder(sides->columns, order, bound);
    if (descends) std::tie(first, end) = std::pair(count - end, count - first);
    if (first >= end) first = end = 0;
    seen += end - first;
    band.first.push_back(first);
    band.end.push_back(end);
  }
  if (seen == 0) return FilledWith(0, type.shape, type.dtype);
  if (seen == count * type.shape[row]) return FilledWith(1, type.shape, type.dtype);
  return PlaceValue{type.shape, type.dtype, std::move(band)};
}

}  // namespace sbp::simplify
