// The part of view.h that turns a view back into ops.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "sbp/shard_math.h"
#include "simplify/view.h"

namespace sbp {

struct ViewWriter {
  using Piece = ElementView::Piece;
  using Step = ElementView::Step;

  // A piece of the source, which stands somewhere in the view: where, in the order of the view's pieces.
  struct Placed {
    Piece piece;
    size_t dim = 0;   // of the source
    size_t slot = 0;  // of the view
  };
  // A dimension of size 1 or a piece, in the order of the view.
  struct Slot {
    int64_t size = 1;
    bool from_source = false;  // else repeated, or of size 1
  };

  const ElementView& view;
  const Shape& source;
  std::vector<Slot> slots = {};
  std::vector<Placed> placed = {};
  Shape cut = {};  // the source's sizes after slicing
  std::vector<int64_t> starts = {};
  std::vector<Step> steps = {};

  // Cuts the view's pieces where the source's dimensions end.
  bool Place() {
    std::vector<int64_t> strides(source.size(), 1);
    for (size_t d = source.size(); d-- > 1;) strides[d - 1] = strides[d] * source[d];
    for (const std::vector<Piece>& dim : view.dims_) {
      if (dim.empty()) slots.push_back({});
      for (const Piece& piece : dim) {
        if (!PlacePiece(piece, strides)) return false;
      }
    }
    return true;
  }

  bool PlacePiece(Piece piece, const std::vector<int64_t>& strides) {
    if (piece.stride == 0) {
      slots.push_back({piece.size, false});
      return true;
    }
    std::vector<Placed> parts;  // minor first
    size_t d = source.size();
    while (piece.size > 1) {
      while (d > 0 && (source[d - 1] == 1 || strides[d - 1] * source[d - 1] <= piece.stride)) --d;
      if (d == 0 || piece.stride % strides[d - 1] != 0) return false;
      const int64_t end = strides[d - 1] * source[d - 1];
      const int64_t inside = end % piece.stride == 0 ? end / piece.stride : piece.size;
      const int64_t size = std::min(piece.size, inside);
      if (piece.size % size != 0 || piece.stride * size > end) return false;
      parts.push_back({{size, piece.stride}, d - 1, 0});
      piece = {piece.size / size, end};
    }
    std::reverse(parts.begin(), parts.end());
    for (Placed& part : parts) {
      part.slot = slots.size();
      slots.push_back({part.piece.size, true});
      placed.push_back(part);
    }
    return true;
  }

  // What each dimension of the source keeps: a run of neighbours, or nothing.
  bool Cut() {
    std::stable_sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) {
      return a.dim != b.dim ? a.dim < b.dim : a.piece.stride > b.piece.stride;
    });
    int64_t left = view.offset_, stride = 1;
    for (const int64_t size : source) stride *= size;
    size_t next = 0;
    for (size_t d = 0; d < source.size(); ++d) {
      stride /= source[d];
      starts.push_back(left / stride);
      left %= stride;
      int64_t count = 1;
      size_t end = next;
      while (end < placed.size() && placed[end].dim == d) count *= placed[end++].piece.size;
      for (int64_t run = count; next < end; ++next) {
        run /= placed[next].piece.size;
        if (placed[next].piece.stride != run * stride) return false;
      }
      if (starts[d] + count > source[d]) return false;
      cut.push_back(count);
    }
    if (cut != source) steps.push_back({Step::Kind::kSlice, cut, starts, {}});
    return true;
  }

  static void AddReshape(const Shape& from, const Shape& to, std::vector<Step>& steps) {
    if (from != to) steps.push_back({Step::Kind::kReshape, to, {}, {}});
  }

  // The pieces of the source, and the dimensions of size 1 that a Transpose takes along, as its perm wants them.
  void Move(Shape& now, const Shape& wanted, bool ends_here) {
    std::vector<size_t> order(placed.size());  // of the view, as positions in `placed`
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::sort(order, {}, [&](size_t i) { return placed[i].slot; });
    if (std::ranges::is_sorted(order)) return;
    std::vector<size_t> ones;    // dimensions of size 1 in `now`
    std::vector<size_t> pieces;  // the other ones
    for (size_t d = 0; d < now.size(); ++d) (now[d] == 1 ? ones : pieces).push_back(d);
    bool as_it_is = pieces.size() == placed.size();
    for (size_t i = 0; as_it_is && i < placed.size(); ++i) as_it_is = placed[i].piece.size == now[pieces[i]];
    if (!as_it_is) {
      const bool ones_come_later = ends_here && wanted != SlotSizes(false);  // with the Reshape at the end
      Shape parted;
      for (const Placed& part : placed) parted.push_back(part.piece.size);
      const auto of_view = std::ranges::count(slots, false, &Slot::from_source);
      if (!ones_come_later) parted.insert(parted.end(), static_cast<size_t>(of_view), 1);
      AddReshape(now, parted, steps);
      now = parted;
      pieces.resize(placed.size());
      std::iota(pieces.begin(), pieces.end(), size_t{0});
      ones.resize(now.size() - placed.size());
      std::iota(ones.begin(), ones.end(), placed.size());
    }
    MoveTo(pieces, ones, now);
  }

  // `pieces`, `ones`: the dimensions of `now` that are each placed piece, and of size 1.
  void MoveTo(const std::vector<size_t>& pieces, const std::vector<size_t>& ones, Shape& now) {
    std::vector<int> perm;
    size_t one = 0;
    std::vector<size_t> dim_of(slots.size());
    for (size_t i = 0; i < placed.size(); ++i) dim_of[placed[i].slot] = pieces[i];
    for (size_t s = 0; s < slots.size(); ++s) {
      if (slots[s].from_source) {
        perm.push_back(static_cast<int>(dim_of[s]));
      } else if (one < ones.size()) {
        perm.push_back(static_cast<int>(ones[one++]));
      }
    }
    while (one < ones.size()) perm.push_back(static_cast<int>(ones[one++]));
    Shape moved;
    for (const int d : perm) moved.push_back(now[static_cast<size_t>(d)]);
    steps.push_back({Step::Kind::kTranspose, moved, {}, std::move(perm)});
    now = moved;
  }

  Shape SlotSizes(bool repeated) const {
    Shape sizes;
    for (const Slot& slot : slots) sizes.push_back(slot.from_source || repeated ? slot.size : 1);
    return sizes;
  }

  std::optional<std::vector<Step>> Write() {
    if (!Place() || !Cut()) return std::nullopt;
    const Shape result = view.shape();
    const bool repeats =
        std::ranges::any_of(slots, [](const Slot& slot) { return !slot.from_source && slot.size > 1; });
    Shape now = cut;
    Move(now, result, !repeats);
    if (repeats) {
      AddReshape(now, SlotSizes(false), steps);
      now = SlotSizes(true);
      steps.push_back({Step::Kind::kExpand, now, {}, {}});
    }
    AddReshape(now, result, steps);
    return steps;
  }
};

std::optional<std::vector<ElementView::Step>> ElementView::Steps(const Shape& source) const {
  return ViewWriter{*this, source}.Write();
}

}  // namespace sbp
