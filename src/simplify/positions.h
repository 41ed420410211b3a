// Tensors that follow from positions alone, as exporters compute masks of attention: what they hold, without holding
// every element. A mask of a long sequence has more elements than can be looked at, but it is made of tables along one
// dimension (ranges, their differences, running sums), and of comparisons between two of them.
//
// All is exact: what is not exactly of such a form, or would round otherwise than the op does, is nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "sbp/shard_math.h"

namespace sbp::simplify {

using Numbers = std::vector<double>;

// An element is `base` and, of each dimension that has a term, the number at the element's place along it. Numbers of
// several terms are whole, so that adding them is exact. Dimensions of size 1 have no terms.
struct PlaceSum {
  double base = 0;
  std::map<size_t, Numbers> terms;
};

// `inside` in columns [first[r], end[r]) of row r, `outside` elsewhere, the same along all other dimensions. Rows and
// columns are dimensions of at least two places, row < column. Of empty rows both ends are 0.
struct PlaceBand {
  size_t row = 0, column = 0;
  std::vector<int64_t> first, end;
  double inside = 1, outside = 0;
};

// Sums side by side along one dimension, as indices of several dimensions stand.
struct PlaceStack {
  size_t axis = 0;
  std::vector<PlaceSum> parts;
};

struct PlaceValue {
  Shape shape;
  DType dtype = DType::kUndefined;
  std::variant<PlaceSum, PlaceBand, PlaceStack> form;

  const PlaceSum* sum() const { return std::get_if<PlaceSum>(&form); }
  const PlaceBand* band() const { return std::get_if<PlaceBand>(&form); }
  // The number that all elements are.
  std::optional<double> constant() const;
};
using MaybePlaces = std::optional<PlaceValue>;

// Longer dimensions are not looked at.
inline constexpr int64_t kMostPlaces = int64_t{1} << 20;

// A number as a type holds it. Nothing: NaN, a fraction or overflow of an integer, a type that is not computed with.
std::optional<double> Rounded(double number, DType type);

MaybePlaces PlacesOf(const Literal& literal);
// The same number everywhere.
MaybePlaces FilledWith(double number, const Shape& shape, DType dtype);
// Numbers along one dimension.
MaybePlaces AlongDim(Numbers numbers, size_t dim, const Shape& shape, DType dtype);

// A function of each element of operands that are broadcast to `type`.
using ByElement = std::function<double(std::span<const double>)>;
MaybePlaces Map(std::span<const PlaceValue* const> operands, const TensorType& type, const ByElement& function);
// Sums by `factors` of operands; also where they vary along several dimensions.
MaybePlaces Combine(std::span<const PlaceValue* const> operands, std::span<const double> factors,
                    const TensorType& type);
enum class Order : uint8_t { kLess, kLessOrEqual, kEqual, kGreaterOrEqual, kGreater };
MaybePlaces Compare(const PlaceValue& a, Order order, const PlaceValue& b, const TensorType& type);

// Moves, as ONNX defines them. `shape` is that of the result.
MaybePlaces Reshaped(const PlaceValue& value, const Shape& shape);
MaybePlaces Transposed(const PlaceValue& value, const std::vector<int64_t>& perm);
MaybePlaces Expanded(const PlaceValue& value, const Shape& shape);
// Every `step`-th place from `start` on along `dim`, `count` of them; all are there. `step` is not 0.
MaybePlaces Sliced(const PlaceValue& value, size_t dim, int64_t start, int64_t count, int64_t step);

// What stands in each row of a matrix of `rows` x `columns`, the last two dimensions, to which the value broadcasts and
// which is the same along all others: columns [first, end) of one number, the others of another. Nothing: it is no such
// matrix.
struct RowRanges {
  std::vector<int64_t> first, end;
  double inside = 0, outside = 0;
};
std::optional<RowRanges> RangesOf(const PlaceValue& value, int64_t rows, int64_t columns);

}  // namespace sbp::simplify
