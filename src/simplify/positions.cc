#include "simplify/positions.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/minifloat.h"

namespace sbp::simplify {

std::optional<double> PlaceValue::constant() const {
  const PlaceSum* held = sum();
  return held != nullptr && held->terms.empty() ? std::optional(held->base) : std::nullopt;
}

std::optional<double> Rounded(double number, DType type) {
  constexpr double kWhole = 9007199254740992;  // 2^53: up to it a double holds every whole number
  if (std::isnan(number)) return std::nullopt;
  if (type == DType::kF64) return number;
  if (type == DType::kF32) return static_cast<double>(static_cast<float>(number));
  if (type == DType::kBool) return number != 0 ? 1 : 0;
  if (type == DType::kF16 || type == DType::kBF16) {
    const FloatLayout layout = *LayoutOf(type);
    return DecodeMinifloat(layout, EncodeMinifloat(layout, number, false));
  }
  if (!IsInteger(type) || IsStorageOnly(type) || number != std::trunc(number)) return std::nullopt;
  if (std::fabs(number) > kWhole || number < LowestNumber(type) || number > HighestNumber(type)) return std::nullopt;
  return number;
}

MaybePlaces FilledWith(double number, const Shape& shape, DType dtype) {
  const std::optional<double> rounded = Rounded(number, dtype);
  if (!rounded) return std::nullopt;
  return PlaceValue{shape, dtype, PlaceSum{*rounded, {}}};
}

MaybePlaces AlongDim(Numbers numbers, size_t dim, const Shape& shape, DType dtype) {
  for (double& number : numbers) {
    const std::optional<double> rounded = Rounded(number, dtype);
    if (!rounded) return std::nullopt;
    number = *rounded;
  }
  const bool same = std::ranges::all_of(numbers, [&](double number) { return number == numbers[0]; });
  if (same) return FilledWith(numbers[0], shape, dtype);
  PlaceSum sum;
  sum.terms.emplace(dim, std::move(numbers));
  return PlaceValue{shape, dtype, std::move(sum)};
}

namespace {

int64_t CountOf(const Shape& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

// How far apart neighbours along a dimension stand in a row-major list.
int64_t StrideOf(const Shape& shape, size_t dim) {
  int64_t stride = 1;
  for (size_t d = dim + 1; d < shape.size(); ++d) stride *= shape[d];
  return stride;
}

bool AreWhole(const Numbers& numbers) {
  return std::ranges::all_of(numbers, [](double n) { return std::isfinite(n) && n == std::trunc(n); });
}

// The dimensions along which some neighbours differ.
std::vector<size_t> VaryingDims(const Numbers& numbers, const Shape& shape) {
  std::vector<size_t> dims;
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto stride = static_cast<size_t>(StrideOf(shape, d));
    const auto size = static_cast<size_t>(shape[d]);
    for (size_t i = stride; i < numbers.size(); ++i) {
      if (i / stride % size == 0 || numbers[i] == numbers[i - stride]) continue;
      dims.push_back(d);
      break;
    }
  }
  return dims;
}

Numbers AlongAxis(const Numbers& numbers, const Shape& shape, size_t dim) {
  Numbers along;
  for (int64_t i = 0; i < shape[dim]; ++i) along.push_back(numbers[static_cast<size_t>(i * StrideOf(shape, dim))]);
  return along;
}

// As a sum of whole numbers, if it is one.
std::optional<PlaceSum> AsSum(const Numbers& numbers, const Shape& shape, const std::vector<size_t>& dims) {
  if (!AreWhole(numbers)) return std::nullopt;
  PlaceSum sum{numbers[0], {}};
  for (const size_t d : dims) {
    Numbers along = AlongAxis(numbers, shape, d);
    for (double& number : along) number -= numbers[0];
    sum.terms.emplace(d, std::move(along));
  }
  for (size_t i = 0; i < numbers.size(); ++i) {
    double number = sum.base;
    for (const auto& [d, term] : sum.terms)
      number += term[i / static_cast<size_t>(StrideOf(shape, d)) % static_cast<size_t>(shape[d])];
    if (number != numbers[i]) return std::nullopt;
  }
  return sum;
}

// The places of one value in a row; nothing where they are not side by side, or another value stands there, too.
struct Run {
  int64_t first = 0, end = 0;
};
std::optional<Run> RunOf(double inside, std::span<const double> row) {
  const auto first = std::ranges::find(row, inside);
  const auto end = std::find_if(first, row.end(), [&](double number) { return number != inside; });
  if (std::find(end, row.end(), inside) != row.end()) return std::nullopt;
  if (first == row.end()) return Run{};
  return Run{first - row.begin(), end - row.begin()};
}

std::optional<PlaceBand> AsBand(const Numbers& numbers, const Shape& shape, size_t row, size_t column) {
  Numbers values = numbers;
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.size() != 2) return std::nullopt;
  for (const size_t one : {size_t{1}, size_t{0}}) {
    PlaceBand band{row, column, {}, {}, values[one], values[1 - one]};
    for (int64_t r = 0; r < shape[row]; ++r) {
      Numbers in_row;
      for (int64_t c = 0; c < shape[column]; ++c)
        in_row.push_back(numbers[static_cast<size_t>(r * StrideOf(shape, row) + c * StrideOf(shape, column))]);
      const std::optional<Run> run = RunOf(band.inside, in_row);
      if (!run) break;
      band.first.push_back(run->first);
      band.end.push_back(run->end);
    }
    if (static_cast<int64_t>(band.first.size()) == shape[row]) return band;
  }
  return std::nullopt;
}

}  // namespace

