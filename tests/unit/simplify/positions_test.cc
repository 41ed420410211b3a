#include "simplify/positions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "sbp/shard_math.h"

namespace sbp::simplify {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

int64_t Count(const Shape& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

std::vector<int64_t> IndexOf(int64_t flat, const Shape& shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0; flat /= shape[d]) index[d] = flat % shape[d];
  return index;
}

double At(const PlaceSum& sum, const std::vector<int64_t>& index) {
  double number = sum.base;
  for (const auto& [dim, term] : sum.terms) number += term[static_cast<size_t>(index[dim])];
  return number;
}

double At(const PlaceValue& value, const std::vector<int64_t>& index) {
  if (const PlaceSum* sum = value.sum()) return At(*sum, index);
  if (const PlaceBand* band = value.band()) {
    const auto row = static_cast<size_t>(index[band->row]);
    const int64_t column = index[band->column];
    return band->first[row] <= column && column < band->end[row] ? band->inside : band->outside;
  }
  const auto& stack = std::get<PlaceStack>(value.form);
  return At(stack.parts[static_cast<size_t>(index[stack.axis])], index);
}

// Every element, row-major.
Numbers Dense(const PlaceValue& value) {
  Numbers numbers;
  for (int64_t i = 0; i < Count(value.shape); ++i) numbers.push_back(At(value, IndexOf(i, value.shape)));
  return numbers;
}

PlaceValue Made(DType dtype, Shape shape, const std::function<double(const std::vector<int64_t>&)>& element) {
  Literal literal;
  literal.type = {dtype, std::move(shape)};
  for (int64_t i = 0; i < Count(literal.type.shape); ++i) {
    const double number = element(IndexOf(i, literal.type.shape));
    if (literal.is_integral()) literal.ints.push_back(static_cast<int64_t>(number));
    if (!literal.is_integral()) literal.floats.push_back(number);
  }
  MaybePlaces value = PlacesOf(literal);
  EXPECT_TRUE(value.has_value());
  EXPECT_EQ(Dense(*value), literal.is_integral() ? Numbers(literal.ints.begin(), literal.ints.end()) : literal.floats);
  return *std::move(value);
}

// One of each form, with dimensions along which they are the same.
std::vector<PlaceValue> Forms() {
  return {Made(DType::kI64, {2, 4, 6}, [](const auto&) { return 3; }),
          Made(DType::kI64, {2, 4, 6}, [](const auto& i) { return i[2]; }),
          Made(DType::kF32, {2, 4, 6}, [](const auto& i) { return i[1] == 0 ? 0.5 : -kInfinity; }),
          Made(DType::kI64, {2, 4, 6}, [](const auto& i) { return 7 + 10 * i[1] - i[2]; }),
          Made(DType::kI64, {2, 4, 6}, [](const auto& i) { return 100 * i[0] + i[1] * i[1] + i[2]; }),
          Made(DType::kBool, {2, 4, 6}, [](const auto& i) { return i[2] <= i[1]; }),
          Made(DType::kF32, {2, 4, 6}, [](const auto& i) { return i[2] <= i[1] && i[2] > 0 ? 0 : -kInfinity; }),
          Made(DType::kBool, {4, 1, 6}, [](const auto& i) { return i[2] >= 5 - i[0]; })};
}

TEST(PositionsTest, WhatIsOfNoFormIsNothing) {
  Literal literal = Literal::Ints({0, 0, 0, 1});
  literal.type.shape = {2, 2};
  ASSERT_TRUE(PlacesOf(literal).has_value());  // one of four is in one piece
  literal = Literal::Ints({1, 0, 1, 0, 1, 0});
  literal.type.shape = {2, 3};
  EXPECT_FALSE(PlacesOf(literal).has_value());  // neither number is
  literal = Literal::Ints({0, 1, 2, 4});
  literal.type.shape = {2, 2};
  EXPECT_FALSE(PlacesOf(literal).has_value());
  literal = Literal::Float(std::nan(""));
  EXPECT_FALSE(PlacesOf(literal).has_value());
  EXPECT_FALSE(PlacesOf(Literal()).has_value());
}

TEST(PositionsTest, DecimalsOfALiteralStandForTheNearestNumberOfItsType) {
  const MaybePlaces mask = PlacesOf(Literal::Float(-2.38197633e+38));  // as JAX hides scores
  ASSERT_TRUE(mask.has_value());
  EXPECT_EQ(mask->constant(), static_cast<double>(-2.38197633e+38F));
}

TEST(PositionsTest, NumbersAreRoundedAsTheirTypeDoes) {
  EXPECT_EQ(Rounded(0.1, DType::kF32), static_cast<double>(0.1F));
  EXPECT_EQ(Rounded(257, DType::kBF16), 256);
  EXPECT_EQ(Rounded(-1e39, DType::kF16), -kInfinity);
  EXPECT_EQ(Rounded(2, DType::kBool), 1);
  EXPECT_EQ(Rounded(0.5, DType::kI64), std::nullopt);
  EXPECT_EQ(Rounded(-1, DType::kU8), std::nullopt);
  EXPECT_EQ(Rounded(3e9, DType::kI32), std::nullopt);
  EXPECT_EQ(Rounded(1e17, DType::kI64), std::nullopt);  // a double holds not all of these
  EXPECT_EQ(Rounded(1, DType::kC64), std::nullopt);
}

TEST(PositionsTest, ReshapesKeepTheOrderOfElements) {
  int moved = 0;
  for (const PlaceValue& value : Forms()) {
    for (const Shape& shape : {Shape{2, 1, 4, 1, 6}, {8, 6}, {2, 24}, {48}, {2, 4, 6}, {2, 2, 2, 6}, {2, 4, 2, 3}}) {
      if (Count(shape) != Count(value.shape)) continue;
      const MaybePlaces reshaped = Reshaped(value, shape);
      if (!reshaped) continue;
      ++moved;
      EXPECT_EQ(reshaped->shape, shape);
      EXPECT_EQ(Dense(*reshaped), Dense(value));
    }
  }
  EXPECT_GE(moved, 25);
}

TEST(PositionsTest, OtherMovesTakeTheElementsThatTheyName) {
  for (const PlaceValue& value : Forms()) {
    for (const std::vector<int64_t>& perm : {std::vector<int64_t>{1, 0, 2}, {0, 2, 1}, {2, 0, 1}}) {
      const MaybePlaces turned = Transposed(value, perm);
      EXPECT_TRUE(turned.has_value() || value.band() != nullptr);
      for (int64_t i = 0; turned && i < Count(turned->shape); ++i) {
        const std::vector<int64_t> to = IndexOf(i, turned->shape);
        std::vector<int64_t> from(3);
        for (size_t d = 0; d < 3; ++d) from[static_cast<size_t>(perm[d])] = to[d];
        EXPECT_EQ(At(*turned, to), At(value, from));
      }
    }
    struct Part {
      size_t dim;
      int64_t start, count, step;
    };
    for (const auto& [dim, start, count, step] :
         {Part{0, 1, 1, 1}, {0, 1, 2, -1}, {2, 1, 3, 1}, {2, 2, 1, 1}, {2, 4, 2, -3}}) {
      if (start >= value.shape[dim]) continue;
      const MaybePlaces cut = Sliced(value, dim, start, count, step);
      for (int64_t i = 0; cut && i < Count(cut->shape); ++i) {
        std::vector<int64_t> index = IndexOf(i, cut->shape);
        const double found = At(*cut, index);
        index[dim] = start + index[dim] * step;
        EXPECT_EQ(found, At(value, index));
      }
    }
    Shape wide = value.shape;
    wide.insert(wide.begin(), 3);
    if (wide[2] == 1) wide[2] = 5;
    const MaybePlaces expanded = Expanded(value, wide);
    ASSERT_TRUE(expanded.has_value());
    for (int64_t i = 0; i < Count(wide); ++i) {
      std::vector<int64_t> index = IndexOf(i, wide);
      const double found = At(*expanded, index);
      index.erase(index.begin());
      if (value.shape[1] == 1) index[1] = 0;
      EXPECT_EQ(found, At(value, index));
    }
  }
}

// Of two operands of one shape.
void ExpectByElement(const MaybePlaces& result, const PlaceValue& a, const PlaceValue& b, DType dtype,
                     const std::function<double(double, double)>& function) {
  const Numbers left = Dense(a), right = Dense(b), found = Dense(*result);
  ASSERT_EQ(found.size(), left.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], *Rounded(function(left[i], right[i]), dtype));
}

