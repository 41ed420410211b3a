#include "sbp/sbp.h"

#include <gtest/gtest.h>

#include "sbp/signature.h"

namespace sbp {
namespace {

TEST(Sbp, ReadsAndPrints) {
  const struct {
    const char* text;
    const char* printed;  // "" if an error
  } kRows[] = {{"S(0)", "S(0)"},
               {"S0", "S(0)"},
               {" S ( 3 ) ", "S(3)"},
               {"B", "B"},
               {"R", "B"},
               {"P", "P(sum)"},
               {"P(sum)", "P(sum)"},
               {"Pmax", "P(max)"},
               {"P(or)", "P(max)"},
               {"P(and)", "P(min)"},
               {"P(prod)", "P(prod)"},
               {"P(avg)", ""},
               {"S", ""},
               {"S(-1)", ""},
               {"S(64)", ""},
               {"S(0", ""},
               {"", ""},
               {"X", ""}};
  for (const auto& row : kRows) {
    const Result<Sbp> sbp = ParseSbp(row.text);
    EXPECT_EQ(sbp.ok() ? ToString(*sbp) : "", row.printed) << row.text;
  }
}

TEST(NdSbp, ReadsAndPrints) {
  const struct {
    const char* text;
    const char* printed;
  } kRows[] = {{"(S(0), B)", "(S(0), B)"},
               {"S0,B", "(S(0), B)"},
               {"(S(0))", "S(0)"},
               {"( B , P(max), S(2) )", "(B, P(max), S(2))"},
               {"", ""},
               {"()", ""},
               {"(S(0), B", ""},
               {"(B,,B)", ""},
               {"B,B,B,B,B,B,B,B,B", ""},
               {"(B,B,B,B,B,B,B,B)", "(B, B, B, B, B, B, B, B)"}};
  for (const auto& row : kRows) {
    const Result<NdSbp> sbp = ParseNdSbp(row.text);
    EXPECT_EQ(sbp.ok() ? ToString(*sbp) : "", row.printed) << row.text;
  }
}

TEST(NdSbp, EqualityAndQuestions) {
  NdSbp a(2);
  EXPECT_TRUE(a.is_broadcast());
  a[1] = Sbp::Split(1);
  EXPECT_EQ(a, (NdSbp{Sbp::Broadcast(), Sbp::Split(1)}));
  EXPECT_NE(a, NdSbp(3));
  EXPECT_TRUE(a.has_split() && !a.has_partial());
  EXPECT_EQ(std::hash<NdSbp>()(a), std::hash<NdSbp>()(NdSbp{Sbp::Broadcast(), Sbp::Split(1)}));
  EXPECT_LT(sizeof(NdSbp), 20u);
}

TEST(Signature, ReadsAndPrints) {
  const struct {
    const char* text;
    int axes;
    const char* printed;
  } kRows[] = {{"S(0), B -> S(0)", 1, "S(0), B -> S(0)"},
               {"(S(0), B),(B, B)->(S(0), B)", 2, "(S(0), B), (B, B) -> (S(0), B)"},
               {"[0,-1], [-1,-1] partial=[1] -> [[0,1]]", 2, "(S(0), B), (B, P(sum)) -> (S(0), S(0))"},
               {"-> B", 1, "-> B"},
               {"B ->", 1, "B ->"},
               {"B, B", 1, ""},
               {"B -> B -> B", 1, ""},
               {"B -> B", 2, ""},
               {"B, -> B", 1, ""}};
  for (const auto& row : kRows) {
    const Result<Signature> signature = ParseSignature(row.text, row.axes);
    EXPECT_EQ(signature.ok() ? ToString(*signature) : "", row.printed) << row.text;
  }
}

}  // namespace
}  // namespace sbp
