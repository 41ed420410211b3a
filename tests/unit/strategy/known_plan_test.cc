// A plan of a coarse mesh on finer ones.
#include "strategy/known_plan.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "sbp/mesh.h"

namespace sbp {
namespace {

std::optional<std::vector<int>> Parts(const char* coarse, const char* fine) {
  return PartsOfAxes(*ParseMesh(coarse), *ParseMesh(fine));
}

TEST(PartsOfAxes, NeighbouringAxesMultiply) {
  EXPECT_EQ(Parts("8,8", "8,2,4"), (std::vector<int>{0, 1, 1}));
  EXPECT_EQ(Parts("16,4", "8,2,4"), (std::vector<int>{0, 0, 1}));
  EXPECT_EQ(Parts("64", "8,2,4"), (std::vector<int>{0, 0, 0}));
  EXPECT_EQ(Parts("8,8", "8,8"), (std::vector<int>{0, 1}));
  EXPECT_EQ(Parts("4,16", "8,2,4"), std::nullopt);
  EXPECT_EQ(Parts("8,2,4", "8,8"), std::nullopt);
  EXPECT_EQ(Parts("8", "8,2"), std::nullopt);
}

TEST(PartsOfAxes, AxesOfOneDeviceAreAnyPart) {
  EXPECT_EQ(Parts("8,4", "1,8,1,4"), (std::vector<int>{0, 0, 1, 1}));
  EXPECT_EQ(Parts("8,4", "8,4,1,1"), (std::vector<int>{0, 1, 1, 1}));
  EXPECT_EQ(Parts("8,1", "8,1,1"), (std::vector<int>{0, 1, 1}));
  EXPECT_EQ(Parts("1,1", "1,1,1"), (std::vector<int>{0, 1, 1}));
  EXPECT_EQ(Parts("8,4", "8,1,2"), std::nullopt);
}

TEST(BeginFrom, EachAxisDoesWhatTheCoarserOneDoes) {
  KnownPlan known{.mesh = *ParseMesh("4,2")};
  known.signatures = {{{{Sbp::Split(0), Sbp::Broadcast()}}, {{Sbp::Split(1), Sbp::Partial()}}}};
  known.of_op = {0, 0};
  known.sources = {{Sbp::Broadcast(), Sbp::Split(1)}, NdSbp()};
  StrategyOptions options;
  BeginFrom(known, *ParseMesh("2,2,2"), options);
  ASSERT_EQ(options.start_signatures.size(), 2u);
  EXPECT_EQ(options.start_signatures[1]->inputs[0], (NdSbp{Sbp::Split(0), Sbp::Split(0), Sbp::Broadcast()}));
  EXPECT_EQ(options.start_signatures[1]->outputs[0], (NdSbp{Sbp::Split(1), Sbp::Split(1), Sbp::Partial()}));
  ASSERT_EQ(options.start_sources.size(), 2u);
  EXPECT_EQ(options.start_sources[0], (NdSbp{Sbp::Broadcast(), Sbp::Broadcast(), Sbp::Split(1)}));
  EXPECT_EQ(options.start_sources[1], std::nullopt);  // of a tensor that has none
}

}  // namespace
}  // namespace sbp
