#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "base/host_device.h"
#include "base/status.h"
#include "gpu/for_each.h"
#include "kernel/convert.h"
#include "kernel/gpu/boxes.h"
#include "kernel/gpu/complex.h"
#include "kernel/gpu/copy.h"
#include "kernel/gpu/elements.h"
#include "kernel/gpu/walk.h"
#include "kernel/scalar/binary.h"
#include "kernel/view.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp::SBP_GPU_BUILD {
namespace {

using Box = std::vector<Range>;

Shape SizesOf(const Box& box) {
  Shape shape;
  for (const Range& range : box) shape.push_back(range.size());
  return shape;
}

// Elements of 4 and 2 bits. Index: of a byte of the target, whose other elements stay.
struct CopyPackedBox {
  const uint8_t* source;
  uint8_t* target;
  int bits, rank;
  int64_t target_elements;
  int64_t target_size[kMostDims], part_begin[kMostDims], part_size[kMostDims], source_stride[kMostDims];
  int64_t source_first;  // the element of `source` that the part begins with

  // The element of `source` under one of the target; -1: not in the part.
  SBP_HD int64_t Under(int64_t at) const {
    int64_t offset = source_first;
    for (int d = rank - 1; d >= 0; --d) {
      const int64_t next = at / target_size[d], index = at - next * target_size[d] - part_begin[d];
      if (index < 0 || index >= part_size[d]) return -1;
      offset += index * source_stride[d];
      at = next;
    }
    return offset;
  }
  SBP_HD void operator()(int64_t i) const {
    const int per_byte = 8 / bits;
    const unsigned mask = (1u << bits) - 1;
    unsigned value = target[i];
    for (int j = 0; j < per_byte && i * per_byte + j < target_elements; ++j) {
      const int64_t from = Under(i * per_byte + j);
      if (from < 0) continue;
      const unsigned element = source[from / per_byte] >> (bits * static_cast<int>(from % per_byte)) & mask;
      value = (value & ~(mask << (bits * j))) | element << (bits * j);
    }
    target[i] = static_cast<uint8_t>(value);
  }
};

Status CopyPacked(gpu::Stream& stream, DType dtype, const Box& part, const std::byte* source, const Box& source_box,
                  std::byte* target, const Box& target_box) {
  if (part.size() > kMostDims) return RunFailed("more than 8 dimensions");
  CopyPackedBox copy{reinterpret_cast<const uint8_t*>(source), reinterpret_cast<uint8_t*>(target), DTypeBits(dtype),
                     static_cast<int>(part.size())};
  const std::vector<int64_t> strides = RowMajorStrides(SizesOf(source_box));
  copy.target_elements = 1;
  copy.source_first = 0;
  for (size_t d = 0; d < part.size(); ++d) {
    copy.target_size[d] = target_box[d].size();
    copy.part_begin[d] = part[d].begin - target_box[d].begin;
    copy.part_size[d] = part[d].size();
    copy.source_stride[d] = strides[d];
    copy.source_first += (part[d].begin - source_box[d].begin) * strides[d];
    copy.target_elements *= copy.target_size[d];
    if (part[d].size() <= 0) return OkStatus();
  }
  return gpu::ForEach(stream, TensorView::StorageBytes(dtype, copy.target_elements), copy);
}

Status CopyBox(gpu::Stream& stream, DType dtype, const Box& part, const std::byte* source, const Box& source_box,
               std::byte* target, const Box& target_box) {
  if (IsPacked(dtype)) return CopyPacked(stream, dtype, part, source, source_box, target, target_box);
  const int64_t bytes = ElementBytes(dtype);
  std::vector<int64_t> from = RowMajorStrides(SizesOf(source_box)), to = RowMajorStrides(SizesOf(target_box));
  for (size_t d = 0; d < part.size(); ++d) {
    if (part[d].size() <= 0) return OkStatus();
    from[d] *= bytes;
    to[d] *= bytes;
    source += (part[d].begin - source_box[d].begin) * from[d];
    target += (part[d].begin - target_box[d].begin) * to[d];
  }
  return CopyStrided(stream, SizesOf(part), bytes, source, from, target, to);
}

Status CopyElements(gpu::Stream& stream, DType dtype, int64_t count, const std::byte* source, int64_t source_offset,
                    std::byte* target, int64_t target_offset) {
  if (!IsPacked(dtype)) {
    const int64_t bytes = ElementBytes(dtype);
    return stream.Copy(source + source_offset * bytes, target + target_offset * bytes, count * bytes);
  }
  // Boxes that begin at whole bytes, so that none but the touched bytes are looked at.
  const int64_t per_byte = 8 / DTypeBits(dtype), skip = target_offset / per_byte * per_byte;
  const Range part{target_offset, target_offset + count};
  const int64_t shift = target_offset - source_offset;
  return CopyPacked(stream, dtype, {part}, source, {{shift, part.end}}, target + skip / per_byte, {{skip, part.end}});
}

inline constexpr int kMostSources = 16;

// C: what elements of `type` are combined in.
template <typename C, typename F>
struct Combine {
  DType type;
  int count;
  const std::byte* sources[kMostSources];
  const std::byte* const* more;  // of the device; where there are more than kMostSources, all of them
  std::byte* target;
  SBP_HD void operator()(int64_t i) const {
    const F f;
    const auto source = [this](int s) { return more != nullptr ? more[s] : sources[s]; };
    C sum = LoadNumber<C>(type, source(0), i);
    for (int s = 1; s < count; ++s) sum = f(sum, LoadNumber<C>(type, source(s), i));
    StoreNumber<C>(type, target, i, sum);
  }
};

template <typename C, typename F>
Status CombineWith(gpu::Stream& stream, DType dtype, std::span<const std::byte* const> sources, std::byte* target,
                   int64_t count) {
  Combine<C, F> combine{dtype, static_cast<int>(sources.size()), {}, nullptr, target};
  if (sources.size() <= kMostSources) {
    std::copy(sources.begin(), sources.end(), combine.sources);
  } else {
    const auto bytes = static_cast<int64_t>(sources.size() * sizeof(std::byte*));
    SBP_ASSIGN_OR_RETURN(std::byte * list, stream.Scratch(bytes));
    SBP_RETURN_IF_ERROR(stream.UploadNow(reinterpret_cast<const std::byte*>(sources.data()), list, bytes));
    combine.more = reinterpret_cast<const std::byte* const*>(list);
  }
  return gpu::ForEach(stream, count, combine);
}

template <typename C>
Status CombineAs(gpu::Stream& stream, DType dtype, ReduceKind kind, std::span<const std::byte* const> sources,
                 std::byte* target, int64_t count) {
  if (kind == ReduceKind::kSum) return CombineWith<C, scalar::AddOf>(stream, dtype, sources, target, count);
  if (kind == ReduceKind::kProd) return CombineWith<C, scalar::MulOf>(stream, dtype, sources, target, count);
  if constexpr (!kIsComplex<C>) {
    if (kind == ReduceKind::kMax) return CombineWith<C, scalar::MaxOf>(stream, dtype, sources, target, count);
    if (kind == ReduceKind::kMin) return CombineWith<C, scalar::MinOf>(stream, dtype, sources, target, count);
  }
  return Defect("partial values of this type are not combined so");
}

Status CombineElements(gpu::Stream& stream, DType dtype, ReduceKind kind, std::span<const std::byte* const> sources,
                       std::byte* target, int64_t count) {
  switch (dtype) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
      return CombineAs<float>(stream, dtype, kind, sources, target, count);
    case DType::kF64:
      return CombineAs<double>(stream, dtype, kind, sources, target, count);
    case DType::kU64:
      return CombineAs<uint64_t>(stream, dtype, kind, sources, target, count);
    case DType::kC64:
      return CombineAs<Complex<float>>(stream, dtype, kind, sources, target, count);
    case DType::kC128:
      return CombineAs<Complex<double>>(stream, dtype, kind, sources, target, count);
    default:
      if ((!IsInteger(dtype) && dtype != DType::kBool) || IsPacked(dtype))
        return Defect("partial values of this type are not combined");
      return CombineAs<int64_t>(stream, dtype, kind, sources, target, count);
  }
}

