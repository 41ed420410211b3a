// On which meshes a search on three and more axes begins, and what it hands on.
#include "pipeline/coarser_mesh.h"

#include <gtest/gtest.h>

#include "graph/builder.h"
#include "pipeline/pipeline.h"

namespace sbp {
namespace {

class CoarserMeshTest : public testing::Test {
 protected:
  PlanRequest Request(Mesh mesh, const char* cluster) const {
    const TensorType square = {DType::kF32, {64, 64}};
    GraphBuilder b("product");
    b.AddInput("x", square);
    b.AddParameter("w", square);
    b.AddOp("MatMul", "product", {"x", "w"}, {"y"});
    b.DescribeTensor("y", square);
    b.AddOutput("y");
    PlanRequest request;
    request.graph = *b.Build("product");
    request.mesh = std::move(mesh);
    request.cluster = *FindPreset(cluster);
    request.options.strategy = "optimal";
    request.rules = &rules_;
    return request;
  }

  // The mesh that is asked for; "": none.
  std::string Asked(const char* mesh, const char* cluster, StrategyOptions& options,
                    std::vector<std::pair<std::string, std::string>> pins = {}) {
    PlanRequest request = Request(*ParseMesh(mesh), cluster);
    request.pins = std::move(pins);
    const auto posed = PoseProblem(std::move(request));
    EXPECT_TRUE(posed.ok()) << posed.status().message();
    std::string asked;
    coarse_.clear();
    const auto plan_on = [&](Mesh coarse, StrategyOptions of_coarse) {
      asked = ToString(coarse);
      coarse_.push_back(of_coarse);
      PlanRequest of_plan = Request(std::move(coarse), cluster);
      of_plan.options.memory_limit = of_coarse.memory_limit;
      const Result<Plan> plan = MakePlan(std::move(of_plan));
      if (plan.ok()) peak_ = plan->memory.peak_bytes;
      return plan;
    };
    BeginOnCoarserMesh((*posed)->problem, plan_on, options);
    return asked;
  }
  std::string Asked(const char* mesh, const char* cluster = "2x8xH100") {
    StrategyOptions options;
    return Asked(mesh, cluster, options);
  }

  RuleSet rules_ = *RuleSet::Builtin();
  std::vector<StrategyOptions> coarse_;  // what plans of the coarse mesh were asked for with
  int64_t peak_ = 0;                     // bytes, of the last one
};

TEST_F(CoarserMeshTest, AxesAreMergedBetweenNodesOrInTheMiddle) {
  EXPECT_EQ(Asked("a=2,b=2,c=4"), "a=2,b_c=8");
  EXPECT_EQ(Asked("a=2,b=2,c=2,d=2"), "a=2,b_c_d=8");
  EXPECT_EQ(Asked("a=2,b=2,c=2"), "a_b=4,c=2");
  EXPECT_EQ(Asked("a=3,b=5,c=1,d=7"), "a_b_c=15,d=7");
  EXPECT_EQ(Asked("a=2,b=2,c=2@[0,2,4,6,1,3,5,7]"), "a_b=4,c=2@[0,2,4,6,1,3,5,7]");
}

TEST_F(CoarserMeshTest, AxesOfOneDeviceDoNotCount) {
  for (const char* mesh : {"8", "2,4", "8,1,1", "1,1,8", "2,4,1,1", "1,1,2,1,4"}) EXPECT_EQ(Asked(mesh), "") << mesh;
  EXPECT_EQ(Asked("a=1,b=2,c=2,d=2"), "a_b_c=4,d=2");  // a node: neither part is of one device
  EXPECT_EQ(Asked("a=2,b=2,c=2,d=1,e=1"), "a_b=4,c_d_e=2");
  for (const char* mesh : {"8,1,1", "2,2,2,1,1", "1,2,2,2", "1,1,1"}) {
    const auto plan = MakePlan(Request(*ParseMesh(mesh), "8xH100"));
    EXPECT_TRUE(plan.ok()) << mesh << ": " << plan.status().message();
  }
}

TEST_F(CoarserMeshTest, TheSearchBeginsWithThePlanIfItFits) {
  StrategyOptions options = {.num_ways = 5};
  EXPECT_NE(Asked("a=2,b=2,c=2", "8xH100", options), "");
  ASSERT_EQ(options.start_signatures.size(), 1u);
  EXPECT_EQ(options.start_signatures[0]->inputs[0].size(), 3);
  EXPECT_EQ(coarse_[0].num_ways, 5u);
  EXPECT_EQ(options.num_ways, 0u);  // of the fine mesh
}

TEST_F(CoarserMeshTest, WhatDoesNotFitIsPlannedUnderTheLimit) {
  StrategyOptions options;
  options.memory_limit = int64_t{1} << 30;
  Asked("a=2,b=2,c=2", "8xH100", options);
  ASSERT_EQ(coarse_.size(), 1u);
  EXPECT_FALSE(coarse_[0].memory_limit.has_value());
  EXPECT_FALSE(options.start_waits);
  EXPECT_EQ(options.start_signatures.size(), 1u);

  // The fine mesh needs a little more.
  options = {.memory_limit = peak_, .num_ways = 5};
  Asked("a=2,b=2,c=2", "8xH100", options);
  ASSERT_EQ(coarse_.size(), 2u);
  EXPECT_FALSE(coarse_[0].memory_limit.has_value());
  EXPECT_LT(*coarse_[1].memory_limit, *options.memory_limit);
  EXPECT_GT(*coarse_[1].memory_limit, *options.memory_limit * 9 / 10);
  EXPECT_FALSE(coarse_[1].explains);
  EXPECT_TRUE(options.start_waits);
  EXPECT_EQ(options.num_ways, 5u);

  options = {.memory_limit = 1};
  Asked("a=2,b=2,c=2", "8xH100", options);
  EXPECT_EQ(coarse_.size(), 2u);
  EXPECT_TRUE(options.start_signatures.empty());
}

TEST_F(CoarserMeshTest, OfATimeItTakesAPart) {
  StrategyOptions options;
  options.values["time"] = 10.0;
  EXPECT_NE(Asked("a=2,b=2,c=2", "8xH100", options), "");
  ASSERT_EQ(coarse_.size(), 1u);
  EXPECT_EQ(std::get<double>(options.values["time"]) + std::get<double>(coarse_[0].values["time"]), 10.0);
  options = {.memory_limit = 1, .values = {{"time", 10.0}}};
  EXPECT_NE(Asked("a=2,b=2,c=2", "8xH100", options), "");
  double seconds = std::get<double>(options.values["time"]);
  for (StrategyOptions& of_coarse : coarse_) seconds += std::get<double>(of_coarse.values["time"]);
  EXPECT_EQ(coarse_.size(), 2u);
  EXPECT_DOUBLE_EQ(seconds, 10.0);
}

TEST_F(CoarserMeshTest, PinsAndStartsStand) {
  StrategyOptions options;
  EXPECT_EQ(Asked("a=2,b=2,c=2", "8xH100", options, {{"x=(S(0), S(0), B)", "--pin"}}), "");
  options.start_signatures.emplace_back();
  EXPECT_EQ(Asked("a=2,b=2,c=2", "8xH100", options), "");
}

}  // namespace
}  // namespace sbp
