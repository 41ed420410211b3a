// Gather: elements by index. Indices count in the whole; one into another device's part gives 0.
#include <cstdint>
#include <vector>

#include "base/host_device.h"
#include "base/status.h"
#include "gpu/for_each.h"
#include "kernel/convert.h"
#include "kernel/gpu/indices.h"
#include "kernel/gpu/kernels.h"  // keep: declares what stands here
#include "kernel/gpu/operands.h"
#include "kernel/gpu/walk.h"
#include "kernel/gpu/words.h"
#include "kernel/kernel.h"
#include "kernel/operands.h"
#include "kernel/view.h"

namespace sbp::SBP_GPU_BUILD {
namespace {

// Index: of a word of the result, which is (outer, n, words).
template <typename T>
struct GatherWords {
  Indices indices;
  int64_t n, words, whole, begin, held;
  const std::byte* in;
  std::byte* out;
  SBP_HD void operator()(int64_t i) const {
    const int64_t line = Divide(i, words), word = i - line * words;
    const int64_t outer = Divide(line, n);
    const int64_t value = indices.At(line - outer * n, whole), at = value - begin;
    const bool here = value >= 0 && at >= 0 && at < held;
    At<T>(out, i) = here ? At<T>(in, (outer * held + at) * words + word) : T{};
  }
};

Status GatherBytes(KernelCall& call) {
  const TensorView &data = call.inputs[0], &which = call.inputs[1];
  TensorView& out = call.outputs[0];
  SBP_ASSIGN_OR_RETURN(const int64_t axis, AxisIn(call.attributes->Int("axis", 0), data.rank()));
  int64_t outer = 1, inner = ElementBytes(data.dtype);
  for (int64_t d = 0; d < axis; ++d) outer *= data.shape[d];
  for (int64_t d = axis + 1; d < data.rank(); ++d) inner *= data.shape[d];
  const int64_t n = which.elements();
  if (out.elements() * ElementBytes(out.dtype) != outer * n * inner)
    return Defect("the result's shape does not follow from the operands");
  if (out.elements() == 0) return OkStatus();
  const int64_t word = WidestWord(inner, data.data, out.data), words = inner / word;
  return WithWord(word, [&]<typename T>(T) {
    const GatherWords<T> gather{IndicesOf(call, which), n,         words,   data.whole[axis], data.ranges[axis].begin,
                                data.shape[axis],       data.data, out.data};
    return gpu::ForEach(*call.stream, outer * n * words, gather);
  });
}

template <typename T>
struct GatherElement {
  PartOffsets offsets;
  const std::byte* in;
  std::byte* out;
  SBP_HD void operator()(int64_t i) const {
    const int64_t offset = offsets.At(i);
    At<T>(out, i) = offset >= 0 ? At<T>(in, offset) : T{};
  }
};

Status GatherElementsBytes(KernelCall& call) {
  const TensorView &data = call.inputs[0], &which = call.inputs[1];
  TensorView& out = call.outputs[0];
  SBP_ASSIGN_OR_RETURN(const int64_t axis, AxisIn(call.attributes->Int("axis", 0), data.rank()));
  if (which.rank() != data.rank() || which.shape != out.shape)
    return Defect("the result's shape is not that of the indices");
  SBP_ASSIGN_OR_RETURN(PartOffsets offsets, MakePartOffsets(call, data, out, axis));
  offsets.indices = IndicesOf(call, which);
  return WithWord(ElementBytes(data.dtype), [&]<typename T>(T) {
    return gpu::ForEach(*call.stream, out.elements(), GatherElement<T>{offsets, data.data, out.data});
  });
}

// Index: of an element of the result, which is (tuples, slice).
template <typename T>
struct GatherSlices {
  Tuples tuples;
  const std::byte* in;
  std::byte* out;
  SBP_HD void operator()(int64_t i) const {
    const int64_t tuple = Divide(i, tuples.slice), offset = tuples.offsets[tuple];
    At<T>(out, i) = offset >= 0 ? At<T>(in, offset + i - tuple * tuples.slice) : T{};
  }
};

Status GatherNdBytes(KernelCall& call) {
  const TensorView &data = call.inputs[0], &which = call.inputs[1];
  TensorView& out = call.outputs[0];
  SBP_ASSIGN_OR_RETURN(const Tuples tuples, TuplesOf(call, which, data, call.attributes->Int("batch_dims", 0)));
  if (out.elements() != tuples.count * tuples.slice)
    return Defect("the result's shape does not follow from the operands");
  return WithWord(ElementBytes(data.dtype), [&]<typename T>(T) {
    return gpu::ForEach(*call.stream, out.elements(), GatherSlices<T>{tuples, data.data, out.data});
  });
}

// Index: of a tuple.
struct TupleOffset {
  Indices indices;
  int batch_dims, depth;
  int64_t leading[kMostDims], shift[kMostDims];  // of the indices' leading dimensions; shift as in PartOffsets
  int leading_rank;
  int64_t whole[kMostDims], begin[kMostDims], held[kMostDims], stride[kMostDims];
  int64_t* offsets;
  SBP_HD void operator()(int64_t i) const {
    int64_t offset = 0, rest = i;
    bool here = true;
    for (int d = leading_rank - 1; d >= 0; --d) {
      const int64_t next = Divide(rest, leading[d]);
      if (d < batch_dims) {
        const int64_t at = rest - next * leading[d] + shift[d];
        here &= at >= 0 && at < held[d];
        offset += at * stride[d];
      }
      rest = next;
    }
    for (int j = 0; j < depth; ++j) {
      const int d = batch_dims + j;
      const int64_t value = indices.At(i * depth + j, whole[d]), at = value - begin[d];
      here &= value >= 0 && at >= 0 && at < held[d];
      offset += at * stride[d];
    }
    offsets[i] = here ? offset : -1;
  }
};

}  // namespace

Result<PartOffsets> MakePartOffsets(const KernelCall& call, const TensorView& data, const TensorView& other,
                                    int64_t axis) {
  if (data.rank() > kMostDims) return RunFailed("more than 8 dimensions");
  const std::vector<int64_t> strides = RowMajorStrides(data.shape);
  PartOffsets offsets{};
  offsets.indices = IndicesOf(call, other);
  offsets.rank = data.rank();
  offsets.axis = static_cast<int>(axis);
  offsets.axis_whole = data.whole[axis];
  offsets.axis_begin = data.ranges[axis].begin;
  for (size_t d = 0; d < data.shape.size(); ++d) {
    offsets.other_size[d] = other.shape[d];
    offsets.shift[d] = other.ranges[d].begin - data.ranges[d].begin;
    offsets.held[d] = data.shape[d];
    offsets.stride[d] = strides[d];
  }
  return offsets;
}

Result<Tuples> TuplesOf(const KernelCall& call, const TensorView& indices, const TensorView& data, int64_t batch_dims) {
  if (indices.rank() == 0 || batch_dims >= indices.rank()) return RunFailed("the indices have too few dimensions");
  const int64_t depth = indices.shape.back();
  if (batch_dims + depth > data.rank()) return RunFailed("an index names more dimensions than the data have");
  if (indices.rank() > kMostDims + 1 || data.rank() > kMostDims) return RunFailed("more than 8 dimensions");
  TupleOffset f{IndicesOf(call, indices), static_cast<int>(batch_dims), static_cast<int>(depth)};
  f.leading_rank = indices.rank() - 1;
  Tuples tuples;
  tuples.count = 1;
  for (int d = 0; d < f.leading_rank; ++d) {
    f.leading[d] = indices.shape[d];
    tuples.count *= indices.shape[d];
    if (d < batch_dims) f.shift[d] = indices.ranges[d].begin - data.ranges[d].begin;
  }
  const std::vector<int64_t> strides = RowMajorStrides(data.shape);
  for (int d = 0; d < data.rank(); ++d) {
    if (d >= batch_dims + depth) tuples.slice *= data.shape[d];
    f.whole[d] = data.whole[d];
    f.begin[d] = data.ranges[d].begin;
    f.held[d] = data.shape[d];
    f.stride[d] = strides[d];
  }
  SBP_ASSIGN_OR_RETURN(f.offsets, ScratchFor<int64_t>(call, tuples.count));
  tuples.offsets = f.offsets;
  SBP_RETURN_IF_ERROR(gpu::ForEach(*call.stream, tuples.count, f));
  return tuples;
}

Status Gather(KernelCall& call) { return OnBytes(call, GatherBytes); }
Status GatherElements(KernelCall& call) { return OnBytes(call, GatherElementsBytes); }
Status GatherNd(KernelCall& call) { return OnBytes(call, GatherNdBytes); }

}  // namespace sbp::SBP_GPU_BUILD
