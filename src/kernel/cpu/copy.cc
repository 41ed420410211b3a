#include "kernel/cpu/copy.h"

#include <algorithm>
#include <complex>
#include <cstdlib>
#include <cstring>

#include "base/status.h"
#include "kernel/convert.h"
#include "kernel/operands.h"
#include "kernel/view.h"
#include "sbp/shard_math.h"

namespace sbp::cpu {
namespace {

struct Dim {
  int64_t size, source, target;
};

// Two dimensions of which the source is contiguous along the outer and the target along the inner one. A tile of whole
// cache lines at a time goes through a buffer: each line is read and written once, however lines fall into the cache.
template <typename T>
void TransposeTiles(const std::byte* source, std::byte* target, const Dim& outer, const Dim& inner) {
  constexpr int64_t kSize = sizeof(T), kTile = std::max<int64_t>(8, 64 / kSize);
  T tile[kTile][kTile];  // [inner][outer]
  const auto copy_columns = [&](int64_t j0, int64_t begin, int64_t end) {
    const int64_t columns = std::min(kTile, inner.size - j0);
    for (int64_t i0 = begin; i0 < end; i0 += kTile) {
      const int64_t rows = std::min(kTile, end - i0);
      for (int64_t j = 0; j < columns; ++j)
        std::memcpy(tile[j], source + (j0 + j) * inner.source + i0 * kSize, static_cast<size_t>(rows * kSize));
      for (int64_t i = 0; i < rows; ++i) {
        T line[kTile];
        for (int64_t j = 0; j < columns; ++j) line[j] = tile[j][i];
        std::memcpy(target + (i0 + i) * outer.target + j0 * kSize, line, static_cast<size_t>(columns * kSize));
      }
    }
  };
  // So many rows of the target at a time that their pages stay known to the processor.
  constexpr int64_t kRows = 128;
  for (int64_t begin = 0; begin < outer.size; begin += kRows) {
    const int64_t end = std::min(outer.size, begin + kRows);
    for (int64_t j0 = 0; j0 < inner.size; j0 += kTile) copy_columns(j0, begin, end);
  }
}

template <typename T>
void CopyElementwise(const std::byte* source, std::byte* target, const Dim& outer, const Dim& inner) {
  constexpr int64_t kSize = sizeof(T);
  if (outer.source == kSize && inner.target == kSize) return TransposeTiles<T>(source, target, outer, inner);
  for (int64_t i = 0; i < outer.size; ++i) {
    const std::byte* from = source + i * outer.source;
    std::byte* to = target + i * outer.target;
    for (int64_t j = 0; j < inner.size; ++j) std::memcpy(to + j * inner.target, from + j * inner.source, sizeof(T));
  }
}

void CopyPlane(int64_t bytes, const std::byte* source, std::byte* target, const Dim& outer, const Dim& inner) {
  if (inner.source == bytes && inner.target == bytes) {
    for (int64_t i = 0; i < outer.size; ++i)
      std::memcpy(target + i * outer.target, source + i * outer.source, static_cast<size_t>(inner.size * bytes));
    return;
  }
  switch (bytes) {
    case 1:
      return CopyElementwise<uint8_t>(source, target, outer, inner);
    case 2:
      return CopyElementwise<uint16_t>(source, target, outer, inner);
    case 4:
      return CopyElementwise<uint32_t>(source, target, outer, inner);
    case 8:
      return CopyElementwise<uint64_t>(source, target, outer, inner);
    default:
      return CopyElementwise<std::complex<double>>(source, target, outer, inner);
  }
}

// The target's order, neighbours that both sides walk as one joined; last the plane that is copied at once: the inner
// dimension and the one along which the source is contiguous.
std::vector<Dim> CopyOrder(const Shape& shape, const std::vector<int64_t>& source, const std::vector<int64_t>& target) {
  std::vector<Dim> dims;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] != 1) dims.push_back({shape[d], source[d], target[d]});
  }
  std::stable_sort(dims.begin(), dims.end(),
                   [](const Dim& a, const Dim& b) { return std::abs(a.target) > std::abs(b.target); });
  std::vector<Dim> joined;
  for (const Dim& dim : dims) {
    if (!joined.empty() && joined.back().source == dim.source * dim.size &&
        joined.back().target == dim.target * dim.size)
      joined.back() = {joined.back().size * dim.size, dim.source, dim.target};
    else
      joined.push_back(dim);
  }
  while (joined.size() < 2) joined.insert(joined.begin(), Dim{1, 0, 0});
  const auto nearest = std::min_element(joined.begin(), joined.end() - 1, [](const Dim& a, const Dim& b) {
    return (a.source == 0 ? INT64_MAX : std::abs(a.source)) < (b.source == 0 ? INT64_MAX : std::abs(b.source));
  });
  if (std::abs(nearest->source) < std::abs(joined.back().source)) std::rotate(nearest, nearest + 1, joined.end() - 1);
  return joined;
}

}  // namespace

void CopyStrided(const Shape& shape, int64_t bytes, const std::byte* source, const std::vector<int64_t>& source_strides,
                 std::byte* target, const std::vector<int64_t>& target_strides) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return;
  const std::vector<Dim> dims = CopyOrder(shape, source_strides, target_strides);
  const size_t outer = dims.size() - 2;
  std::vector<int64_t> index(outer, 0);
  while (true) {
    CopyPlane(bytes, source, target, dims[outer], dims[outer + 1]);
    size_t d = outer;
    while (d > 0 && ++index[d - 1] == dims[d - 1].size) {
      --d;
      index[d] = 0;
      source -= (dims[d].size - 1) * dims[d].source;
      target -= (dims[d].size - 1) * dims[d].target;
    }
    if (d == 0) return;
    source += dims[d - 1].source;
    target += dims[d - 1].target;
  }
}

void Fill(std::byte* target, int64_t n, const std::byte* element, int64_t bytes) {
  if (n <= 0) return;
  std::memcpy(target, element, static_cast<size_t>(bytes));
  // What is filled is copied behind itself: 1, 2, 4, ... elements.
  for (int64_t done = 1; done < n;) {
    const int64_t more = std::min(done, n - done);
    std::memcpy(target + done * bytes, target, static_cast<size_t>(more * bytes));
    done += more;
  }
}

Status OnBytes(KernelCall& call, KernelFn kernel) {
  if (!HasPacked(call)) return kernel(call);
  const auto packed = [](const TensorView& view) { return view.present() && IsPacked(view.dtype); };
  KernelCall bytes = call;
  for (TensorView& view : bytes.inputs) {
    if (!packed(view)) continue;
    std::byte* data = call.scratch->Allocate(view.elements());
    Unpack(view.dtype, view.data, view.elements(), data);
    view.data = data;
  }
  for (TensorView& view : bytes.outputs) {
    if (packed(view)) view.data = call.scratch->Allocate(view.elements());
  }
  SBP_RETURN_IF_ERROR(kernel(bytes));
  for (size_t r = 0; r < bytes.outputs.size(); ++r) {
    TensorView& view = bytes.outputs[r];
    if (packed(view)) {
      Pack(view.dtype, view.data, view.elements(), call.outputs[r].data);
      view.data = call.outputs[r].data;
    }
    call.outputs[r] = view;
  }
  return OkStatus();
}

}  // namespace sbp::cpu
