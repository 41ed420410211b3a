// Which meshes a number of devices can form.
//
// A mesh is a sequence of axis sizes, outermost first, whose product is the number of devices. The order matters: ranks
// fill nodes in order, so that inner axes lie within a node, and an outer split of a dimension can be split further by
// an inner axis without communication, but not the other way round. (8, 2) and (2, 8) are therefore two meshes, even
// within one node. What the axes are called matters only where pins or recipes name them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cluster/cluster.h"
#include "sbp/mesh.h"

namespace sbp {

// "data,model": the names of axes, outermost first. Errors (kUsage): none, an empty name, one that ParseMesh would not
// take, a repeated one, more than kMaxMeshAxes.
Result<std::vector<std::string>> ParseAxisNames(std::string_view text);

// What becomes of names that a mesh has no use for, as it has fewer axes than there are names.
enum class AxisNaming : uint8_t {
  kFree,   // names mean nothing: each sequence of sizes once, called by the first names and the last one
  kNamed,  // names mean something (recipes per axis): each way to give sizes to the names; axes of size 1 are left out
  kAll,    // layouts are given for all axes (pins): all names, each of a size above 1
};

// A mesh respects nodes where no axis straddles them half-way: let p be the devices of one step of an axis (the product
// of the axes inside it), for each axis, and of the whole mesh; each p must divide the devices of a node or be a
// multiple of them. Then each group of an axis lies within one node or has equally many ranks on each of its nodes. On
// 8 devices a node (12, 2) does, with 4 ranks on each of 6 nodes, and (3, 8); (8, 3) and (2, 12) do not, some of whose
// groups are on two nodes and some on one. A mesh on one node always does.
bool RespectsNodes(const Cluster& cluster, const Mesh& mesh);

// Meshes of `devices` with 1 to names.size() axes, each of size 2 or more (of one device: one axis of size 1), those of
// fewer axes first, then by sizes, outermost first, the largest first. Those that respect nodes; where none does (12
// devices on nodes of 8: it must be), all. At most `most`: the error says how many there are and what to do. Errors
// (kBadInput): kAll, and the devices are no product of so many sizes.
inline constexpr size_t kMostMeshes = 256;
Result<std::vector<Mesh>> MeshesOf(int64_t devices, const std::vector<std::string>& names, AxisNaming naming,
                                   const Cluster& cluster, size_t most = kMostMeshes);

// The sizes at which `--fit` looks first: those up to `most` that divide a node's devices, then whole nodes, each time
// twice as many, and `most`. Ascending.
std::vector<int64_t> SizesOf(const Cluster& cluster, int64_t most);

}  // namespace sbp
