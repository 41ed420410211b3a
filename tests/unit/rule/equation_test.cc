#include "rule/equation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sbp {
namespace {

TEST(Equation, AdjointsOfEachOperand) {
  struct Row {
    const char* equation;
    int operand;
    const char* adjoint;
  };
  const Row rows[] = {
      {"ij,jk->ik", 0, "ik,jk->ij"},
      {"ij,jk->ik", 1, "ik,ij->jk"},
      {"ij, jk", 0, "ik,jk->ij"},  // the result's letters in the alphabet's order
      {"ji,jk", 1, "ik,ji->jk"},
      {"...ij,...jk->...ik", 0, "...ik,...jk->...ij"},
      {"...ij,jk->...ik", 1, "...ik,...ij->...jk"},  // what only others broadcast stays, to be summed
      {"i,i->", 1, ",i->i"},
      {"ij->ji", 0, "ji->ij"},
      {"bhqd,bhkd,bhqk->b", 2, "b,bhqd,bhkd->bhqk"},
  };
  for (const Row& row : rows) {
    const Result<std::string> adjoint = AdjointEquation(row.equation, row.operand, false);
    ASSERT_TRUE(adjoint.ok()) << adjoint.status().message();
    EXPECT_EQ(*adjoint, row.adjoint) << row.equation;
  }
}

TEST(Equation, LettersThatStandNowhereElse) {
  EXPECT_TRUE(HasLoneLetter("ij->i", 0).value());
  EXPECT_FALSE(HasLoneLetter("ij,j->i", 0).value());
  EXPECT_TRUE(HasLoneLetter("ij,k->i", 1).value());
  EXPECT_EQ(AdjointEquation("ij->i", 0, true).value(), "i,ij->ij");
}

TEST(Equation, SaysWhatIsWrong) {
  EXPECT_EQ(AdjointEquation("i1->i", 0, false).status().message(),
            "an equation has letters, \"...\", \",\" and \"->\", not \"1\"");
  EXPECT_EQ(AdjointEquation("ij->i", 1, false).status().message(), "equation \"ij->i\" has 1 operands, no number 1");
}

TEST(Equation, DiagonalsTakeUnitMatrices) {
  EXPECT_EQ(AdjointEquation("ii->i", 0, false).value(), "i,ia->ia");
  EXPECT_EQ(AdjointEquation("...aab,b->...a", 0, true).value(), "...a,b,...aab,ac->...acb");
  EXPECT_THAT(RepeatedDims("ii->i", 0).value(), ::testing::ElementsAre(1));
  EXPECT_THAT(RepeatedDims("b,ii...jj->b", 1).value(), ::testing::ElementsAre(1, -1));
  EXPECT_THAT(RepeatedDims("ij,jk->ik", 0).value(), ::testing::ElementsAre());
}

}  // namespace
}  // namespace sbp
