// Every row says what its strategy is, and the strategy keeps to it.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/text.h"
#include "strategy/all_strategies.h"
#include "support/listed_problem.h"

namespace sbp {
namespace {

TEST(Strategies, RowsAreDistinctAndDescribed) {
  std::set<std::string_view> names;
  for (const StrategyRow& row : AllStrategies()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(row.doc.empty()) << row.name;
    const bool has_criteria = OptionOfKind(row, OptionKind::kCriterion) != nullptr;
    EXPECT_EQ(row.unit.empty(), has_criteria) << row.name << ": the unit is the row's or the criterion's";
    EXPECT_EQ(row.has_bound, row.goal != nullptr) << row.name;
    std::set<std::string_view> options;
    for (const StrategyOption& option : row.options) {
      EXPECT_TRUE(options.insert(option.name).second) << row.name << " --" << option.name;
      EXPECT_FALSE(option.doc.empty()) << row.name << " --" << option.name;
      const bool ranged = option.kind == OptionKind::kNumber || option.kind == OptionKind::kCount;
      EXPECT_EQ(ranged, option.least < option.most) << row.name << " --" << option.name;
      EXPECT_EQ(OptionNamed(row, option.name), &option);
    }
  }
}

// Options of one name are one flag of the command line: they have to be of one kind.
TEST(Strategies, OptionsOfOneNameAreAlike) {
  for (const StrategyRow& row : AllStrategies()) {
    for (const StrategyRow& other : AllStrategies()) {
      for (const StrategyOption& option : row.options) {
        const StrategyOption* same = OptionNamed(other, option.name);
        EXPECT_TRUE(same == nullptr || same->kind == option.kind) << option.name;
      }
    }
  }
}

TEST(Strategies, AnswersAreAsTheRowSays) {
  const ListedGraph graph{.shapes = {{"x", {8, 8}}, {"w", {8, 8}}, {"y", {8, 8}}},
                          .inputs = {"x"},
                          .parameters = {"w"},
                          .ops = {{"fc", {"x", "w"}, {"y"}, {"B B -> B", "S(0) B -> S(0)", "B S(1) -> S(1)"}}},
                          .pins = {},
                          .lies = {},
                          .outputs = {"y"}};
  const ListedProblem made = MakeListedProblem(graph, *ParseMesh("4"));
  for (const StrategyRow& row : AllStrategies()) {
    bool needs = false;
    for (const StrategyOption& option : row.options) needs = needs || option.required;
    if (needs) continue;
    const Result<Assignment> answer = row.solve(made.problem, {});
    ASSERT_TRUE(answer.ok()) << row.name << ": " << answer.status().message();
    EXPECT_EQ(answer->has_bound, row.has_bound) << row.name;
    EXPECT_TRUE(row.unit.empty() || answer->price_unit == row.unit) << row.name << ": " << answer->price_unit;
  }
}

TEST(Strategies, CriteriaBelongToWhoHasThem) {
  EXPECT_EQ(CriterionOf("greedy", "time"), "time");
  EXPECT_EQ(CriterionOf("einsum", "time"), "");
  EXPECT_EQ(CriterionOf("of another version", "time"), "");
}

}  // namespace
}  // namespace sbp
