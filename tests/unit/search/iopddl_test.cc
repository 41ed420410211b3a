#include "search/iopddl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/search/small_networks.h"

namespace sbp {
namespace {

using ::testing::HasSubstr;

// A problem with one part of its text replaced.
std::string Text(std::string_view from = "", std::string_view to = "") {
  std::string text = R"({"problem": {"name": "p",
 "nodes": {"intervals": [[0, 2], [1, 3]], "costs": [[1, 2], [3, 4]], "usages": [[5, 6], [7, 8]]},
 "edges": {"nodes": [[0, 1]], "costs": [[0, 1, 2, 1000000000000000000]]},
 "usage_limit": 20, "more": {"a": [1, "x", null]}}})";
  if (!from.empty()) text.replace(text.find(from), from.size(), to);
  return text;
}

std::string Error(std::string_view text) { return ParseIopddl(text).status().message(); }

TEST(Iopddl, ReadsAProblem) {
  const auto network = ParseIopddl(Text());
  ASSERT_TRUE(network.ok()) << network.status().message();
  EXPECT_EQ(network->name, "p");
  EXPECT_EQ(network->nodes.size(), 2u);
  EXPECT_EQ(*network->usage_limit, 20);
  const std::vector<int32_t> choice = {1, 0};
  const Evaluation evaluation = Evaluate(*network, choice);
  EXPECT_EQ(evaluation.cost, 2 + 3 + 2);
  EXPECT_EQ(evaluation.peak, 6 + 7);
  EXPECT_EQ(evaluation.peak_time, 1);
  EXPECT_TRUE(Evaluate(*network, std::vector<int32_t>{1, 1}).forbidden);
}

TEST(Iopddl, EqualRowsAreShared) {
  const auto network = ParseIopddl(Text("[1, 2], [3, 4]", "[1, 2], [ 1,2]"));
  ASSERT_TRUE(network.ok()) << network.status().message();
  EXPECT_EQ(network->nodes[0].costs, network->nodes[1].costs);
}

TEST(Iopddl, WhatIsWrittenIsReadBack) {
  for (const bool fractions : {false, true}) {
    SmallNetworkOptions kind;
    kind.fractions = fractions;
    for (uint64_t seed = 0; seed < 50; ++seed) {
      const CostNetwork network = SmallNetwork(seed, kind);
      const std::string text = FormatIopddl(network);
      const auto again = ParseIopddl(text);
      ASSERT_TRUE(again.ok()) << again.status().message();
      EXPECT_EQ(FormatIopddl(*again), text);
    }
  }
}

TEST(Iopddl, ErrorsSayWhere) {
  EXPECT_THAT(Error(""), HasSubstr("1:1: expected '{'"));
  EXPECT_THAT(Error("{}"), HasSubstr("expected an object with the member \"problem\""));
  EXPECT_THAT(Error(Text("[3, 4]", "[3, NaN]")), HasSubstr("2:65: expected a number, found \"NaN"));
  EXPECT_THAT(Error(Text("[3, 4]", "[3, 4,]")), HasSubstr("expected a number"));
  EXPECT_THAT(Error(Text("[3, 4]", "[3, 01]")), HasSubstr("expected ',' or ']'"));
  EXPECT_THAT(Error(Text("[3, 4]", "[3, 99999999999999999999]")), HasSubstr("an integer of 64 bits"));
  EXPECT_THAT(Error(Text("[3, 4]", "[3, 1e999]")), HasSubstr("a number that a double holds"));
  EXPECT_THAT(Error(Text("[3, 4]", "[]")), HasSubstr("node 1 has no candidates"));
  EXPECT_THAT(Error(Text("[3, 4]", "[3]")), HasSubstr("node 1: 2 usages, expected one for each of its 1 candidates"));
  EXPECT_THAT(Error(Text("[3, 4]", "[3, -2000000000000000000]")), HasSubstr("costs above -10^18"));
  EXPECT_THAT(Error(Text("[7, 8]", "[7, -8]")), HasSubstr("node 1: usage -8 of candidate 1, expected 0 or more"));
  EXPECT_THAT(Error(Text("[7, 8]", "[7, 8.5]")), HasSubstr("an integer of 64 bits"));
  EXPECT_THAT(Error(Text("[1, 3]", "[3, 1]")), HasSubstr("node 1: its interval [3, 1) ends before it begins"));
  EXPECT_THAT(Error(Text("[1, 3]", "[1]")), HasSubstr("an interval [begin, end)"));
  EXPECT_THAT(Error(Text(", [1, 3]", "")), HasSubstr("nodes.intervals has 1 rows, nodes.costs 2"));
  EXPECT_THAT(Error(Text("[[0, 1]]", "[[0, 0]]")), HasSubstr("edge 0 joins node 0 to itself"));
  EXPECT_THAT(Error(Text("[[0, 1]]", "[[0, 2]]")), HasSubstr("edges.nodes[0]: node 2, expected 0 to 1"));
  EXPECT_THAT(Error(Text("[[0, 1]]", "[[-1, 1]]")), HasSubstr("edges.nodes[0]: node -1"));
  EXPECT_THAT(Error(Text("[[0, 1]]", "[]")), HasSubstr("edges.nodes has 0 rows, edges.costs 1"));
  EXPECT_THAT(Error(Text("[0, 1, 2, 1", "[0, 1, 1")), HasSubstr("edge 0: 3 costs, expected 2 x 2"));
  EXPECT_THAT(Error(Text("20", "-20")), HasSubstr("usage limit -20, expected 0 or more"));
  EXPECT_THAT(Error(Text() + "x"), HasSubstr("expected the end of the file"));
  const std::string whole = Text();
  for (size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(ParseIopddl(whole.substr(0, size)).ok()) << size;
}

TEST(Iopddl, UsagesThatOverflowAreAnError) {
  EXPECT_THAT(Error(Text("[[5, 6], [7, 8]]", "[[9223372036854775807, 6], [7, 8]]")), HasSubstr("usages"));
}

TEST(Iopddl, NoLimitMeansNone) {
  for (const std::string& text : {Text("20", "null"), Text("\"usage_limit\": 20, ")}) {
    const auto network = ParseIopddl(text);
    ASSERT_TRUE(network.ok()) << network.status().message();
    EXPECT_FALSE(network->usage_limit);
  }
}

TEST(Iopddl, WritesTablesInFull) {
  SmallNetworkOptions kind;
  kind.forms = 1;
  kind.edges_per_node = 3;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const CostNetwork network = SmallNetwork(seed, kind);
    const auto again = ParseIopddl(FormatIopddl(network));
    ASSERT_TRUE(again.ok()) << again.status().message();
    Random random(seed);
    std::vector<int32_t> choice;
    for (size_t node = 0; node < network.nodes.size(); ++node) {
      choice.push_back(random.Below(network.candidates(static_cast<int>(node))));
    }
    EXPECT_EQ(Evaluate(*again, choice).cost, Evaluate(network, choice).cost) << "seed " << seed;
  }
}

TEST(Solution, ReadsAndRefuses) {
  const CostNetwork network = ParseIopddl(Text()).value();
  EXPECT_EQ(ParseSolution(network, FormatSolution(std::vector<int32_t>{1, 0})).value(), (std::vector<int32_t>{1, 0}));
  EXPECT_THAT(ParseSolution(network, R"({"solution": [0]})").status().message(), HasSubstr("expected 2"));
  EXPECT_THAT(ParseSolution(network, R"({"solution": [0, 2]})").status().message(), HasSubstr("node 1: candidate 2"));
}

}  // namespace
}  // namespace sbp
