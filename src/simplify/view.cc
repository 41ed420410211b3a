#include "simplify/view.h"

#include <algorithm>

#include "sbp/shard_math.h"

namespace sbp {

ElementView::ElementView(const Shape& source) : dims_(source.size()) {
  int64_t stride = 1;
  for (size_t d = source.size(); d-- > 0;) {
    if (source[d] > 1) dims_[d] = {{source[d], stride}};
    stride *= source[d];
  }
}

Shape ElementView::shape() const {
  Shape shape;
  for (const std::vector<Piece>& dim : dims_) {
    int64_t size = 1;
    for (const Piece& piece : dim) size *= piece.size;
    shape.push_back(size);
  }
  return shape;
}

bool ElementView::Reshape(const Shape& shape) {
  std::vector<Piece> flat;  // neighbours that lie one after the other are one piece
  for (const std::vector<Piece>& dim : dims_) {
    for (const Piece& piece : dim) {
      if (!flat.empty() && flat.back().stride == piece.stride * piece.size) {
        flat.back() = {flat.back().size * piece.size, piece.stride};
      } else {
        flat.push_back(piece);
      }
    }
  }
  dims_.assign(shape.size(), {});
  size_t next = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    for (int64_t left = shape[d]; left > 1;) {
      if (next == flat.size()) return false;
      Piece& piece = flat[next];
      if (left % piece.size == 0) {
        dims_[d].push_back(piece);
        left /= piece.size;
        ++next;
      } else if (piece.size % left == 0) {
        piece.size /= left;
        dims_[d].push_back({left, piece.stride * piece.size});
        left = 1;
      } else {
        return false;
      }
    }
  }
  return next == flat.size();
}

void ElementView::Transpose(const std::vector<int>& perm) {
  std::vector<std::vector<Piece>> dims;
  for (const int d : perm) dims.push_back(dims_[static_cast<size_t>(d)]);
  dims_ = std::move(dims);
}

bool ElementView::Expand(const Shape& shape) {
  if (shape.size() < dims_.size()) return false;
  dims_.insert(dims_.begin(), shape.size() - dims_.size(), {});
  const Shape before = this->shape();
  for (size_t d = 0; d < shape.size(); ++d) {
    if (before[d] == shape[d]) continue;
    if (before[d] != 1) return false;
    dims_[d] = {{shape[d], 0}};
  }
  return true;
}

bool ElementView::Pick(const Shape& shape, const std::vector<int64_t>& strides, int64_t offset) {
  if (dims_.size() != 1 || dims_[0].size() > 1) return false;
  const int64_t step = dims_[0].empty() ? 0 : dims_[0][0].stride;
  offset_ += offset * step;
  dims_.assign(shape.size(), {});
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] > 1) dims_[d] = {{shape[d], strides[d] * step}};
  }
  return true;
}

bool ElementView::Slice(size_t dim, int64_t start, int64_t count) {
  std::vector<Piece>& pieces = dims_[dim];
  int64_t inner = 1;
  for (const Piece& piece : pieces) inner *= piece.size;
  if (start < 0 || count < 1 || start + count > inner) return false;
  while (!pieces.empty()) {
    Piece& major = pieces.front();
    inner /= major.size;
    if (start % inner == 0 && count % inner == 0) {
      offset_ += start / inner * major.stride;
      major.size = count / inner;
      if (major.size == 1) pieces.erase(pieces.begin());
      return true;
    }
    if (start / inner != (start + count - 1) / inner) return false;
    offset_ += start / inner * major.stride;
    start %= inner;
    pieces.erase(pieces.begin());
  }
  return true;
}

}  // namespace sbp
