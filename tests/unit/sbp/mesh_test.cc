#include "sbp/mesh.h"

#include <gtest/gtest.h>

namespace sbp {
namespace {

TEST(Mesh, ReadsAndPrints) {
  const struct {
    const char* text;
    const char* printed;  // "" if an error
  } kRows[] = {{"data=2,model=4", "data=2,model=4"},
               {"2,4", "x0=2,x1=4"},
               {"4", "x=4"},
               {"data=2,model=4@0-7", "data=2,model=4"},
               {"x=4@8-11", "x=4@8-11"},
               {"x=2@[0,4]", "x=2@[0,4]"},
               {"x=4@0-1,4-5", "x=4@[0,1,4,5]"},
               {"x=1", "x=1"},
               {"[[0,1],[2,3]]", "x0=2,x1=2"},
               {"[0, 1, 2, 3]", "x=4"},
               {"[4]", "x=1@4-4"},
               {" [[0,2], [1,3]] ", "x0=2,x1=2@[0,2,1,3]"},
               {"[[0,1],[2,3],[4,5]]", "x0=3,x1=2"},
               {"[[[0,1],[2,3]],[[4,5],[6,7]]]", "x0=2,x1=2,x2=2"},
               {"[[8,9]]", "x0=1,x1=2@8-9"},
               {"[[0,1],[2]]", ""},
               {"[[0,1],2]", ""},
               {"[0,[1,2]]", ""},
               {"[[[0],[1]],[2,3]]", ""},
               {"[[0],[[1]]]", ""},
               {"[[0,1],[1,2]]", ""},
               {"[[0,1],[2,3]", ""},
               {"[[0,1],[2,3]]]", ""},
               {"[]", ""},
               {"[[],[]]", ""},
               {"[[0,-1]]", ""},
               {"[0,x]", ""},
               {"[0,1]@0-1", ""},
               {"[[[[[[[[[0]]]]]]]]]", ""},
               {"x=0", ""},
               {"x=-1", ""},
               {"x=two", ""},
               {"x=", ""},
               {"=2", ""},
               {"", ""},
               {"x=2,x=2", ""},
               {"x1=2,3", ""},
               {"1,1,1,1,1,1,1,1,1", ""},
               {"65536,65536", ""},
               {"9223372036854775807,9223372036854775807", ""},
               {"x=2@[0]", ""},
               {"x=2@[0,0]", ""},
               {"x=2@[0,-1]", ""},
               {"x=2@0-99999999999", ""},
               {"x=2147483648@0-2147483647", ""}};
  for (const auto& row : kRows) {
    const Result<Mesh> mesh = ParseMesh(row.text);
    EXPECT_EQ(mesh.ok() ? ToString(*mesh) : "", row.printed) << row.text;
    if (mesh.ok()) {
      EXPECT_EQ(*ParseMesh(ToString(*mesh)), *mesh);
    }
  }
}

TEST(Mesh, PositionsAndGroups) {
  const Mesh mesh = *ParseMesh("a=2,b=3,c=2");
  for (int64_t p = 0; p < mesh.num_devices(); ++p) EXPECT_EQ(mesh.Position(mesh.Coordinates(p)), p);
  EXPECT_EQ(mesh.Coordinates(7), (std::vector<int64_t>{1, 0, 1}));
  EXPECT_EQ(mesh.Groups(1), (std::vector<std::vector<int64_t>>{{0, 2, 4}, {1, 3, 5}, {6, 8, 10}, {7, 9, 11}}));
  EXPECT_EQ(mesh.Groups(0).size(), 6u);
}

}  // namespace
}  // namespace sbp
