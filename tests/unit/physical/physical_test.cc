#include "physical/physical.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/checked_math.h"
#include "physical/arrange.h"
#include "unit/plan/small_plan.h"

namespace sbp {
namespace {

TEST(Physical, SmallPlan) {
  const Plan plan = SmallPlan();
  // x 32 and w 128 bytes stay; h, its whole copy and y have 256 each: y takes the place of h.
  EXPECT_EQ(Dump(plan, MakePhysicalPlan(plan)),
            "arena 704 bytes, bound 704, placed first-fit, micro-batches 1\n"
            "t0 MatMul \"fc\": r0 r1 -> r2\n"
            "t1 [communication] all-reduce over model of \"h\": r2 -> r3\n"
            "t2 Relu \"act\": r3 -> r4 after t1\n"
            "r0 \"x\" S(1): 32 bytes x1 at 0, t0-t2, resident\n"
            "r1 \"w\" S(0): 128 bytes x1 at 64, t0-t2, resident\n"
            "r2 \"h\" P(sum): 256 bytes x1 at 192, t0-t1\n"
            "r3 \"h\" B: 256 bytes x1 at 448, t1-t2\n"
            "r4 \"y\" B: 256 bytes x1 at 192, t2-t2\n");
}

// What the registers need is granted, whatever the limit.
TEST(Physical, ArenaKeepsToTheRoom) {
  Plan plan = SmallPlan();
  const int64_t live = LivePeak(MakePhysicalPlan(plan).registers, 3);
  plan.cluster.device.memory_bytes.value = 0;
  EXPECT_EQ(RoomOfArena(plan, live), live + live / kArenaAllowance);
  plan.cluster.device.memory_bytes.value = static_cast<double>(2 * live);
  EXPECT_EQ(RoomOfArena(plan, live), 2 * live);
  plan.options.memory_limit = live + 10;
  EXPECT_EQ(RoomOfArena(plan, live), live + 10);
  plan.memory.workspace_bytes = 3;
  EXPECT_EQ(RoomOfArena(plan, live), live + 7);
  plan.options.memory_limit = 1;
  EXPECT_EQ(RoomOfArena(plan, live), live);
  EXPECT_EQ(MakePhysicalPlan(plan).arena_bytes, 704);
}

TEST(Physical, WrittenInPlace) {
  Plan plan = SmallPlan();
  plan.in_place = {{OpId(1), 0, 0}};
  const PhysicalPlan physical = MakePhysicalPlan(plan);
  EXPECT_EQ(physical.registers[4].over, 3u);
  EXPECT_EQ(physical.registers[4].offset, physical.registers[3].offset);
  EXPECT_EQ(physical.arena_bytes, 64 + 128 + 256 + 256);
  EXPECT_EQ(physical.lower_bound_bytes, physical.arena_bytes);
  EXPECT_THAT(BufferOwners(physical.registers), ::testing::ElementsAre(0, 1, 2, 3, 3));
}

TEST(Physical, MicroBatchesDoubleWhatBothStreamsTouch) {
  const Plan plan = SmallPlan();
  const PhysicalPlan physical = MakePhysicalPlan(plan, {.micro_batches = 4});
  std::vector<uint32_t> copies;
  for (const Register& r : physical.registers) copies.push_back(r.copies);
  EXPECT_THAT(copies, ::testing::ElementsAre(2, 1, 2, 2, 2));  // the weight alone is shared by all
  EXPECT_EQ(physical.arena_bytes, 2 * 64 + 128 + 2 * 3 * 256);
}

// Much that lives long, as between a forward and a backward pass: no order but that of time is tried.
TEST(Placement, ManyLongLivedRegisters) {
  PhysicalPlan physical;
  constexpr uint32_t kForward = 50'000;
  physical.tasks.resize(2 * kForward);
  for (uint32_t i = 0; i < kForward; ++i) {
    Register r;
    r.tensor = TensorId(0);
    r.bytes = 64 + 64 * (i % 7);
    r.first = i;
    r.last = 2 * kForward - 2 - i;
    physical.registers.push_back(r);
  }
  PlaceBest(physical);
  EXPECT_EQ(physical.arena_bytes, physical.lower_bound_bytes);
}

TEST(Placement, SizesThatDoNotAddUpTo63Bits) {
  PhysicalPlan physical;
  physical.tasks.resize(3);
  for (uint32_t i = 0; i < 4; ++i) {
    Register r;
    r.tensor = TensorId(0);
    r.bytes = kInt64Max / 2;
    r.first = i / 2;
    r.last = 1;
    physical.registers.push_back(r);
  }
  PlaceBest(physical);
  EXPECT_EQ(physical.arena_bytes, kInt64Max);
  EXPECT_EQ(physical.lower_bound_bytes, kInt64Max);
}

TEST(Physical, EmptyPlan) {
  Plan plan;
  plan.mesh = *ParseMesh("2");
  const PhysicalPlan physical = MakePhysicalPlan(plan);
  EXPECT_TRUE(physical.tasks.empty());
  EXPECT_EQ(physical.arena_bytes, 0);
}

bool Overlap(const Register& a, const Register& b) {
  const bool in_time = a.first <= b.last && b.first <= a.last;
  return in_time && a.offset < b.offset + b.footprint() && b.offset < a.offset + a.footprint();
}

TEST(Placement, RandomRegistersNeverOverlapAndComeNearTheBound) {
  std::mt19937 random(7);
  double worst = 1;
  for (int round = 0; round < 200; ++round) {
    PhysicalPlan physical;
    const size_t tasks = 1 + random() % 40;
    physical.tasks.resize(tasks);
    for (size_t i = 0; i < 1 + random() % 60; ++i) {
      Register r;
      r.tensor = TensorId(0);
      r.bytes = static_cast<int64_t>(random() % 2000);
      r.first = static_cast<uint32_t>(random() % tasks);
      r.last = std::min(static_cast<uint32_t>(tasks - 1), r.first + static_cast<uint32_t>(random() % 6));
      physical.registers.push_back(r);
    }
    PlaceBest(physical);
    int64_t top = 0;
    const std::vector<Register>& registers = physical.registers;
    for (size_t i = 0; i < registers.size(); ++i) {
      if (registers[i].bytes == 0) continue;
      EXPECT_EQ(registers[i].offset % kArenaAlignment, 0);
      top = std::max(top, registers[i].offset + registers[i].footprint());
      for (size_t j = 0; j < i; ++j) {
        EXPECT_FALSE(registers[j].bytes > 0 && Overlap(registers[i], registers[j])) << round << ": " << i << ", " << j;
      }
    }
    EXPECT_EQ(physical.arena_bytes, top);
    EXPECT_GE(physical.arena_bytes, physical.lower_bound_bytes);
    if (physical.lower_bound_bytes > 0) {
      worst =
          std::max(worst, static_cast<double>(physical.arena_bytes) / static_cast<double>(physical.lower_bound_bytes));
    }
  }
  EXPECT_LT(worst, 1.15);
}

}  // namespace
}  // namespace sbp