MaybePlaces PlacesOf(const Literal& literal) {
  const TensorType& type = literal.type;
  if (type.kind != ValueKind::kTensor || !type.is_static() || type.num_elements() == 0) return std::nullopt;
  Numbers numbers = literal.floats;
  if (literal.is_integral()) numbers.assign(literal.ints.begin(), literal.ints.end());
  if (static_cast<int64_t>(numbers.size()) != type.num_elements()) return std::nullopt;
  for (double& number : numbers) {  // a text's decimals, such as 0.1, stand for the nearest number of the type
    const std::optional<double> rounded = Rounded(number, type.dtype);
    if (!rounded) return std::nullopt;
    number = *rounded;
  }
  const std::vector<size_t> dims = VaryingDims(numbers, type.shape);
  if (dims.empty()) return FilledWith(numbers[0], type.shape, type.dtype);
  if (dims.size() == 1) return AlongDim(AlongAxis(numbers, type.shape, dims[0]), dims[0], type.shape, type.dtype);
  if (std::optional<PlaceSum> sum = AsSum(numbers, type.shape, dims)) return PlaceValue{type.shape, type.dtype, *sum};
  if (dims.size() != 2) return std::nullopt;
  std::optional<PlaceBand> band = AsBand(numbers, type.shape, dims[0], dims[1]);
  if (!band) return std::nullopt;
  return PlaceValue{type.shape, type.dtype, *std::move(band)};
}

namespace {

// The dimension of `to` whose places are those of a dimension of `from`, both holding the same elements in order.
std::optional<size_t> SameDim(const Shape& from, size_t dim, const Shape& to) {
  const int64_t stride = StrideOf(from, dim);
  for (size_t d = 0; d < to.size(); ++d) {
    if (to[d] == from[dim] && StrideOf(to, d) == stride) return d;
  }
  return std::nullopt;
}

// Adds the term of a dimension of `from` to a sum over `to`: where the dimension is whole within another, its numbers
// are repeated along that.
bool AddReshaped(const Numbers& term, const Shape& from, size_t dim, const Shape& to, PlaceSum& sum) {
  const int64_t stride = StrideOf(from, dim), span = stride * from[dim];
  for (size_t d = 0; d < to.size(); ++d) {
    const int64_t step = StrideOf(to, d), reach = step * to[d];
    if (to[d] == 1 || stride % step != 0 || reach % span != 0) continue;
    if (to[d] > kMostPlaces) return false;
    Numbers& along = sum.terms.try_emplace(d, Numbers(static_cast<size_t>(to[d]))).first->second;
    for (int64_t i = 0; i < to[d]; ++i)
      along[static_cast<size_t>(i)] += term[static_cast<size_t>(i * step / stride % from[dim])];
    return true;
  }
  return false;
}

PlaceValue WithSum(const PlaceValue& like, PlaceSum sum) { return {like.shape, like.dtype, std::move(sum)}; }

// A stack's parts, each moved as a tensor whose size along the axis is 1.
template <typename Move>
MaybePlaces MoveParts(const PlaceValue& value, const PlaceStack& stack, const Shape& shape, size_t axis,
                      const Move& move) {
  PlaceStack moved{axis, {}};
  PlaceValue part{value.shape, value.dtype, PlaceSum{}};
  part.shape[stack.axis] = 1;
  Shape thin = shape;
  thin[axis] = 1;
  for (const PlaceSum& sum : stack.parts) {
    const MaybePlaces result = move(WithSum(part, sum), thin);
    if (!result || result->sum() == nullptr) return std::nullopt;
    moved.parts.push_back(*result->sum());
  }
  return PlaceValue{shape, value.dtype, std::move(moved)};
}

}  // namespace

