#include "runtime/backends/gpu/gpu_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sbp {
namespace {

using ::testing::HasSubstr;

std::vector<int> Ordinals(const std::vector<VisibleGpus>& processes, int ranks_per_gpu) {
  std::vector<int> ordinals;
  for (size_t r = 0; r < processes.size(); ++r) {
    ordinals.push_back(ChooseGpu(processes, static_cast<int>(r), ranks_per_gpu).value());
  }
  return ordinals;
}

TEST(ChooseGpu, EveryProcessSeesAllOfItsMachine) {
  const std::vector<VisibleGpus> two_each = {
      {"a", {"1", "2"}}, {"a", {"1", "2"}}, {"b", {"3", "4"}}, {"b", {"3", "4"}}};
  EXPECT_EQ(Ordinals(two_each, 1), (std::vector<int>{0, 1, 0, 1}));
  EXPECT_EQ(Ordinals(two_each, 2), (std::vector<int>{0, 0, 0, 0}));
  const std::vector<VisibleGpus> dealt_in_turn = {{"a", {"1", "2"}}, {"b", {"3"}}, {"a", {"1", "2"}}};
  EXPECT_EQ(Ordinals(dealt_in_turn, 1), (std::vector<int>{0, 0, 1}));
}

// As SLURM does with --gpus-per-task=1: each one's own is its GPU 0.
TEST(ChooseGpu, EveryProcessSeesItsOwn) {
  EXPECT_EQ(Ordinals({{"a", {"1"}}, {"a", {"2"}}, {"a", {"3"}}}, 1), (std::vector<int>{0, 0, 0}));
  EXPECT_EQ(Ordinals({{"a", {"1", "2"}}, {"a", {"2", "1"}}}, 1), (std::vector<int>{0, 0}));
}

// Containers of one machine.
TEST(ChooseGpu, OtherNamesAndTheSameGpus) {
  EXPECT_EQ(Ordinals({{"a", {"1", "2"}}, {"b", {"1", "2"}}}, 1), (std::vector<int>{0, 1}));
}

TEST(ChooseGpu, TooFew) {
  const std::vector<VisibleGpus> three = {{"a", {"1"}}, {"b", {"2"}}, {"a", {"1"}}, {"a", {"1"}}};
  for (const int rank : {0, 2, 3}) {
    EXPECT_EQ(ChooseGpu(three, rank, 2).status().message(),
              "3 devices are to run on this machine (a), where they see 1 GPU; --ranks-per-gpu 3 runs several on one");
  }
  EXPECT_TRUE(ChooseGpu(three, 1, 2).ok());
  EXPECT_THAT(ChooseGpu(std::vector<VisibleGpus>{{"a", {}}}, 0, 1).status().message(),
              HasSubstr("CUDA_VISIBLE_DEVICES"));
}

TEST(VisibleGpus, GoThroughText) {
  for (const VisibleGpus& gpus : {VisibleGpus{"box", {}}, VisibleGpus{"box", {"1", "2"}}}) {
    const VisibleGpus read = VisibleGpus::FromText(gpus.ToText());
    EXPECT_EQ(read.host, gpus.host);
    EXPECT_EQ(read.ids, gpus.ids);
  }
}

}  // namespace
}  // namespace sbp
