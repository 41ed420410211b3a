// Scatter: a copy of the data with updates written, or combined, at indices. Indices count in the whole; those of other
// devices' parts are left out. Updates of one place meet in their order, whatever threads run first: replaced, the last
// one claims the place; combined, they are sorted by place and one thread takes all of a place.
#include <cstdint>
#include <string>

#include "base/dtype.h"
#include "base/host_device.h"
#include "base/status.h"
#include "gpu/for_each.h"
#include "kernel/convert.h"
#include "kernel/gpu/copy.h"
#include "kernel/gpu/elements.h"
#include "kernel/gpu/indices.h"
#include "kernel/gpu/kernels.h"  // keep: declares what stands here
#include "kernel/gpu/operands.h"
#include "kernel/gpu/sort.h"
#include "kernel/gpu/words.h"
#include "kernel/kernel.h"
#include "kernel/operands.h"
#include "kernel/scalar/binary.h"
#include "kernel/view.h"

namespace sbp::SBP_GPU_BUILD {
namespace {

// What is written: `count` updates of `slice` elements, update i at element offsets[i] (-1: nowhere) of the result.
struct Updates {
  int64_t count, slice;
  const int64_t* offsets;
  const std::byte* data;
};

struct Claim {
  Updates updates;
  int64_t* claims;  // per place of `slice` elements
  SBP_HD void operator()(int64_t i) const {
    const int64_t offset = updates.offsets[i];
    if (offset >= 0) gpu::SetMax(claims + Divide(offset, updates.slice), i);
  }
};

template <typename T>
struct WriteClaimed {
  Updates updates;
  const int64_t* claims;
  std::byte* out;
  SBP_HD void operator()(int64_t i) const {
    const int64_t update = Divide(i, updates.slice), offset = updates.offsets[update];
    if (offset < 0 || claims[Divide(offset, updates.slice)] != update) return;
    At<T>(out, offset + i - update * updates.slice) = At<T>(updates.data, i);
  }
};

Status Replace(KernelCall& call, const Updates& updates) {
  TensorView& out = call.outputs[0];
  const int64_t places = out.elements() / updates.slice, none = -1;
  SBP_ASSIGN_OR_RETURN(auto* claims, ScratchFor<int64_t>(call, places));
  SBP_RETURN_IF_ERROR(Fill(*call.stream, reinterpret_cast<std::byte*>(claims), places,
                           reinterpret_cast<const std::byte*>(&none), sizeof none));
  SBP_RETURN_IF_ERROR(gpu::ForEach(*call.stream, updates.count, Claim{updates, claims}));
  return WithWord(ElementBytes(out.dtype), [&]<typename T>(T) {
    return gpu::ForEach(*call.stream, updates.count * updates.slice, WriteClaimed<T>{updates, claims, out.data});
  });
}

// By place, then by the updates' order. Padding has a place after all.
struct PlaceKeys {
  int64_t *places, *order;
  SBP_HD bool Before(int64_t a, int64_t b) const {
    return places[a] != places[b] ? places[a] < places[b] : order[a] < order[b];
  }
  SBP_HD void Swap(int64_t a, int64_t b) const {
    const int64_t place = places[a], index = order[a];
    places[a] = places[b];
    order[a] = order[b];
    places[b] = place;
    order[b] = index;
  }
};
struct MakePlaceKeys {
  Updates updates;
  PlaceKeys keys;
  SBP_HD void operator()(int64_t i) const {
    constexpr int64_t kLast = INT64_MAX;
    const int64_t offset = i < updates.count ? updates.offsets[i] : -1;
    keys.places[i] = offset < 0 ? kLast : offset;
    keys.order[i] = i;
  }
};

// Index: of an element of a sorted update; the first update of each place folds all of them.
template <typename C, typename F>
struct FoldPlace {
  Updates updates;
  PlaceKeys keys;
  DType type;
  std::byte* out;
  SBP_HD void operator()(int64_t i) const {
    const F f;
    const int64_t first = Divide(i, updates.slice), element = i - first * updates.slice, place = keys.places[first];
    if (place == INT64_MAX || (first > 0 && keys.places[first - 1] == place)) return;
    C value = LoadAs<C>(type, out, place + element);
    for (int64_t u = first; u < updates.count && keys.places[u] == place; ++u) {
      // Stored after every step, as one after the other would be.
      StoreAs(type, out, place + element,
              f(value, LoadAs<C>(type, updates.data, keys.order[u] * updates.slice + element)));
      value = LoadAs<C>(type, out, place + element);
    }
  }
};

template <typename F>
Status Combine(KernelCall& call, const Updates& updates) {
  TensorView& out = call.outputs[0];
  const int64_t padded = PaddedToSort(updates.count);
  PlaceKeys keys{};
  SBP_ASSIGN_OR_RETURN(keys.places, ScratchFor<int64_t>(call, padded));
  SBP_ASSIGN_OR_RETURN(keys.order, ScratchFor<int64_t>(call, padded));
  SBP_RETURN_IF_ERROR(gpu::ForEach(*call.stream, padded, MakePlaceKeys{updates, keys}));
  SBP_RETURN_IF_ERROR(Sort(*call.stream, 1, padded, keys));
  const auto run = [&]<typename C>(C) {
    return gpu::ForEach(*call.stream, updates.count * updates.slice,
                        FoldPlace<C, F>{updates, keys, out.dtype, out.data});
  };
  switch (ComputeType(out.dtype)) {
    case DType::kF32:
      return run(float{});
    case DType::kF64:
      return run(double{});
    case DType::kU64:
      return run(uint64_t{});
    default:
      return run(int64_t{});
  }
}

Status Apply(KernelCall& call, const Updates& updates) {
  const TensorView& data = call.inputs[0];
  TensorView& out = call.outputs[0];
  if (data.shape != out.shape) return Defect("the result's shape is not that of the data");
  const int64_t bytes = data.elements() * ElementBytes(data.dtype);
  if (out.data != data.data) SBP_RETURN_IF_ERROR(call.stream->Copy(data.data, out.data, bytes));
  if (updates.count == 0 || updates.slice == 0 || out.elements() == 0) return OkStatus();
  const std::string how = call.attributes->String("reduction", "none");
  if (how == "none") return Replace(call, updates);
  if (IsComplex(data.dtype)) return Defect("no kernel for this element type");
  if (how == "add") return Combine<scalar::AddOf>(call, updates);
  if (how == "mul") return Combine<scalar::MulOf>(call, updates);
  if (how == "max") return Combine<scalar::MaxOf>(call, updates);
  if (how == "min") return Combine<scalar::MinOf>(call, updates);
  return RunFailed("unknown reduction " + how);
}

struct OffsetOfElement {
  PartOffsets offsets;
  int64_t* out;
  SBP_HD void operator()(int64_t i) const { out[i] = offsets.At(i); }
};

Status ScatterElementsBytes(KernelCall& call) {
  const TensorView &data = call.inputs[0], &which = call.inputs[1], &updates = call.inputs[2];
  SBP_ASSIGN_OR_RETURN(const int64_t axis, AxisIn(call.attributes->Int("axis", 0), data.rank()));
  if (which.rank() != data.rank() || updates.shape != which.shape)
    return RunFailed("indices and updates differ in shape");
  SBP_ASSIGN_OR_RETURN(const PartOffsets offsets, MakePartOffsets(call, data, which, axis));
  const int64_t n = which.elements();
  SBP_ASSIGN_OR_RETURN(auto* places, ScratchFor<int64_t>(call, n));
  SBP_RETURN_IF_ERROR(gpu::ForEach(*call.stream, n, OffsetOfElement{offsets, places}));
  return Apply(call, {n, 1, places, updates.data});
}

Status ScatterNdBytes(KernelCall& call) {
  const TensorView &data = call.inputs[0], &which = call.inputs[1], &updates = call.inputs[2];
  SBP_ASSIGN_OR_RETURN(const Tuples tuples, TuplesOf(call, which, data, 0));
  if (updates.elements() != tuples.count * tuples.slice) return RunFailed("indices and updates differ in shape");
  return Apply(call, {tuples.count, tuples.slice, tuples.offsets, updates.data});
}

}  // namespace

Status ScatterElements(KernelCall& call) { return OnBytes(call, ScatterElementsBytes); }
Status ScatterNd(KernelCall& call) { return OnBytes(call, ScatterNdBytes); }

}  // namespace sbp::SBP_GPU_BUILD
