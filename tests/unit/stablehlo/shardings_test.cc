#include "stablehlo/shardings.h"

#include <gmock/gmock.h>

#include <string>

#include "base/text.h"
#include "graph/graph.h"
#include "sbp/mesh.h"
#include "stablehlo/reader.h"

namespace sbp {
namespace {

using testing::HasSubstr;

// main(%x: f32[4,8] with this sharding) returns it, constrained by `constraint`.
std::string Text(const std::string& sharding, const std::string& constraint) {
  return StrCat(
      "\"builtin.module\"() ({\n"
      "\"sdy.mesh\"() <{mesh = #sdy.mesh<[\"data\"=2, \"model\"=4]>, sym_name = \"mesh\"}> : () -> ()\n"
      "\"sdy.mesh\"() <{mesh = #sdy.mesh<[], device_ids=[3]>, sym_name = \"one\"}> : () -> ()\n"
      "\"func.func\"() <{sym_name = \"main\", arg_attrs = [{sdy.sharding = #sdy.sharding<",
      sharding,
      ">}]}> ({\n^bb0(%x: tensor<4x8xf32> loc(\"x\")):\n"
      "%y = \"sdy.sharding_constraint\"(%x) <{sharding = #sdy.sharding<",
      constraint,
      ">}> : (tensor<4x8xf32>) -> tensor<4x8xf32>\n"
      "\"func.return\"(%y) : (tensor<4x8xf32>) -> ()\n}) : () -> ()\n}) : () -> ()");
}

// "TENSOR=LAYOUT" of all that is pinned, then the notes; or the error.
std::string Pinned(const std::string& sharding, const std::string& constraint, const std::string& mesh = "") {
  const std::string text = Text(sharding, constraint);
  Result<Graph> graph = ReadStableHlo(text, "m.mlir");
  Result<Shardings> shardings = ReadShardings(text, "m.mlir");
  if (!graph.ok() || !shardings.ok()) return "not read";
  const Mesh own = mesh.empty() ? MeshOfShardings(*shardings).value_or(Mesh{}) : *ParseMesh(mesh);
  const Result<ShardingPins> pins = PinShardings(*shardings, own, *graph);
  if (!pins.ok()) return pins.status().message();
  std::string all;
  for (const Tensor& tensor : graph->tensors) {
    if (tensor.layout_pin.size() > 0) all += StrCat(tensor.name, "=", ToString(tensor.layout_pin), "; ");
  }
  return StrCat(all, Join(pins->notes, "; "));
}

TEST(ShardingsTest, ArgumentsAndConstraintsArePins) {
  EXPECT_EQ(Pinned("@mesh, [{\"data\"}, {\"model\"}]", "@mesh, [{}, {\"data\", \"model\"}]"),
            "x=(S(0), S(1)); sharding_constraint=(S(1), S(1)); ");
  EXPECT_EQ(Pinned("@mesh, [{}, {}], unreduced=max{\"model\"}", "@mesh, [{\"data\"}, {}], replicated={\"model\"}"),
            "x=(B, P(max)); sharding_constraint=(S(0), B); ");
}

TEST(ShardingsTest, WhatIsOpenIsNoPin) {
  EXPECT_EQ(Pinned("@mesh, [{?}, {?}]", "@mesh, [{\"data\", ?}, {\"model\", ?}]"),
            "sharding_constraint=(S(0), S(1)); ");
  EXPECT_EQ(Pinned("@mesh, [{\"data\", ?}, {}]", "@mesh, [{\"data\", ?}, {}], replicated={\"model\"}"),
            "sharding_constraint=(S(0), B); shardings that leave axes open (\"?\") are not pins, as these say all "
            "axes: \"x\"; "
            "--pin says the whole layout");
}

TEST(ShardingsTest, PrioritiesAreNoted) {
  EXPECT_EQ(Pinned("@mesh, [{\"data\"}p1, {}]", "@mesh, [{\"data\"}, {}]"),
            "x=(S(0), B); sharding_constraint=(S(0), B); priorities are not read, all are pins: \"x\"");
}

TEST(ShardingsTest, AMeshMayStandInTheSharding) {
  EXPECT_EQ(Pinned("mesh<[\"x\"=4]>, [{\"x\"}, {}]", "mesh<[\"x\"=4]>, [{}, {}]", "x=4"),
            "x=S(0); sharding_constraint=B; ");
}

TEST(ShardingsTest, RefusedByPlace) {
  const std::string whole = "@mesh, [{}, {}]";
  EXPECT_THAT(Pinned("@mesh, [{\"data\"}, {\"model\":(1)2}]", whole), HasSubstr("m.mlir:4:"));
  EXPECT_THAT(Pinned("@mesh, [{\"data\"}, {\"model\":(1)2}]", whole),
              HasSubstr("a part of axis \"model\" is not read"));
  EXPECT_THAT(Pinned(whole, "@mesh, [{\"model\", \"data\"}, {}]"),
              HasSubstr("m.mlir:6:6: dimension 0 is split over \"data\" within an axis that stands behind it"));
  EXPECT_THAT(Pinned(whole, "@mesh, [{\"modle\"}, {}]"), HasSubstr("no mesh of the file declares an axis \"modle\""));
  EXPECT_THAT(Pinned("@mesh, [{\"data\"}, {}]", whole, "date=2,model=4"),
              HasSubstr("the mesh date=2,model=4 has no axis \"data\" (did you mean \"date\"?)"));
  EXPECT_THAT(Pinned("@mesh, [{\"data\"}, {}]", whole, "data=4,model=2"),
              HasSubstr("is of 2 devices in the file, of 4"));
  EXPECT_THAT(Pinned("@mesh, [{\"data\"}, {\"data\"}]", whole), HasSubstr("axis \"data\" is named twice"));
  EXPECT_THAT(Pinned("@mesh, [{\"data\"}]", whole), HasSubstr("the sharding has 1 dimensions, the tensor 2"));
  EXPECT_THAT(Pinned("@mesh, [{}, {}], unreduced=and{\"data\"}", whole), HasSubstr("expected sum, max, min or prod"));
}

TEST(ShardingsTest, TheMeshIsTheOneThatMostAreOver) {
  const Result<Shardings> shardings = ReadShardings(Text("@mesh, [{}, {}]", "@mesh, [{}, {}]"), "m.mlir");
  ASSERT_TRUE(shardings.ok());
  EXPECT_EQ(shardings->meshes.size(), 1);  // the other one has no axes
  EXPECT_EQ(ToString(*MeshOfShardings(*shardings)), "data=2,model=4");
}

}  // namespace
}  // namespace sbp
