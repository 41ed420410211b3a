#include "runtime/actors/step_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sbp {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;

TEST(Summarise, MedianAndQuartiles) {
  const Measured five = Summarise({5, 1, 4, 2, 3});
  EXPECT_EQ(five.median, 3);
  EXPECT_DOUBLE_EQ(five.spread, 2.0 / 3);
  EXPECT_EQ(Summarise({2, 4}).median, 3);
  EXPECT_EQ(Summarise({7}).spread, 0);
  EXPECT_EQ(Summarise({}).median, 0);
  EXPECT_EQ(five.mean, 3);
  EXPECT_EQ(Summarise({1, 1, 1, 1, 11}).mean, 1.4);  // the last counts as three medians
}

// A task that computes and an all-reduce over `model` of a mesh of 2 x 2.
ActorGraph ProductAndAllReduce() {
  ActorGraph graph;
  graph.actors = {{"product", Stream::kCompute, kMeetsNobody, 1},
                  {"all-reduce", Stream::kCommunication, 1, 1},
                  {"inputs"},
                  {"outputs"}};
  return graph;
}

TEST(TaskSeconds, ComputeTakesTheSlowestDeviceACollectiveItsLastMember) {
  std::vector<Span> spans;
  const double products[] = {3, 5, 2, 2};
  for (uint32_t d = 0; d < 4; ++d) spans.push_back({d, {0, 0}, 1, 1 + products[d]});
  // Devices 0 and 1 are a group: device 0 waits two seconds for device 1. So are 2 and 3.
  spans.push_back({0, {0, 1}, 4, 7});
  spans.push_back({1, {0, 1}, 6, 7});
  spans.push_back({2, {0, 1}, 3, 4.5});
  spans.push_back({3, {0, 1}, 3, 4.5});
  spans.push_back({0, {0, 3}, 7, 9});  // outputs: not a task
  EXPECT_THAT(TaskSeconds(ProductAndAllReduce(), *ParseMesh("data=2,model=2"), spans),
              ElementsAre(DoubleEq(5), DoubleEq(1.5)));
  EXPECT_DOUBLE_EQ(StepSeconds(ProductAndAllReduce(), spans), 6);
}

TEST(TaskSeconds, TheMeanOfMicroBatches) {
  ActorGraph graph = ProductAndAllReduce();
  graph.micro_batches = 2;
  const std::vector<Span> spans = {{0, {0, 0}, 0, 1}, {0, {1, 0}, 1, 4}};
  EXPECT_THAT(TaskSeconds(graph, *ParseMesh("data=1,model=1"), spans), ElementsAre(DoubleEq(2), DoubleEq(0)));
}

TEST(StepSeconds, NothingRan) { EXPECT_EQ(StepSeconds(ProductAndAllReduce(), {}), 0); }

}  // namespace
}  // namespace sbp