MaybePlaces Reshaped(const PlaceValue& value, const Shape& shape) {
  if (CountOf(value.shape) != CountOf(shape)) return std::nullopt;
  if (const PlaceSum* sum = value.sum()) {
    PlaceSum reshaped{sum->base, {}};
    for (const auto& [dim, term] : sum->terms) {
      if (!AddReshaped(term, value.shape, dim, shape, reshaped)) return std::nullopt;
    }
    return PlaceValue{shape, value.dtype, std::move(reshaped)};
  }
  if (const PlaceBand* band = value.band()) {
    const std::optional<size_t> row = SameDim(value.shape, band->row, shape);
    const std::optional<size_t> column = SameDim(value.shape, band->column, shape);
    if (!row || !column) return std::nullopt;
    PlaceBand reshaped = *band;
    reshaped.row = *row;
    reshaped.column = *column;
    return PlaceValue{shape, value.dtype, std::move(reshaped)};
  }
  const auto& stack = std::get<PlaceStack>(value.form);
  const std::optional<size_t> axis = SameDim(value.shape, stack.axis, shape);
  if (!axis) return std::nullopt;
  return MoveParts(value, stack, shape, *axis, Reshaped);
}

namespace {

// With dimension d as dimension dims[d] of `shape`.
MaybePlaces Renumbered(const PlaceValue& value, const std::vector<size_t>& dims, const Shape& shape) {
  const auto renumber = [&](const PlaceSum& sum) {
    PlaceSum renumbered{sum.base, {}};
    for (const auto& [dim, term] : sum.terms) renumbered.terms.emplace(dims[dim], term);
    return renumbered;
  };
  PlaceValue result{shape, value.dtype, PlaceSum{}};
  if (const PlaceSum* sum = value.sum()) {
    result.form = renumber(*sum);
  } else if (const PlaceBand* band = value.band()) {
    if (dims[band->row] > dims[band->column]) return std::nullopt;
    PlaceBand moved = *band;
    moved.row = dims[band->row];
    moved.column = dims[band->column];
    result.form = std::move(moved);
  } else {
    const auto& stack = std::get<PlaceStack>(value.form);
    PlaceStack moved{dims[stack.axis], {}};
    for (const PlaceSum& part : stack.parts) moved.parts.push_back(renumber(part));
    result.form = std::move(moved);
  }
  return result;
}

}  // namespace

MaybePlaces Transposed(const PlaceValue& value, const std::vector<int64_t>& perm) {
  Shape shape(value.shape.size());
  std::vector<size_t> dims(value.shape.size());
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto from = static_cast<size_t>(perm[d]);
    shape[d] = value.shape[from];
    dims[from] = d;
  }
  return Renumbered(value, dims, shape);
}

MaybePlaces Expanded(const PlaceValue& value, const Shape& shape) {
  if (shape.size() < value.shape.size()) return std::nullopt;
  const size_t more = shape.size() - value.shape.size();
  std::vector<size_t> dims;
  for (size_t d = 0; d < value.shape.size(); ++d) {
    if (value.shape[d] != 1 && value.shape[d] != shape[d + more]) return std::nullopt;
    dims.push_back(d + more);
  }
  return Renumbered(value, dims, shape);
}

namespace {

MaybePlaces SlicedSum(const PlaceValue& value, size_t dim, int64_t start, int64_t count, int64_t step, Shape shape) {
  PlaceSum sum = *value.sum();
  const auto at = sum.terms.find(dim);
  if (at != sum.terms.end()) {
    Numbers cut;
    for (int64_t i = 0; i < count; ++i) cut.push_back(at->second[static_cast<size_t>(start + i * step)]);
    if (count == 1) {
      sum.base += cut[0];
      sum.terms.erase(at);
    } else {
      at->second = std::move(cut);
    }
  }
  return PlaceValue{std::move(shape), value.dtype, std::move(sum)};
}

MaybePlaces SlicedBand(const PlaceValue& value, size_t dim, int64_t start, int64_t count, int64_t step, Shape shape) {
  PlaceBand band = *value.band();
  const auto choose = [&](bool inside) { return inside ? band.inside : band.outside; };
  if (dim == band.column) {
    if (step != 1) return std::nullopt;
    Numbers at_start;
    for (size_t r = 0; r < band.first.size(); ++r) {
      at_start.push_back(choose(band.first[r] <= start && start < band.end[r]));
      band.first[r] = std::clamp<int64_t>(band.first[r] - start, 0, count);
      band.end[r] = std::clamp<int64_t>(band.end[r] - start, 0, count);
      if (band.first[r] >= band.end[r]) band.first[r] = band.end[r] = 0;
    }
    if (count == 1) return AlongDim(std::move(at_start), band.row, shape, value.dtype);
  } else if (dim == band.row) {
    std::vector<int64_t> first, end;
    for (int64_t i = 0; i < count; ++i) {
      first.push_back(band.first[static_cast<size_t>(start + i * step)]);
      end.push_back(band.end[static_cast<size_t>(start + i * step)]);
    }
    if (count == 1) {
      Numbers row;
      for (int64_t c = 0; c < shape[band.column]; ++c) row.push_back(choose(first[0] <= c && c < end[0]));
      return AlongDim(std::move(row), band.column, shape, value.dtype);
    }
    band.first = std::move(first);
    band.end = std::move(end);
  }
  return PlaceValue{std::move(shape), value.dtype, std::move(band)};
}

}  // namespace

