// The mesh that is chosen, against the best plan of every mesh.
#include "meshes/choose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "graph/builder.h"
#include "graph/graph.h"
#include "meshes/factorisations.h"
#include "pipeline/pipeline.h"
#include "rule/rule_set.h"
#include "sbp/mesh.h"
#include "schedule/measure.h"
#include "schedule/schedule.h"

namespace sbp {
namespace {

TensorType F32(Shape shape) { return {DType::kF32, std::move(shape)}; }

// Blocks of two products and an addition, rows x width through width x inner; so many rows of blocks side by side, of
// which one may compute while another communicates.
Graph Blocks(int64_t rows, int64_t width, int64_t inner, int blocks, int towers = 1) {
  GraphBuilder b("blocks");
  for (int tower = 0; tower < towers; ++tower) {
    const std::string of = tower == 0 ? "" : "_" + std::to_string(tower);
    b.AddInput("t0" + of, F32({rows, width}));
    std::string before = "t0" + of;
    for (int i = 0; i < blocks; ++i) {
      const std::string n = std::to_string(i) + of;
      b.AddParameter("up" + n, F32({width, inner}));
      b.AddParameter("down" + n, F32({inner, width}));
      b.AddOp("MatMul", "first" + n, {before, "up" + n}, {"h" + n});
      b.AddOp("Relu", "act" + n, {"h" + n}, {"a" + n});
      b.AddOp("MatMul", "second" + n, {"a" + n, "down" + n}, {"y" + n});
      const std::string after = "t" + std::to_string(i + 1) + of;
      b.AddOp("Add", "sum" + n, {before, "y" + n}, {after});
      b.DescribeTensor("h" + n, F32({rows, inner}));
      b.DescribeTensor("a" + n, F32({rows, inner}));
      b.DescribeTensor("y" + n, F32({rows, width}));
      b.DescribeTensor(after, F32({rows, width}));
      before = after;
    }
    b.AddOutput(before);
  }
  return *b.Build("blocks");
}

class ChooseMeshTest : public testing::Test {
 protected:
  struct Case {
    Graph graph;
    std::string cluster;
    int64_t devices;
    std::optional<int64_t> memory_limit = std::nullopt;
    std::string strategy = "optimal";
    double gap = 0;
    std::string objective = "sum";
    double seconds = 0;  // to search
  };

  PlanRequest Request(const Case& c, const Mesh& mesh) {
    PlanRequest request;
    request.model_path = "blocks";
    request.graph = c.graph;
    request.mesh = mesh;
    request.cluster = *FindPreset(c.cluster);
    request.options.strategy = c.strategy;
    request.options.memory_limit = c.memory_limit;
    request.strategy.memory_limit = c.memory_limit;
    if (c.strategy == "optimal") {
      request.strategy.values["gap"] = c.gap;
      request.strategy.values["objective"] = c.objective;
      if (c.seconds > 0) request.strategy.values["time"] = c.seconds;
    }
    request.rules = &rules_;
    return request;
  }
  std::vector<Mesh> Meshes(const Case& c) {
    return *MeshesOf(c.devices, {"data", "shard", "model"}, AxisNaming::kFree, *FindPreset(c.cluster));
  }
  Result<MeshChoice> Choose(const Case& c, MeshSearchOptions options = {}) {
    return ChooseMesh(
        Meshes(c), [&](const Mesh& mesh) -> Result<PlanRequest> { return Request(c, mesh); }, options);
  }
  // What a step of the plan of each mesh by itself takes, those that have one.
  std::map<std::string, double> Each(const Case& c) {
    std::map<std::string, double> prices;
    for (const Mesh& mesh : Meshes(c)) {
      if (const Result<Plan> plan = MakePlan(Request(c, mesh)); plan.ok())
        prices[ToString(mesh)] = StepSeconds(*plan, MeasureOf(*plan));
    }
    return prices;
  }

