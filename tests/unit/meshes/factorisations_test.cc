// Which meshes there are: against all sequences of sizes, and all groups of ranks, found one by one.
#include "meshes/factorisations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "sbp/mesh.h"

namespace sbp {
namespace {

Cluster Nodes(int64_t per_node, int64_t nodes) {
  Cluster cluster;
  cluster.devices_per_node = per_node;
  cluster.num_nodes = nodes;
  return cluster;
}

std::vector<std::string> Texts(const std::vector<Mesh>& meshes) {
  std::vector<std::string> texts;
  for (const Mesh& mesh : meshes) texts.push_back(ToString(mesh));
  return texts;
}

std::vector<std::string> MeshTexts(int64_t devices, const std::vector<std::string>& names, AxisNaming naming,
                                   const Cluster& cluster) {
  const Result<std::vector<Mesh>> meshes = MeshesOf(devices, names, naming, cluster);
  return meshes.ok() ? Texts(*meshes) : std::vector<std::string>{meshes.status().message()};
}

// By its groups: each lies within one node, or has equally many ranks on each node that it is on; and two groups of an
// axis are on equally many nodes.
bool GroupsRespectNodes(const Mesh& mesh, int64_t per_node) {
  for (int axis = 0; axis < mesh.num_axes(); ++axis) {
    std::set<std::map<int64_t, int64_t>> shapes;  // ranks on a node -> nodes
    for (const std::vector<int64_t>& group : mesh.Groups(axis)) {
      std::map<int64_t, int64_t> on_node, shape;
      for (const int64_t rank : group) ++on_node[rank / per_node];
      for (const auto& [node, count] : on_node) ++shape[count];
      shapes.insert(shape);
    }
    if (shapes.size() > 1 || shapes.begin()->size() > 1) return false;
  }
  return true;
}

TEST(MeshesOf, IsEverySequenceOfSizesThatRespectsNodes) {
  for (const int64_t per_node : {1, 4, 6, 8}) {
    for (int64_t devices = 2; devices <= 48; ++devices) {
      std::set<std::string> respectful, all;
      for (int64_t a = 1; a <= devices; ++a) {
        for (int64_t b = 1; b <= devices; ++b) {
          if (devices % (a * b) != 0) continue;
          Mesh mesh;
          for (const int64_t size : {a, b, devices / (a * b)}) {
            if (size > 1) mesh.axes.push_back({"", size});
          }
          const std::vector<std::vector<std::string>> names = {{"x"}, {"x", "z"}, {"x", "y", "z"}};
          for (size_t i = 0; i < mesh.axes.size(); ++i) mesh.axes[i].name = names[mesh.axes.size() - 1][i];
          all.insert(ToString(mesh));
          if (devices <= per_node || GroupsRespectNodes(mesh, per_node)) respectful.insert(ToString(mesh));
        }
      }
      const std::vector<std::string> found =
          MeshTexts(devices, {"x", "y", "z"}, AxisNaming::kFree, Nodes(per_node, 48));
      const std::set<std::string> unique(found.begin(), found.end());
      EXPECT_EQ(unique.size(), found.size()) << devices << " on " << per_node;
      // Of the line of all devices nothing is asked where the last node is not full: then all are tried.
      const bool full = devices <= per_node || devices % per_node == 0;
      EXPECT_EQ(unique, full ? respectful : all) << devices << " on " << per_node;
    }
  }
}

TEST(MeshesOf, FewAxesAndLargeOuterOnesComeFirst) {
  EXPECT_EQ(MeshTexts(8, {"data", "shard", "model"}, AxisNaming::kFree, Nodes(8, 1)),
            (std::vector<std::string>{"data=8", "data=4,model=2", "data=2,model=4", "data=2,shard=2,model=2"}));
  EXPECT_EQ(MeshTexts(7, {"data", "model"}, AxisNaming::kFree, Nodes(8, 1)), std::vector<std::string>{"data=7"});
  EXPECT_EQ(MeshTexts(1, {"data", "model"}, AxisNaming::kFree, Nodes(8, 1)), std::vector<std::string>{"data=1"});
}

TEST(MeshesOf, NamesThatMeanSomethingAreEachTried) {
  EXPECT_EQ(MeshTexts(4, {"data", "model"}, AxisNaming::kNamed, Nodes(8, 1)),
            (std::vector<std::string>{"data=4", "model=4", "data=2,model=2"}));
  EXPECT_EQ(MeshTexts(8, {"data", "model"}, AxisNaming::kAll, Nodes(8, 1)),
            (std::vector<std::string>{"data=4,model=2", "data=2,model=4"}));
  EXPECT_EQ(MeshTexts(7, {"data", "model"}, AxisNaming::kAll, Nodes(8, 1)),
            std::vector<std::string>{"--devices 7 is no product of 2 sizes above 1, one for each of data,model, which "
                                     "pins give layouts for"});
}

TEST(MeshesOf, SixtyFourDevicesOnNodesOfEight) {
  EXPECT_EQ(MeshTexts(64, {"a", "b", "c"}, AxisNaming::kFree, Nodes(8, 8)).size(), 16u);  // compositions of 6
  const std::vector<std::string> twelve = MeshTexts(24, {"a", "b"}, AxisNaming::kFree, Nodes(8, 3));
  EXPECT_EQ(twelve, (std::vector<std::string>{"a=24", "a=12,b=2", "a=6,b=4", "a=3,b=8"}));
}

TEST(MeshesOf, TooManyAreAnError) {
  const Result<std::vector<Mesh>> meshes =
      MeshesOf(1 << 20, {"a", "b", "c", "d", "e", "f"}, AxisNaming::kFree, Nodes(8, 1 << 17));
  ASSERT_FALSE(meshes.ok());
  EXPECT_EQ(meshes.status().message(),
            "--devices 1048576: more than 256 meshes of up to 6 axes; name fewer (--axes data,model)");
}

TEST(SizesOf, DivisorsOfANodeThenWholeNodes) {
  EXPECT_EQ(SizesOf(Nodes(8, 16), 128), (std::vector<int64_t>{1, 2, 4, 8, 16, 32, 64, 128}));
  EXPECT_EQ(SizesOf(Nodes(6, 3), 18), (std::vector<int64_t>{1, 2, 3, 6, 12, 18}));
  EXPECT_EQ(SizesOf(Nodes(8, 1), 5), (std::vector<int64_t>{1, 2, 4, 5}));
}

TEST(ParseAxisNames, SaysWhatIsWrong) {
  EXPECT_EQ(*ParseAxisNames(" data , model"), (std::vector<std::string>{"data", "model"}));
  for (const std::string bad : {"", "data,", "data,data", "data=2", "2d", "a,b,c,d,e,f,g,h,i"}) {
    const auto names = ParseAxisNames(bad);
    ASSERT_FALSE(names.ok()) << bad;
    EXPECT_EQ(names.status().code(), Code::kUsage);
  }
}

}  // namespace
}  // namespace sbp
