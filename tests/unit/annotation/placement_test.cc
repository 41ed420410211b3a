#include "annotation/placement.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "annotation/check_specs.h"
#include "check/findings.h"
#include "onnx/annotations.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

// The placement of a spec of one node, on so many devices; without dimensions and no devices where it is wrong.
Placement Place(const ShardingSpec& spec, const Shape& shape, int64_t num_devices) {
  ShardingAnnotations annotations;
  annotations.configurations = {{"c", num_devices, {}}};
  annotations.tensors = {spec.tensor};
  annotations.nodes.push_back({"n", "Relu", 0, {spec.tensor}, {}, "c", {spec}, {}});
  Findings findings;
  const auto placed = PlaceSpecs(
      annotations, [&](std::string_view) { return &shape; }, findings);
  EXPECT_TRUE(findings.empty());
  return placed.at(0).empty() ? Placement{0, {}} : placed.at(0).front().placement;
}

TEST(Placement, EveryLayoutComesBack) {
  const Shape shape = {24, 48};
  const Sbp entries[] = {Sbp::Broadcast(), Sbp::Split(0), Sbp::Split(1)};
  for (const char* text : {"data=2,model=4", "a=3,b=2", "x0=2,x1=1", "8"}) {
    const Mesh mesh = *ParseMesh(text);
    for (const Sbp first : entries) {
      for (const Sbp second : entries) {
        NdSbp layout(mesh.num_axes(), first);
        if (mesh.num_axes() > 1) layout[1] = mesh.size(1) == 1 ? Sbp::Broadcast() : second;
        const Placement placement = Place(SpecOf("x", shape, layout, mesh), shape, mesh.num_devices());
        const auto found = LayoutOf(placement, mesh);
        ASSERT_TRUE(found.has_value()) << text << " " << ToString(layout);
        EXPECT_EQ(*found, layout) << text;
      }
    }
  }
}

TEST(Placement, SpecsAreWrittenAsDocumented) {
  const Mesh mesh = *ParseMesh("data=2,model=4");
  const ShardingSpec replicated = SpecOf("x", {4, 8}, NdSbp({Sbp::Broadcast(), Sbp::Split(1)}), mesh);
  EXPECT_EQ(replicated.devices, (std::vector<int64_t>{-1, -2, -3, -4}));
  EXPECT_EQ(replicated.groups[1].second, (std::vector<int64_t>{1, 5}));
  const ShardingSpec crossed = SpecOf("x", {4, 8}, NdSbp({Sbp::Split(1), Sbp::Split(0)}), mesh);
  // Axis 0 in four, then axis 1 in two.
  EXPECT_EQ(crossed.devices, (std::vector<int64_t>{0, 4, 1, 5, 2, 6, 3, 7}));
}

TEST(Placement, MeshIsInferred) {
  const Mesh mesh = *ParseMesh("a=2,b=3,c=2");
  std::vector<Placement> placements;
  for (const NdSbp& layout : {NdSbp({Sbp::Split(0), Sbp::Broadcast(), Sbp::Split(1)}),
                              NdSbp({Sbp::Broadcast(), Sbp::Split(0), Sbp::Broadcast()})}) {
    placements.push_back(Place(SpecOf("x", {12, 12}, layout, mesh), {12, 12}, 12));
  }
  EXPECT_EQ(ToString(InferMesh({"c", 12, {}}, placements)), "x0=2,x1=3,x2=2");
  DeviceConfiguration named{"c", 12, {}};
  for (int64_t i = 0; i < 12; ++i) named.devices.push_back(DeviceName(mesh, i));
  EXPECT_EQ(InferMesh(named, placements), mesh);
  named.devices[3] = "elsewhere";  // no coordinates: the groups say it
  EXPECT_EQ(ToString(InferMesh(named, placements)), "x0=2,x1=3,x2=2");
}

TEST(Placement, InnerAxisMajorIsNoLayout) {
  // Shards of the inner axis first, those of the outer one within.
  Placement placement{4, {{0, 4, {0, 2, 1, 3}}}};
  EXPECT_FALSE(LayoutOf(placement, *ParseMesh("2,2")).has_value());
  EXPECT_FALSE(LayoutOf(placement, *ParseMesh("4")).has_value());
}

}  // namespace
}  // namespace sbp