  RuleSet rules_ = *RuleSet::Builtin();
};

TEST_F(ChooseMeshTest, NoMeshIsDroppedThatHasTheBestPlan) {
  size_t pruned = 0, differ = 0;
  for (const auto& [rows, width, inner] :
       {std::tuple<int64_t, int64_t, int64_t>{4096, 1024, 4096}, {64, 4096, 16384}, {6, 6144, 1536}}) {
    for (const auto& [cluster, devices] :
         {std::pair<std::string, int64_t>{"8xH100", 8}, {"2x8xH100", 16}, {"3x8xA100-80G", 24}, {"cpu", 4}}) {
      const double gap = (rows + devices / 4) % 4 == 0 ? 0.0 : 0.02;
      const Case c{.graph = Blocks(rows, width, inner, 2), .cluster = cluster, .devices = devices, .gap = gap};
      const std::map<std::string, double> each = Each(c);
      double best = std::numeric_limits<double>::infinity(), worst = 0;
      for (const auto& [mesh, seconds] : each) {
        best = std::min(best, seconds);
        worst = std::max(worst, seconds);
      }
      const Result<MeshChoice> choice = Choose(c);
      ASSERT_TRUE(choice.ok()) << choice.status().message();
      const std::string where = cluster + ", rows " + std::to_string(rows) + ", gap " + std::to_string(gap);
      EXPECT_EQ(choice->trials.size(), each.size()) << where;
      EXPECT_LE(choice->plans.front().total.seconds(), best * (1 + gap + 1e-9)) << where;
      EXPECT_DOUBLE_EQ(choice->trials.front().seconds, choice->plans.front().total.seconds()) << where;
      ASSERT_TRUE(choice->bound_seconds) << where;
      EXPECT_LE(*choice->bound_seconds, best * (1 + 1e-9)) << where;
      for (const MeshTrial& trial : choice->trials) {
        EXPECT_TRUE(trial.has_bound) << where;
        EXPECT_LE(trial.bound_seconds, each.at(ToString(trial.mesh)) * (1 + 1e-9))
            << where << ", " << ToString(trial.mesh);
        pruned += trial.outcome == MeshOutcome::kPruned;
      }
      differ += worst > 1.02 * best;
    }
  }
  EXPECT_GT(pruned, 10u);  // else the test tests nothing
  EXPECT_GT(differ, 4u);
}

// What a plan begins with on the way may lead astray; who then plans on the mesh by itself should find nothing shorter.
TEST_F(ChooseMeshTest, TheBestPlanIsNoLongerThanThatOfItsMeshAlone) {
  for (const int64_t rows : {64, 512, 4096}) {
    for (const auto& [cluster, devices] : {std::pair<std::string, int64_t>{"8xH100", 8}, {"2x8xH100", 16}}) {
      const Case c{.graph = Blocks(rows, 2048, 6144, 3, 2),
                   .cluster = cluster,
                   .devices = devices,
                   .gap = 0.009,
                   .objective = "schedule"};
      const Result<MeshChoice> choice = Choose(c);
      ASSERT_TRUE(choice.ok()) << choice.status().message();
      const Plan& best = choice->plans.front();
      const Result<Plan> alone = MakePlan(Request(c, best.mesh));
      ASSERT_TRUE(alone.ok()) << alone.status().message();
      const double bound = choice->trials.front().StepBound(choice->measure).value_or(0);
      const double step = choice->trials.front().StepSeconds(choice->measure);
      EXPECT_DOUBLE_EQ(step, StepSeconds(best, choice->measure));
      EXPECT_LE(bound, step);
      if (bound < step * 0.95) {
        EXPECT_LE(step, StepSeconds(*alone, choice->measure) * (1 + 1e-9)) << rows << " rows on " << devices;
      }
    }
  }
}

// What is minimised on each mesh is what meshes are compared by, and bounds are of that.
TEST_F(ChooseMeshTest, SchedulesAreComparedWhereStepsAreSchedules) {
  size_t pruned = 0, differ = 0;
  for (const auto& [rows, width, inner] : {std::tuple<int64_t, int64_t, int64_t>{64, 4096, 16384}, {256, 4096, 4096}}) {
    for (const auto& [cluster, devices] : {std::pair<std::string, int64_t>{"8xH100", 8}, {"2x8xH100", 16}}) {
      const Case c{.graph = Blocks(rows, width, inner, 1, 2),
                   .cluster = cluster,
                   .devices = devices,
                   .gap = 0.009,
                   .objective = "schedule"};
      const std::map<std::string, double> each = Each(c);
      const double best = std::ranges::min_element(each, {}, [](const auto& e) { return e.second; })->second;
      const Result<MeshChoice> choice = Choose(c);
      ASSERT_TRUE(choice.ok()) << choice.status().message();
      const std::string where = cluster + ", width " + std::to_string(inner);
      EXPECT_EQ(choice->measure, StepMeasure::kSchedule) << where;
      const double chosen = MakeSchedule(choice->plans.front()).summary.step;
      EXPECT_DOUBLE_EQ(choice->trials.front().overlapped_seconds, chosen) << where;
      EXPECT_LE(chosen, best * 1.02) << where;  // each search finds a short schedule, not the shortest
      ASSERT_TRUE(choice->StepBound()) << where;
      EXPECT_LE(*choice->StepBound(), best * (1 + 1e-9)) << where;
      for (const MeshTrial& trial : choice->trials) {
        ASSERT_TRUE(trial.StepBound(choice->measure)) << where << ", " << ToString(trial.mesh);
        EXPECT_LE(*trial.StepBound(choice->measure), each.at(ToString(trial.mesh)) * (1 + 1e-9))
            << where << ", " << ToString(trial.mesh);
        EXPECT_TRUE(trial.outcome != MeshOutcome::kPlanned || trial.overlapped_seconds >= chosen) << where;
        pruned += trial.outcome == MeshOutcome::kPruned;
        differ += trial.overlapped_seconds < 0.98 * trial.seconds;
      }
    }
  }
  EXPECT_GT(pruned, 4u);
  EXPECT_GT(differ, 4u);
}

TEST_F(ChooseMeshTest, MeshesAreComparedByWhatPlansAreMadeFor) {
  for (const char* cluster : {"cpu", "8xH100"}) {
    for (const char* objective : {"schedule", "sum"}) {
      const Case c{.graph = Blocks(4096, 1024, 4096, 1), .cluster = cluster, .devices = 4, .objective = objective};
      const Result<MeshChoice> choice = Choose(c);
      ASSERT_TRUE(choice.ok()) << choice.status().message();
      const bool by_sums = c.objective == "sum";
      EXPECT_EQ(choice->measure, by_sums ? StepMeasure::kSum : StepMeasure::kSchedule) << cluster;
      EXPECT_EQ(MeasureOf(choice->plans.front()), choice->measure) << cluster;
      EXPECT_EQ(choice->StepBound(), by_sums ? choice->bound_seconds : choice->schedule_bound_seconds) << cluster;
    }
  }
}

TEST_F(ChooseMeshTest, OnOneDeviceThePlanIsItsBound) {
  const Result<MeshChoice> choice =
      Choose({.graph = Blocks(64, 512, 512, 1), .cluster = "8xH100", .devices = 1, .objective = "schedule"});
  ASSERT_TRUE(choice.ok()) << choice.status().message();
  ASSERT_TRUE(choice->StepBound());
  EXPECT_DOUBLE_EQ(*choice->StepBound(), choice->trials.front().overlapped_seconds);
}

TEST_F(ChooseMeshTest, TheSameWhateverTheThreads) {
  const Case c{.graph = Blocks(64, 4096, 16384, 1, 2), .cluster = "8xH100", .devices = 8, .objective = "schedule"};
  std::vector<std::string> dumps;
  for (const int threads : {1, 2, 5}) {
    const Result<MeshChoice> choice = Choose(c, {.keep = 2, .threads = threads});
    ASSERT_TRUE(choice.ok());
    std::string text;
    for (const MeshTrial& trial : choice->trials) {
      text += ToString(trial.mesh) + " " + std::to_string(static_cast<int>(trial.outcome)) + " " +
              std::to_string(1e9 * trial.seconds) + " " + std::to_string(1e9 * trial.bound_seconds) + "\n";
    }
    for (const Plan& plan : choice->plans) text += Dump(plan);
    dumps.push_back(std::move(text));
  }
  EXPECT_EQ(dumps[0], dumps[1]);
  EXPECT_EQ(dumps[0], dumps[2]);
}

// Whether a mesh may keep to a target is what its bound says, whichever is planned first.
TEST_F(ChooseMeshTest, ATargetIsKeptToWhereAnyMeshCan) {
  const Case c{.graph = Blocks(64, 4096, 16384, 1, 2), .cluster = "8xH100", .devices = 8, .objective = "schedule"};
  const std::map<std::string, double> each = Each(c);
  const double best = std::ranges::min_element(each, {}, [](const auto& e) { return e.second; })->second;
  const Result<MeshChoice> kept = Choose(c, {.target_step = 1.001 * best});
  ASSERT_TRUE(kept.ok()) << kept.status().message();
  EXPECT_LE(kept->trials.front().overlapped_seconds, 1.001 * best);
  const Result<MeshChoice> missed = Choose(c, {.target_step = 0.99 * *Choose(c)->StepBound()});
  ASSERT_FALSE(missed.ok());
  EXPECT_EQ(missed.status().code(), Code::kNoPlan);
  EXPECT_THAT(missed.status().message(), testing::StartsWith("no step takes less than "));
}

// By sums and by schedules: a plan from elsewhere that is better than all leaves nothing to plan, with bounds that show
// it; one that is dearer than the best changes nothing.
TEST_F(ChooseMeshTest, OnlyWhatIsBetterThanAPlanFromElsewhereIsPlanned) {
  for (const std::string objective : {"sum", "schedule"}) {
    const Case c{.graph = Blocks(64, 4096, 16384, 1, 2), .cluster = "8xH100", .devices = 8, .objective = objective};
    const Result<MeshChoice> free = Choose(c);
    ASSERT_TRUE(free.ok());
    const double best = StepSeconds(free->plans.front(), free->measure);
    const double known = 0.9 * *free->StepBound();
    const Result<MeshChoice> none = Choose(c, {.known_seconds = known});
    ASSERT_TRUE(none.ok()) << none.status().message();
    EXPECT_TRUE(none->plans.empty());
    EXPECT_EQ(none->trials.size(), free->trials.size());
    ASSERT_TRUE(none->StepBound());
    EXPECT_GE(*none->StepBound(), known);
    EXPECT_LE(*none->StepBound(), best);
    for (const MeshTrial& trial : none->trials) EXPECT_EQ(trial.outcome, MeshOutcome::kPruned);
    const Result<MeshChoice> better = Choose(c, {.known_seconds = 1.1 * best});
    ASSERT_TRUE(better.ok()) << better.status().message();
    ASSERT_FALSE(better->plans.empty());
    EXPECT_DOUBLE_EQ(StepSeconds(better->plans.front(), better->measure), best);
  }
}

TEST_F(ChooseMeshTest, KeepsAsManyAsAreAskedFor) {
  const Case c{.graph = Blocks(64, 4096, 16384, 1), .cluster = "8xH100", .devices = 8};
  std::vector<double> prices;
  for (const auto& [mesh, seconds] : Each(c)) prices.push_back(seconds);
  std::ranges::sort(prices);
  const Result<MeshChoice> choice = Choose(c, {.keep = 3});
  ASSERT_TRUE(choice.ok());
  ASSERT_EQ(choice->kept, 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_LE(choice->plans[i].total.seconds(), prices[i] * (1 + 1e-9)) << i;
  EXPECT_EQ(Choose(c, {.keep = 100})->kept, 4u);  // there are no more meshes
}

TEST_F(ChooseMeshTest, KeepsToTheMemoryLimit) {
  Case c{.graph = Blocks(4096, 1024, 4096, 2), .cluster = "8xH100", .devices = 8, .memory_limit = 45'000'000};
  const Result<MeshChoice> choice = Choose(c);
  ASSERT_TRUE(choice.ok()) << choice.status().message();
  EXPECT_LE(choice->plans.front().memory.peak_bytes, 45'000'000);
  double best = std::numeric_limits<double>::infinity();
  for (const auto& [mesh, seconds] : Each(c)) best = std::min(best, seconds);
  EXPECT_LE(choice->plans.front().total.seconds(), best * (1 + 1e-9));
  // With the limit it is known what would be possible without: that is some of what the limit costs.
  Case free = c;
  free.memory_limit = 1'000'000'000;  // never reached
  const Result<MeshChoice> without = Choose(free);
  const double seconds = without->plans.front().total.seconds();
  EXPECT_GT(without->free_bound_seconds, 0.9 * seconds);
  for (const double bound : {choice->free_bound_seconds, without->free_bound_seconds})
    EXPECT_LE(bound, seconds * (1 + 1e-9));
  c.memory_limit = 1000;
  const Result<MeshChoice> none = Choose(c);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().code(), Code::kNoPlan);
  EXPECT_THAT(none.status().message(), testing::StartsWith("no plan on any of 4 meshes; the nearest is data="));
  EXPECT_THAT(none.status().message(),
              testing::HasSubstr("no plan fits into --memory-limit 1.00 kB; the smallest peak"));
}

TEST_F(ChooseMeshTest, StrategiesWithoutABoundPlanEachMesh) {
  for (const std::string strategy : {"einsum", "greedy", "replicate"}) {
    const Case c{.graph = Blocks(64, 4096, 16384, 1), .cluster = "8xH100", .devices = 8, .strategy = strategy};
    double best = std::numeric_limits<double>::infinity();
    for (const auto& [mesh, seconds] : Each(c)) best = std::min(best, seconds);
    const Result<MeshChoice> choice = Choose(c);
    ASSERT_TRUE(choice.ok());
    EXPECT_DOUBLE_EQ(choice->plans.front().total.seconds(), best) << strategy;
    EXPECT_TRUE(choice->plans.front().has_bound) << strategy;
    for (const MeshTrial& trial : choice->trials) EXPECT_EQ(trial.outcome, MeshOutcome::kPlanned);
  }
}

TEST_F(ChooseMeshTest, AMeshThatPinsDoNotFitIsALineOfTheTable) {
  const Case c{.graph = Blocks(64, 4096, 16384, 1), .cluster = "8xH100", .devices = 8};
  const auto with_pin = [&](const Mesh& mesh) -> Result<PlanRequest> {
    PlanRequest request = Request(c, mesh);
    request.pins.emplace_back("up0=(B, S(1))", "--pin");
    return request;
  };
  const Result<MeshChoice> choice = ChooseMesh(Meshes(c), with_pin, {});
  ASSERT_TRUE(choice.ok()) << choice.status().message();
  EXPECT_EQ(choice->plans.front().mesh.num_axes(), 2);
  size_t without = 0;
  for (const MeshTrial& trial : choice->trials) {
    if (trial.mesh.num_axes() == 2) continue;
    ++without;
    EXPECT_EQ(trial.outcome, MeshOutcome::kNoPlan);
    EXPECT_THAT(trial.why, testing::HasSubstr("axes"));
  }
  EXPECT_EQ(without, 2u);
  const std::vector<Mesh> line = {*ParseMesh("data=8")};
  EXPECT_FALSE(ChooseMesh(line, with_pin, {}).ok());
}

TEST_F(ChooseMeshTest, InterruptedAtOnceThereIsNoPlanOrAWholeOne) {
  const Case c{.graph = Blocks(64, 4096, 16384, 1), .cluster = "8xH100", .devices = 8};
  int64_t asked = 0;
  MeshSearchOptions options{.threads = 1};
  options.cancelled = [&] { return ++asked > 3; };
  const Result<MeshChoice> choice = Choose(c, options);
  if (choice.ok()) {
    EXPECT_GT(choice->plans.front().total.seconds(), 0);
  } else {
    EXPECT_EQ(choice.status().code(), Code::kNoPlan);
  }
}

// All meshes have the time together: once it is spent no more are planned, and the bound is that of all of them.
TEST_F(ChooseMeshTest, TheTimeIsThatOfAllMeshes) {
  for (const char* objective : {"sum", "schedule"}) {
    const Case in_no_time{.graph = Blocks(4096, 1024, 4096, 4),
                          .cluster = "8xH100",
                          .devices = 8,
                          .objective = objective,
                          .seconds = 1e-6};
    const MeshChoice choice = Choose(in_no_time).value();
    ASSERT_FALSE(choice.plans.empty());
    EXPECT_EQ(choice.trials.size(), Meshes(in_no_time).size());
    EXPECT_LE(std::ranges::count(choice.trials, MeshOutcome::kPlanned, &MeshTrial::outcome), 2);
    if (!choice.StepBound()) continue;
    const std::map<std::string, double> each = Each({.graph = in_no_time.graph,
                                                     .cluster = in_no_time.cluster,
                                                     .devices = in_no_time.devices,
                                                     .objective = objective});
    for (const auto& [mesh, seconds] : each) EXPECT_LE(*choice.StepBound(), seconds) << mesh;
  }
}

}  // namespace
}  // namespace sbp
