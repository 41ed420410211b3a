// Views: what a chain of ops that only move elements (Reshape, Transpose, Slice, Expand, ...) does, in one normal form.
//
// A dimension of a view is a list of strides over a source tensor, major first: index (i0, i1, ...) of the dimension's
// pieces reads the source's flat element offset + i0 * stride0 + i1 * stride1 + ... . A stride of 0 repeats. All ops
// above map views to views or fail, and a view turns back into at most five ops: Slice, Reshape, Transpose, Expand,
// Reshape.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/tensor_type.h"
#include "sbp/shard_math.h"

namespace sbp {

class ElementView {
 public:
  // The source itself. Sizes are at least 1.
  explicit ElementView(const Shape& source);

  Shape shape() const;

  // Each is false, and the view then unspecified, where the result is no view of this form.
  bool Reshape(const Shape& shape);
  void Transpose(const std::vector<int>& perm);
  bool Expand(const Shape& shape);  // as ONNX broadcasts
  bool Slice(size_t dim, int64_t start, int64_t count);
  // Of a view of one dimension: element (i0, i1, ...) is offset + i0 * strides[0] + ... of it, which is there.
  bool Pick(const Shape& shape, const std::vector<int64_t>& strides, int64_t offset);

  // Of views that Reshape has made: do they read the same elements of a source?
  friend bool operator==(const ElementView&, const ElementView&) = default;

  // One op of the normal form. Slice: `shape` are the sizes, `starts` one per dimension.
  struct Step {
    enum class Kind : uint8_t { kSlice, kReshape, kTranspose, kExpand };
    Kind kind = Kind::kReshape;
    Shape shape;
    std::vector<int64_t> starts;
    std::vector<int> perm;
  };
  // The fewest such steps from `source` to this view, in the order of Step::Kind (a second Reshape at the end).
  // Nothing: the view picks elements at a distance, or across the source's dimensions.
  std::optional<std::vector<Step>> Steps(const Shape& source) const;

 private:
  struct Piece {
    int64_t size = 1;  // at least 2
    int64_t stride = 0;
    friend bool operator==(const Piece&, const Piece&) = default;
  };
  friend struct ViewWriter;
  std::vector<std::vector<Piece>> dims_;
  int64_t offset_ = 0;
};

}  // namespace sbp