TEST(PositionsTest, OpsByElementAreThoseOfTheElements) {
  std::vector<PlaceValue> forms = Forms();
  forms.pop_back();  // of another shape
  const std::pair<Order, bool (*)(double, double)> orders[] = {
      {Order::kLess, [](double a, double b) { return a < b; }},
      {Order::kLessOrEqual, [](double a, double b) { return a <= b; }},
      {Order::kEqual, [](double a, double b) { return a == b; }},
      {Order::kGreaterOrEqual, [](double a, double b) { return a >= b; }},
      {Order::kGreater, [](double a, double b) { return a > b; }}};
  int compared = 0, mapped = 0, added = 0;
  for (const PlaceValue& a : forms) {
    for (const PlaceValue& b : forms) {
      const TensorType flags = {DType::kBool, a.shape}, numbers = {DType::kF64, a.shape};
      for (const auto& [order, holds] : orders) {
        const MaybePlaces result = Compare(a, order, b, flags);
        if (!result) continue;
        ++compared;
        ExpectByElement(result, a, b, DType::kBool, holds);
      }
      const PlaceValue* both[] = {&a, &b};
      const auto least = [](std::span<const double> x) { return std::min(x[0], x[1]); };
      if (const MaybePlaces result = Map(both, numbers, least)) {
        ++mapped;
        ExpectByElement(result, a, b, DType::kF64, [](double x, double y) { return std::min(x, y); });
      }
      const double factors[] = {1, -2};
      if (const MaybePlaces result = Combine(both, factors, numbers)) {
        ++added;
        ExpectByElement(result, a, b, DType::kF64, [](double x, double y) { return x - 2 * y; });
      }
    }
  }
  EXPECT_GE(compared, 100);
  EXPECT_GE(mapped, 17);
  EXPECT_GE(added, 20);
}