MaybePlaces Sliced(const PlaceValue& value, size_t dim, int64_t start, int64_t count, int64_t step) {
  if (count < 1) return std::nullopt;
  Shape shape = value.shape;
  shape[dim] = count;
  if (value.shape[dim] == 1) return PlaceValue{shape, value.dtype, value.form};
  if (value.sum() != nullptr) return SlicedSum(value, dim, start, count, step, std::move(shape));
  if (value.band() != nullptr) return SlicedBand(value, dim, start, count, step, std::move(shape));
  const auto& stack = std::get<PlaceStack>(value.form);
  if (dim != stack.axis) {
    return MoveParts(value, stack, shape, stack.axis,
                     [&](const PlaceValue& part, const Shape&) { return Sliced(part, dim, start, count, step); });
  }
  PlaceStack cut{dim, {}};
  for (int64_t i = 0; i < count; ++i) cut.parts.push_back(stack.parts[static_cast<size_t>(start + i * step)]);
  if (count == 1) return PlaceValue{std::move(shape), value.dtype, std::move(cut.parts[0])};
  return PlaceValue{std::move(shape), value.dtype, std::move(cut)};
}

namespace {

RowRanges AllRows(int64_t rows, int64_t first, int64_t end, double inside, double outside) {
  const auto count = static_cast<size_t>(rows);
  return {std::vector<int64_t>(count, first), std::vector<int64_t>(count, end), inside, outside};
}

// Of numbers along the rows, or along the columns, of which there are two.
std::optional<RowRanges> RangesAlong(const Numbers& numbers, bool is_row, int64_t rows, int64_t columns) {
  const auto range = std::ranges::minmax(numbers);
  const double least = range.min, greatest = range.max;  // clang 14 captures no bindings
  if (std::ranges::any_of(numbers, [&](double n) { return n != least && n != greatest; })) return std::nullopt;
  if (is_row) {
    RowRanges ranges{{}, {}, greatest, least};
    for (const double number : numbers) {
      ranges.first.push_back(0);
      ranges.end.push_back(number == greatest ? columns : 0);
    }
    return ranges;
  }
  for (const double inside : {greatest, least}) {
    if (const std::optional<Run> run = RunOf(inside, numbers))
      return AllRows(rows, run->first, run->end, inside, inside == least ? greatest : least);
  }
  return std::nullopt;
}

}  // namespace

std::optional<RowRanges> RangesOf(const PlaceValue& value, int64_t rows, int64_t columns) {
  const size_t rank = value.shape.size();
  if (rows < 1 || rows > kMostPlaces) return std::nullopt;
  const auto fits = [&](size_t from_end, int64_t size) {
    return rank < from_end || value.shape[rank - from_end] == size || value.shape[rank - from_end] == 1;
  };
  if (!fits(1, columns) || !fits(2, rows)) return std::nullopt;
  if (const PlaceBand* band = value.band()) {
    if (band->column != rank - 1 || band->row != rank - 2) return std::nullopt;
    return RowRanges{band->first, band->end, band->inside, band->outside};
  }
  const PlaceSum* sum = value.sum();
  if (sum == nullptr || sum->terms.size() > 1) return std::nullopt;
  if (sum->terms.empty()) return AllRows(rows, 0, columns, sum->base, sum->base);
  const auto& [dim, term] = *sum->terms.begin();
  if (dim + 2 < rank) return std::nullopt;
  Numbers numbers = term;
  for (double& number : numbers) number += sum->base;
  return RangesAlong(numbers, dim + 2 == rank, rows, columns);
}

}  // namespace sbp::simplify
