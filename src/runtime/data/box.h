// Boxes: rectangular parts of a tensor, and copies between buffers that hold them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "kernel/view.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {

// One range per dimension, in positions of the whole tensor. A box of no dimensions holds one element.
using Box = std::vector<Range>;

int64_t Elements(const Box& box);
bool Contains(const Box& outer, const Box& inner);  // an empty `inner` is in every box
Box Intersect(const Box& a, const Box& b);          // of equal rank; empty ranges have begin == end
std::string ToString(const Box& box);               // "[0:4, 8:16]"

// What is left of `a` without `b`: disjoint boxes, at most two per dimension.
std::vector<Box> Subtract(const Box& a, const Box& b);

// The part of each device of the mesh, in row-major order of positions.
std::vector<Box> BoxesOfMesh(const Shape& whole, const NdSbp& layout, const Mesh& mesh);

// A run of elements that lie side by side in both buffers; offsets in elements.
struct ElementRun {
  int64_t a = 0, b = 0, count = 0;
};
// Calls visit(ElementRun) for each run of `part` in two dense row-major buffers that hold the boxes `a` and `b`, in
// row-major order. `part` lies in both.
template <typename Visit>
void EachRun(const Box& part, const Box& a, const Box& b, Visit visit);

// The element of a dense row-major buffer that holds `whole` where `part`, which lies in it, begins, if the elements of
// the part lie there in one run; a part without elements does not.
std::optional<int64_t> OnlyRunAt(const Box& part, const Box& whole);

// Copies `part` from a buffer that holds `source_box` to one that holds `target_box`. Elements of 4 and 2 bits
// included.
void CopyBox(DType dtype, const Box& part, const std::byte* source, const Box& source_box, std::byte* target,
             const Box& target_box);

// Copies `count` elements between buffers, from one offset in elements to another.
void CopyElements(DType dtype, int64_t count, const std::byte* source, int64_t source_offset, std::byte* target,
                  int64_t target_offset);

// A piece of a redistribution: what one rank takes from another.
struct Piece {
  int source = 0;  // rank within the group
  Box box;
};
// How a rank fills `wanted` from the boxes that the ranks hold: first from its own, then from the next ranks, around.
// The pieces are disjoint; they cover `wanted` unless nobody holds some of it.
std::vector<Piece> PiecesFor(int rank, const Box& wanted, const std::vector<Box>& held);

template <typename Visit>
void EachRun(const Box& part, const Box& a, const Box& b, Visit visit) {
  const size_t rank = part.size();
  if (Elements(part) == 0) return;
  // From `inner` on, everything is contiguous in all three: one run spans those dimensions.
  size_t inner = rank;
  int64_t count = 1;
  while (inner > 0) {
    --inner;
    count *= part[inner].size();
    if (part[inner] != a[inner] || part[inner] != b[inner]) break;
  }
  std::vector<int64_t> stride_a(rank, 1), stride_b(rank, 1), index(rank, 0);
  for (size_t d = rank; d-- > 1;) {
    stride_a[d - 1] = stride_a[d] * a[d].size();
    stride_b[d - 1] = stride_b[d] * b[d].size();
  }
  ElementRun run{0, 0, count};
  for (size_t d = 0; d < rank; ++d) {
    run.a += (part[d].begin - a[d].begin) * stride_a[d];
    run.b += (part[d].begin - b[d].begin) * stride_b[d];
  }
  while (true) {
    visit(run);
    size_t d = inner;
    for (; d > 0; --d) {
      run.a += stride_a[d - 1];
      run.b += stride_b[d - 1];
      if (++index[d - 1] < part[d - 1].size()) break;
      run.a -= stride_a[d - 1] * part[d - 1].size();
      run.b -= stride_b[d - 1] * part[d - 1].size();
      index[d - 1] = 0;
    }
    if (d == 0) return;
  }
}

}  // namespace sbp