TEST(PositionsTest, SumsThatWouldRoundAreNothing) {
  const PlaceValue rows = Made(DType::kF16, {4, 6}, [](const auto& i) { return 1024 * i[0]; });
  const PlaceValue columns = Made(DType::kF16, {4, 6}, [](const auto& i) { return i[1]; });
  const PlaceValue* both[] = {&rows, &columns};
  const double ones[] = {1, 1};
  EXPECT_FALSE(Combine(both, ones, {DType::kF16, {4, 6}}).has_value());  // 3072 + 5 is no f16
  EXPECT_TRUE(Combine(both, ones, {DType::kF32, {4, 6}}).has_value());
  const PlaceValue parts = Made(DType::kF32, {4, 6}, [](const auto& i) { return 0.25 * i[0]; });
  const PlaceValue* fractions[] = {&parts, &columns};
  EXPECT_FALSE(Combine(fractions, ones, {DType::kF32, {4, 6}}).has_value());
}

TEST(PositionsTest, AStackIsSetApartAgain) {
  const PlaceValue one{{4, 1}, DType::kI64, PlaceSum{0, {{0, {0, 1, 2, 3}}}}};
  PlaceValue stack{{4, 2}, DType::kI64, PlaceStack{1, {*one.sum(), PlaceSum{9, {}}}}};
  const MaybePlaces second = Sliced(stack, 1, 1, 1, 1), first = Sliced(stack, 1, 0, 1, 1);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(Dense(*first), (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(second->constant(), 9);
  const MaybePlaces tall = Reshaped(stack, {2, 2, 1, 2});
  EXPECT_FALSE(tall.has_value());  // 0, 1, 2, 3 over two dimensions
  const PlaceValue limit = *FilledWith(2, {1, 2}, DType::kI64);
  const PlaceValue* both[] = {&stack, &limit};
  const MaybePlaces less =
      Map(both, {DType::kI64, {4, 2}}, [](std::span<const double> x) { return std::min(x[0], x[1]); });
  ASSERT_TRUE(less.has_value());
  EXPECT_EQ(Dense(*less), (Numbers{0, 2, 1, 2, 2, 2, 2, 2}));
}

}  // namespace
}  // namespace sbp::simplify
