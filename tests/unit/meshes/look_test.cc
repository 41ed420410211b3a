// What is said of a mesh before it is planned, against its plans.
#include "meshes/look.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "cluster/cluster.h"
#include "graph/builder.h"
#include "graph/graph.h"
#include "pipeline/pipeline.h"
#include "rule/rule_set.h"
#include "sbp/mesh.h"
#include "schedule/schedule.h"

namespace sbp {
namespace {

// Two towers of products, of which one may compute while the other communicates.
Graph Towers(int64_t rows) {
  GraphBuilder b("towers");
  const auto f32 = [](Shape shape) { return TensorType{DType::kF32, std::move(shape)}; };
  for (const std::string tower : {"a", "b"}) {
    b.AddInput("x" + tower, f32({rows, 4096}));
    b.AddParameter("up" + tower, f32({4096, 16384}));
    b.AddParameter("down" + tower, f32({16384, 4096}));
    b.AddOp("MatMul", "first" + tower, {"x" + tower, "up" + tower}, {"h" + tower});
    b.AddOp("MatMul", "second" + tower, {"h" + tower, "down" + tower}, {"y" + tower});
    b.DescribeTensor("h" + tower, f32({rows, 16384}));
    b.DescribeTensor("y" + tower, f32({rows, 4096}));
    b.AddOutput("y" + tower);
  }
  return *b.Build("towers");
}

class LookTest : public testing::Test {
 protected:
  PlanRequest Request(const std::string& mesh = "data=2,model=4", const std::string& cluster = "8xH100",
                      int64_t rows = 64) const {
    PlanRequest request;
    request.model_path = "towers";
    request.graph = Towers(rows);
    request.mesh = *ParseMesh(mesh);
    request.cluster = *FindPreset(cluster);
    request.options.strategy = "optimal";
    request.rules = &rules_;
    return request;
  }

  const RuleSet rules_ = *RuleSet::Builtin();
};

TEST_F(LookTest, ABoundOfSchedulesIsRaisedAndHolds) {
  const Result<Plan> plan = MakePlan(Request());
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const double step = MakeSchedule(*plan).summary.step;
  Result<Look> look = LookAt(Request(), {.schedules = true});
  ASSERT_TRUE(look.ok()) << look.status().message();
  ASSERT_TRUE(look->known && look->fits);
  EXPECT_FALSE(look->is_schedule_bound_final);
  const double before = look->schedule_bound, known = look->known->seconds;
  EXPECT_GT(before, 0);
  Look enough = *look;
  ASSERT_TRUE(BoundSchedulesOn(Request(), before / 2, 0, nullptr, enough).ok());
  EXPECT_DOUBLE_EQ(enough.schedule_bound, before);  // that was known already
  ASSERT_TRUE(BoundSchedulesOn(Request(), look->known_schedule, 0, nullptr, *look).ok());
  EXPECT_TRUE(look->is_schedule_bound_final);
  EXPECT_GT(look->schedule_bound, before);
  EXPECT_LE(look->schedule_bound, step * (1 + 1e-9));
  EXPECT_DOUBLE_EQ(look->known->seconds, known);  // the rest stays
}

// What layout_bound.h says of all candidates is more than what is computed at least, and no plan is below it.
TEST_F(LookTest, WhereNotAllCandidatesCanBeLookedAtTogetherABoundIsFoundBesideAPlan) {
  const char *const fine = "a=2,b=2,c=2,d=2", *const cluster = "2x8xH100";
  const Result<Look> coarse = LookAt(Request("a=4,c=4", cluster, 256), {.schedules = true});
  const Result<Look> alone = LookAt(Request(fine, cluster, 256), {.schedules = true});
  ASSERT_TRUE(coarse.ok() && coarse->known && alone.ok());
  ASSERT_TRUE(alone->is_large && !alone->known);
  EXPECT_GT(alone->schedule_bound, 0);
  const KnownPlan* const coarser[] = {&*coarse->known};
  const Result<Look> by_schedules = LookAt(Request(fine, cluster, 256), {.coarser = coarser, .schedules = true});
  const Result<Look> by_sums = LookAt(Request(fine, cluster, 256), {.coarser = coarser});
  const Result<Plan> plan = MakePlan(Request(fine, cluster, 256));
  ASSERT_TRUE(by_schedules.ok() && by_sums.ok() && plan.ok());
  EXPECT_TRUE(by_schedules->is_schedule_bound_final);
  EXPECT_GT(by_schedules->schedule_bound, alone->schedule_bound * 1.001);
  EXPECT_LE(by_schedules->schedule_bound, MakeSchedule(*plan).summary.step * (1 + 1e-9));
  EXPECT_GT(by_sums->bound, alone->bound * 1.001);
  EXPECT_LE(by_sums->bound, plan->total.seconds() * (1 + 1e-9));
}

// A search that begins with a plan is told what that is worth on the mesh.
TEST_F(LookTest, APlanToStartFromIsKnown) {
  const Result<Look> first = LookAt(Request(), {});
  ASSERT_TRUE(first.ok() && first->known);
  PlanRequest request = Request("a=2,b=2,c=2,d=2", "2x8xH100");
  KnownPlan start = *first->known;
  start.mesh = *ParseMesh("a=4,c=4");
  BeginFrom(start, request.mesh, request.strategy);
  const Result<Look> look = LookAt(std::move(request), {});
  ASSERT_TRUE(look.ok() && look->is_large);
  EXPECT_TRUE(look->known);
}

// A plan to begin with and a bound that it is near to: there is nothing to search for.
TEST_F(LookTest, APlanBeginsWithWhatALookFound) {
  const Result<Plan> alone = MakePlan(Request());
  const Result<Look> look = LookAt(Request(), {});
  ASSERT_TRUE(alone.ok() && look.ok() && look->known);
  PlanRequest request = Request();
  BeginFrom(*look->known, request.mesh, request.strategy);
  request.strategy.start_bound_seconds = look->bound;
  const Result<Plan> plan = MakePlan(std::move(request));
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_GE(plan->lower_bound_seconds, look->bound * (1 - 1e-9));
  EXPECT_LE(plan->lower_bound_seconds, alone->total.seconds() * (1 + 1e-9));
  EXPECT_LE(MakeSchedule(*plan).summary.step, MakeSchedule(*alone).summary.step * 1.01);
}

}  // namespace
}  // namespace sbp