Status FillNeutral(gpu::Stream& stream, DType dtype, ReduceKind kind, std::byte* target, int64_t count) {
  alignas(16) std::byte element[16] = {};
  const auto store = [&](DType from, const auto& value) {
    Convert(from, reinterpret_cast<const std::byte*>(&value), sizeof value, dtype, element, 16, 1);
  };
  const bool extreme = kind == ReduceKind::kMax || kind == ReduceKind::kMin, highest = kind == ReduceKind::kMin;
  if (!extreme) {
    store(DType::kI64, int64_t{kind == ReduceKind::kProd ? 1 : 0});
  } else if (IsFloat(dtype)) {
    const double infinity = std::numeric_limits<double>::infinity();
    store(DType::kF64, highest ? infinity : -infinity);
  } else if (dtype == DType::kBool) {
    store(DType::kI64, int64_t{highest});
  } else {  // the lowest and the highest bits, cut to the type's width
    const int shift = IsSigned(dtype) ? 64 - DTypeBits(dtype) + 1 : 64 - DTypeBits(dtype);
    const uint64_t high = ~uint64_t{0} >> shift;
    store(DType::kU64, highest ? high : IsSigned(dtype) ? ~high : uint64_t{0});
  }
  return Fill(stream, target, count, element, ElementBytes(dtype));
}

struct NoteNan {
  DType type;
  const std::byte* data;
  uint32_t* word;
  uint32_t value;
  SBP_HD void operator()(int64_t i) const {
    bool nan = false;
    if (type == DType::kF64) {
      nan = At<double>(data, i) != At<double>(data, i);
    } else if (type == DType::kC64) {
      const auto v = At<Complex<float>>(data, i);
      nan = v.re != v.re || v.im != v.im;
    } else if (type == DType::kC128) {
      const auto v = At<Complex<double>>(data, i);
      nan = v.re != v.re || v.im != v.im;
    } else {
      const float v = LoadFloat(type, data, i);
      nan = v != v;
    }
    if (nan) *word = value;  // by whichever threads: the same value
  }
};

Status NoteNans(gpu::Stream& stream, DType dtype, const std::byte* data, int64_t count, uint32_t* word,
                uint32_t value) {
  if ((!IsFloat(dtype) && !IsComplex(dtype)) || IsPacked(dtype)) return OkStatus();
  return gpu::ForEach(stream, count, NoteNan{dtype, data, word, value});
}

}  // namespace

GpuMovement Movement() { return {CopyBox, CopyElements, CombineElements, FillNeutral, NoteNans}; }

}  // namespace sbp::SBP_GPU_BUILD
