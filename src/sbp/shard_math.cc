#include "sbp/shard_math.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace sbp {

Range BalancedPart(Range whole, int64_t parts, int64_t part) {
  const int64_t least = whole.size() / parts;
  const int64_t larger = whole.size() % parts;  // so many parts hold one more
  const int64_t begin = whole.begin + part * least + std::min(part, larger);
  return {begin, begin + least + (part < larger ? 1 : 0)};
}

std::vector<Range> LocalSlice(const Shape& shape, const NdSbp& sbp, const Mesh& mesh,
                              const std::vector<int64_t>& coordinates) {
  std::vector<Range> slice;
  slice.reserve(shape.size());
  for (int64_t size : shape) slice.push_back({0, size});
  for (int axis = 0; axis < sbp.size(); ++axis) {
    if (!sbp[axis].is_split()) continue;
    Range& range = slice[sbp[axis].dim()];
    range = BalancedPart(range, mesh.size(axis), coordinates[axis]);
  }
  return slice;
}

Shape LocalShape(const Shape& shape, const NdSbp& sbp, const Mesh& mesh) {
  Shape local = shape;
  for (int axis = 0; axis < sbp.size(); ++axis) {
    if (!sbp[axis].is_split()) continue;
    int64_t& size = local[sbp[axis].dim()];
    size = size / mesh.size(axis) + (size % mesh.size(axis) != 0 ? 1 : 0);
  }
  return local;
}

Status ValidateLayout(const Shape& shape, const NdSbp& sbp, const Mesh& mesh, bool even_only) {
  if (sbp.size() != mesh.num_axes()) {
    return BadInput(
        StrCat("layout ", ToString(sbp), " has ", sbp.size(), " entries for a mesh of ", mesh.num_axes(), " axes"));
  }
  Shape least = shape;  // of the smallest part
  std::optional<Sbp> partial;
  for (int axis = 0; axis < sbp.size(); ++axis) {
    const Sbp entry = sbp[axis];
    const auto where = [&] {
      return StrCat("layout ", ToString(sbp), ": on axis ", Quote(mesh.axes[axis].name), ", ");
    };
    if (entry.is_partial()) {
      if (partial && *partial != entry) {
        return BadInput(StrCat(where(), ToString(entry), " beside ", ToString(*partial),
                               ": one tensor cannot be partial of two kinds"));
      }
      partial = entry;
    }
    if (!entry.is_split()) continue;
    if (entry.dim() >= static_cast<int>(shape.size())) {
      return BadInput(StrCat(where(), ToString(entry), " of a tensor of ", shape.size(), " dimensions"));
    }
    int64_t& size = least[entry.dim()];
    const int64_t parts = mesh.size(axis);
    if (size < parts) {
      return BadInput(
          StrCat(where(), "dimension ", entry.dim(), " of size ", size, " is too short for ", parts, " parts"));
    }
    if (even_only && size % parts != 0) {
      return BadInput(StrCat(where(), "dimension ", entry.dim(), " of size ", size, " does not split evenly into ",
                             parts, " parts"));
    }
    size /= parts;
  }
  return OkStatus();
}

}  // namespace sbp
