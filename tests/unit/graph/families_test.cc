#include "graph/families.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "graph/builder.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"

namespace sbp {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A step on "w" and "m/w", one a state's name of the other; "w" has a state and an accumulator.
Graph Step() {
  const TensorType type = *ParseTensorType("f32[4]");
  GraphBuilder builder("step");
  for (const std::string_view name : {"x", "v/w", "acc/w", "v/m/w"}) builder.AddInput(name, type);
  for (const std::string_view name : {"w", "m/w"}) builder.AddParameter(name, type);
  builder.AddOp("Mul", "of_w", {"x", "w"}, {"grad/w"});
  builder.AddOp("Mul", "of_m", {"x", "m/w"}, {"grad/m/w"});
  builder.AddOp("Add", "sum", {"acc/w", "grad/w"}, {"next/acc/w"});
  builder.AddOp("Add", "state", {"v/w", "next/acc/w"}, {"next/v/w"});
  builder.AddOp("Add", "update", {"w", "next/v/w"}, {"next/w"});
  builder.AddOp("Add", "other", {"v/m/w", "grad/m/w"}, {"next/v/m/w"});
  for (const std::string_view name : {"next/acc/w", "next/v/w", "next/w", "next/v/m/w"}) builder.AddOutput(name);
  builder.AddTie("next/w", "w");
  builder.AddTie("next/v/w", "v/w");
  builder.AddTie("next/acc/w", "acc/w", true);
  builder.AddTie("next/v/m/w", "v/m/w");
  return *builder.Build("step.json");
}

TEST(Families, OfParametersByTiesAndNames) {
  const Graph graph = Step();
  const NameIndex names(graph);
  const std::vector<ParameterFamily> families =
      FindFamilies(graph, std::vector{names.tensor("m/w"), names.tensor("w")});
  ASSERT_EQ(families.size(), 2U);
  EXPECT_EQ(families[0].parameter, names.tensor("m/w"));
  EXPECT_FALSE(families[0].next.valid());
  EXPECT_EQ(families[0].gradient, names.tensor("grad/m/w"));
  EXPECT_THAT(families[0].states, ElementsAre(names.tensor("v/m/w")));
  EXPECT_EQ(families[1].next, names.tensor("next/w"));
  EXPECT_EQ(families[1].gradient, names.tensor("grad/w"));
  EXPECT_EQ(families[1].accumulator, names.tensor("acc/w"));
  EXPECT_EQ(families[1].summed, names.tensor("next/acc/w"));
  EXPECT_THAT(families[1].states, ElementsAre(names.tensor("v/w")));
  EXPECT_THAT(FindFamilies(graph, {}), IsEmpty());
}

TEST(Families, CastsToFloatsAndRefetchHandOn) {
  GraphBuilder builder("casts");
  builder.AddInput("x", *ParseTensorType("f32[4]"));
  builder.AddOp("Cast", "narrow", {"x"}, {"a"});
  builder.AddOp("Cast", "count", {"x"}, {"b"});
  builder.AddOp(kRefetchOp, "anew", {"x"}, {"c"});
  builder.AddOp("Relu", "relu", {"x"}, {"d"});
  Graph graph = *builder.Build("casts.json");
  const NameIndex names(graph);
  graph.tensor(names.tensor("a")).type = {DType::kBF16, {4}};
  graph.tensor(names.tensor("b")).type = {DType::kI64, {4}};
  EXPECT_TRUE(HandsOn(graph, graph.op(OpId(0))));
  EXPECT_FALSE(HandsOn(graph, graph.op(OpId(1))));
  EXPECT_TRUE(HandsOn(graph, graph.op(OpId(2))));
  EXPECT_FALSE(HandsOn(graph, graph.op(OpId(3))));
}

TEST(Families, MastersAreReadBehindNarrowingCastsAlone) {
  GraphBuilder builder("masters");
  builder.AddInput("x", *ParseTensorType("bf16[4]"));
  for (const std::string_view name : {"cast", "anew", "both", "widened", "unread"}) {
    builder.AddParameter(name, *ParseTensorType(name == "widened" ? "bf16[4]" : "f32[4]"));
  }
  builder.AddOp(kRefetchOp, "again", {"anew"}, {"again_out"});
  for (const std::string_view name : {"cast", "anew", "again_out", "both", "widened"}) {
    const std::string reads(name);
    builder.AddOp("Cast", "narrow_" + reads, {reads}, {"of_" + reads});
  }
  builder.AddOp("Relu", "reads", {"both"}, {"read"});
  Graph graph = *builder.Build("masters.json");
  const NameIndex names(graph);
  for (const std::string_view name : {"of_cast", "of_anew", "of_again_out", "of_both"}) {
    graph.tensor(names.tensor(name)).type = {DType::kBF16, {4}};
  }
  graph.tensor(names.tensor("again_out")).type = {DType::kF32, {4}};
  graph.tensor(names.tensor("of_widened")).type = {DType::kF32, {4}};
  const UseTable uses = BuildUses(graph);
  const auto is_master = [&](std::string_view name) { return IsMaster(graph, uses, names.tensor(name)); };
  EXPECT_TRUE(is_master("cast"));
  EXPECT_TRUE(is_master("anew"));
  EXPECT_FALSE(is_master("both"));
  EXPECT_FALSE(is_master("widened"));
  EXPECT_FALSE(is_master("unread"));
}

}  // namespace
}  // namespace sbp
