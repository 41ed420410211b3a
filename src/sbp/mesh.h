// Mesh: named device axes with sizes, outermost first, and the ranks that stand at its points.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "sbp/sbp.h"

namespace sbp {

struct MeshAxis {
  std::string name;
  int64_t size = 1;
  friend bool operator==(const MeshAxis&, const MeshAxis&) = default;
};

// `ranks` is row-major (last axis fastest); empty means 0, 1, 2, ...
struct Mesh {
  std::vector<MeshAxis> axes;
  std::vector<int64_t> ranks;

  int num_axes() const { return static_cast<int>(axes.size()); }
  int64_t size(int axis) const { return axes[axis].size; }
  int64_t num_devices() const;
  // The global rank at a row-major position.
  int64_t rank(int64_t position) const { return ranks.empty() ? position : ranks[position]; }
  // Position of a point given by one coordinate per axis, and back.
  int64_t Position(const std::vector<int64_t>& coordinates) const;
  std::vector<int64_t> Coordinates(int64_t position) const;
  // All groups of an axis: lists of positions that differ in that coordinate only, in position order.
  std::vector<std::vector<int64_t>> Groups(int axis) const;

  friend bool operator==(const Mesh&, const Mesh&) = default;
};

// "data=2,model=4", "data=2,model=4@0-7", "x=2@[0,4]", "2,4" or "4" (axes named x0, x1, ...; a single one "x"), or
// the ranks as nested lists, Paddle's process_mesh: "[[0,1],[2,3]]" is "2,2", "[[0,2],[1,3]]" is "2,2@[0,2,1,3]".
// Errors: an axis of size 0 or negative, a repeated name, more than kMaxMeshAxes axes, more than 2^31 devices, a rank
// list of another length or with a repeated rank, nested lists of different lengths.
Result<Mesh> ParseMesh(std::string_view text);
std::string ToString(const Mesh& mesh);  // ParseMesh reads it back

}  // namespace sbp
