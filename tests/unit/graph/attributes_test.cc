#include <gtest/gtest.h>

#include <limits>

#include "graph/builder.h"
#include "graph/graph.h"

namespace sbp {
namespace {

TEST(Attributes, SortedAndTyped) {
  Attributes attributes;
  attributes.Set("b", int64_t{1});
  attributes.Set("a", 2.0);
  attributes.Set("b", int64_t{3});
  attributes.Set("c", std::vector<int64_t>{4, 5});
  attributes.Set("d", std::string("x"));
  ASSERT_EQ(attributes.entries().size(), 4u);
  EXPECT_EQ(attributes.entries()[0].first, "a");
  EXPECT_EQ(attributes.Int("b", 0), 3);
  EXPECT_EQ(attributes.Int("a", 7), 7);
  EXPECT_EQ(attributes.Float("a", 0), 2.0);
  EXPECT_EQ(attributes.String("d", ""), "x");
  EXPECT_EQ(*attributes.Ints("c"), (std::vector<int64_t>{4, 5}));
  EXPECT_EQ(attributes.Ints("d"), nullptr);
  EXPECT_EQ(attributes.Find("e"), nullptr);
}

TEST(Attributes, PrintsValuesByType) {
  EXPECT_EQ(ToString(AttributeValue(int64_t{1})), "1");
  EXPECT_EQ(ToString(AttributeValue(1.0)), "1.0");
  EXPECT_EQ(ToString(AttributeValue(std::string("a\"b"))), "\"a\\\"b\"");
  EXPECT_EQ(ToString(AttributeValue(std::vector<double>{0.5, 2})), "[0.5, 2.0]");
  EXPECT_EQ(ToString(AttributeValue(std::make_shared<const Literal>(Literal::Ints({1, 2})))), "i64[2] [1, 2]");
}

TEST(Attributes, EqualSetsAreShared) {
  const auto make = [](double value) {
    Attributes attributes;
    attributes.Set("alpha", value);
    attributes.Set("value", std::make_shared<const Literal>(Literal::Scalar(1)));
    return attributes;
  };
  GraphBuilder builder;
  EXPECT_EQ(builder.Intern(make(1)), builder.Intern(make(1)));
  EXPECT_NE(builder.Intern(make(1)), builder.Intern(make(2)));
  EXPECT_NE(builder.Intern(make(0.0)), builder.Intern(make(-0.0)));  // equal as numbers, not as files
  EXPECT_TRUE(Equal(make(1), make(1)));
  EXPECT_EQ(HashAttributes(make(1)), HashAttributes(make(1)));
}

TEST(Literal, EqualByBits) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(Literal::Float(nan), Literal::Float(nan));
  EXPECT_FALSE(Literal::Float(nan) == Literal::Float(-nan));
  EXPECT_FALSE(Literal::Float(0.0) == Literal::Float(-0.0));
  EXPECT_TRUE(Equal(AttributeValue(std::vector<double>{nan, 1}), AttributeValue(std::vector<double>{nan, 1})));
  EXPECT_FALSE(Equal(AttributeValue(std::vector<double>{nan}), AttributeValue(std::vector<double>{nan, 1})));
  EXPECT_FALSE(Equal(AttributeValue(0.0), AttributeValue(-0.0)));
}

}  // namespace
}  // namespace sbp
