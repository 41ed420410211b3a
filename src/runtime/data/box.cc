#include "runtime/data/box.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"

namespace sbp {

int64_t Elements(const Box& box) {
  int64_t elements = 1;
  for (const Range& range : box) elements *= range.size();
  return elements;
}

bool Contains(const Box& outer, const Box& inner) {
  if (Elements(inner) == 0) return true;
  for (size_t d = 0; d < outer.size(); ++d) {
    if (inner[d].begin < outer[d].begin || inner[d].end > outer[d].end) return false;
  }
  return true;
}

Box Intersect(const Box& a, const Box& b) {
  Box both(a.size());
  for (size_t d = 0; d < a.size(); ++d) {
    both[d].begin = std::max(a[d].begin, b[d].begin);
    both[d].end = std::max(both[d].begin, std::min(a[d].end, b[d].end));
  }
  return both;
}

std::string ToString(const Box& box) {
  std::vector<std::string> parts;
  for (const Range& range : box) parts.push_back(StrCat(range.begin, ":", range.end));
  return StrCat("[", Join(parts, ", "), "]");
}

std::vector<Box> Subtract(const Box& a, const Box& b) {
  if (Elements(a) == 0) return {};
  const Box both = Intersect(a, b);
  if (Elements(both) == 0) return {a};
  std::vector<Box> left;
  Box rest = a;  // shrinks to `both`, one dimension after the other
  for (size_t d = 0; d < a.size(); ++d) {
    for (const Range cut : {Range{rest[d].begin, both[d].begin}, Range{both[d].end, rest[d].end}}) {
      if (cut.size() == 0) continue;
      left.push_back(rest);
      left.back()[d] = cut;
    }
    rest[d] = both[d];
  }
  return left;
}

std::vector<Box> BoxesOfMesh(const Shape& whole, const NdSbp& layout, const Mesh& mesh) {
  std::vector<Box> boxes;
  for (int64_t p = 0; p < mesh.num_devices(); ++p) {
    boxes.push_back(LocalSlice(whole, layout, mesh, mesh.Coordinates(p)));
  }
  return boxes;
}

std::optional<int64_t> OnlyRunAt(const Box& part, const Box& whole) {
  if (Elements(part) == 0) return std::nullopt;
  int64_t at = 0, stride = 1;
  bool cut = false;  // some dimension further in is not taken whole
  for (size_t d = part.size(); d-- > 0;) {
    if (cut && part[d].size() > 1) return std::nullopt;
    cut = cut || part[d] != whole[d];
    at += (part[d].begin - whole[d].begin) * stride;
    stride *= whole[d].size();
  }
  return at;
}

void CopyElements(DType dtype, int64_t count, const std::byte* source, int64_t source_offset, std::byte* target,
                  int64_t target_offset) {
  const int64_t bits = DTypeBits(dtype);
  if (count == 0 || bits == 0) return;
  if (source_offset * bits % 8 == 0 && target_offset * bits % 8 == 0 && count * bits % 8 == 0) {
    std::memcpy(target + target_offset * bits / 8, source + source_offset * bits / 8,
                static_cast<size_t>(count * bits / 8));
    return;
  }
  const auto mask = static_cast<unsigned>((1 << bits) - 1);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t from = (source_offset + i) * bits, to = (target_offset + i) * bits;
    const unsigned value = (std::to_integer<unsigned>(source[from / 8]) >> (from % 8)) & mask;
    std::byte& place = target[to / 8];
    place = (place & ~static_cast<std::byte>(mask << (to % 8))) | static_cast<std::byte>(value << (to % 8));
  }
}

void CopyBox(DType dtype, const Box& part, const std::byte* source, const Box& source_box, std::byte* target,
             const Box& target_box) {
  EachRun(part, source_box, target_box,
          [&](const ElementRun& run) { CopyElements(dtype, run.count, source, run.a, target, run.b); });
}

std::vector<Piece> PiecesFor(int rank, const Box& wanted, const std::vector<Box>& held) {
  std::vector<Piece> pieces;
  std::vector<Box> missing = {wanted};
  const int size = static_cast<int>(held.size());
  for (int step = 0; step < size && !missing.empty(); ++step) {
    const int source = (rank + step) % size;
    std::vector<Box> still;
    for (const Box& box : missing) {
      Box both = Intersect(box, held[source]);
      const std::vector<Box> rest = Subtract(box, held[source]);
      still.insert(still.end(), rest.begin(), rest.end());
      if (Elements(both) > 0) pieces.push_back({source, std::move(both)});
    }
    missing = std::move(still);
  }
  return pieces;
}

}  // namespace sbp
