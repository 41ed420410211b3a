// Which recipes are combined over meshes of one to four axes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "recipe/recipe.h"
#include "sbp/mesh.h"

namespace sbp {
namespace {

// "zero1,-,tp": of each known combination the recipe of each axis, "-" where it has none.
std::vector<std::string> NamesOn(const std::vector<int64_t>& sizes) {
  Mesh mesh;
  for (size_t i = 0; i < sizes.size(); ++i) mesh.axes.push_back({"a" + std::to_string(i), sizes[i]});
  std::vector<std::string> names;
  for (const std::vector<Recipe>& recipes : KnownRecipes(mesh)) {
    EXPECT_EQ(recipes.size(), sizes.size());
    std::string text;
    for (const Recipe& recipe : recipes) text += (text.empty() ? "" : ",") + (recipe.lines.empty() ? "-" : recipe.name);
    names.push_back(text);
  }
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size()) << "one stands there twice";
  return names;
}

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

TEST(KnownRecipes, OneAndTwoAxes) {
  EXPECT_EQ(NamesOn({8}), (std::vector<std::string>{"dp", "zero1", "zero2", "zero3", "tp", "sp", "ep", "cp"}));
  const std::vector<std::string> pairs = NamesOn({2, 4});
  EXPECT_TRUE(Has(pairs, "dp,tp"));
  EXPECT_TRUE(Has(pairs, "dp,zero3"));
  EXPECT_TRUE(Has(pairs, "tp,tp"));
}

TEST(KnownRecipes, ThreeAndFourAxesAreNested) {
  const std::vector<std::string> three = NamesOn({16, 8, 8});
  EXPECT_TRUE(Has(three, "zero3,zero3,tp"));
  EXPECT_TRUE(Has(three, "zero1,cp,tp"));
  EXPECT_TRUE(Has(three, "zero1,ep,tp"));
  EXPECT_LE(three.size(), 24u);
  EXPECT_TRUE(Has(NamesOn({2, 2, 2, 2}), "zero1,cp,cp,tp"));
}

TEST(KnownRecipes, AnAxisOfOneRankHasNone) {
  EXPECT_TRUE(Has(NamesOn({2, 1, 4}), "dp,-,tp"));
  EXPECT_TRUE(NamesOn({1, 1}).empty());
  EXPECT_TRUE(NamesOn({2, 2, 2, 2, 2}).empty());
}

}  // namespace
}  // namespace sbp
