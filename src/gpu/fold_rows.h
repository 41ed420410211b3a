// FoldRows: reductions. Every row of elements is folded into one value, by many threads where rows are long; the order
// in which values meet depends on the sizes only, so that equal calls give equal bits.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/host_device.h"
#include "base/status.h"
#include "gpu/for_each.h"

namespace sbp::gpu {

// F, a functor by value as ForEach's, has
//   using Value           plain data
//   Value Start()         neutral in Combine
//   int64_t Base(row)     what is the same for all elements of a row
//   Value At(base, j)     element j of the row
//   Value Combine(a, b)   associative and commutative (up to rounding)
//   void Store(row, a)
// `side_by_side`: elements of neighbouring rows, not those of one row, are neighbours in memory.
#ifdef __CUDACC__

struct FoldSizes {
  int64_t rows, size;
  int64_t chunk;      // elements of a row that one block folds
  int lanes;          // threads for one row of a block: a power of two
  bool side_by_side;  // threads of a warp take neighbouring rows
};

template <typename F>
__global__ void __launch_bounds__(kThreadsPerBlock)
    FoldRowsKernel(const FoldSizes s, typename F::Value* parts, const __grid_constant__ F f) {
  using Value = typename F::Value;
  __shared__ alignas(16) unsigned char memory[kThreadsPerBlock * sizeof(Value)];
  auto* values = reinterpret_cast<Value*>(memory);
  const int thread = static_cast<int>(threadIdx.x), rows_of_block = kThreadsPerBlock / s.lanes;
  const int lane = s.side_by_side ? thread / rows_of_block : thread % s.lanes;
  const int row_of_block = s.side_by_side ? thread % rows_of_block : thread / s.lanes;
  const int lane_step = s.side_by_side ? rows_of_block : 1;
  const int64_t begin = static_cast<int64_t>(blockIdx.y) * s.chunk, end = min(s.size, begin + s.chunk);
  for (int64_t first = static_cast<int64_t>(blockIdx.x) * rows_of_block; first < s.rows;
       first += static_cast<int64_t>(gridDim.x) * rows_of_block) {
    const int64_t row = first + row_of_block;
    Value value = f.Start();
    if (row < s.rows) {
      const int64_t base = f.Base(row);
#pragma unroll 4
      for (int64_t j = begin + lane; j < end; j += s.lanes) value = f.Combine(value, f.At(base, j));
    }
    values[thread] = value;
    __syncthreads();
    for (int half = s.lanes / 2; half > 0; half /= 2) {
      if (lane < half) values[thread] = f.Combine(values[thread], values[thread + half * lane_step]);
      __syncthreads();
    }
    if (lane == 0 && row < s.rows) {
      if (parts != nullptr)
        parts[row * gridDim.y + blockIdx.y] = values[thread];
      else
        f.Store(row, values[thread]);
    }
    __syncthreads();  // before the next rows overwrite them
  }
}

// The second pass where rows were folded in parts.
template <typename F>
struct FoldParts {
  F f;
  const typename F::Value* parts;
  int64_t count;
  SBP_HD void operator()(int64_t row) const {
    typename F::Value value = f.Start();
    for (int64_t i = 0; i < count; ++i) value = f.Combine(value, parts[row * count + i]);
    f.Store(row, value);
  }
};

template <typename F>
Status FoldRows(Stream& stream, int64_t rows, int64_t size, bool side_by_side, const F& f) {
  constexpr int64_t kEnoughBlocks = 1024, kMostParts = 256, kLeastPerThread = 16;
  if (rows <= 0) return OkStatus();
  FoldSizes s{rows, size, size, 1, side_by_side};
  const auto wanted = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(size, 1))));
  s.lanes = static_cast<int>(std::min<int64_t>(wanted, side_by_side ? 8 : kThreadsPerBlock));
  const int64_t rows_of_block = kThreadsPerBlock / s.lanes;
  const int64_t blocks = std::min(kMostBlocks, (rows + rows_of_block - 1) / rows_of_block);
  int64_t parts = std::min({kEnoughBlocks / blocks, kMostParts, size / (s.lanes * kLeastPerThread)});
  parts = std::max<int64_t>(parts, 1);
  typename F::Value* memory = nullptr;
  if (parts > 1) {
    s.chunk = (size + parts - 1) / parts;
    parts = (size + s.chunk - 1) / s.chunk;
    SBP_ASSIGN_OR_RETURN(std::byte * scratch,
                         stream.Scratch(rows * parts * static_cast<int64_t>(sizeof(typename F::Value))));
    memory = reinterpret_cast<typename F::Value*>(scratch);
  }
  SBP_RETURN_IF_ERROR(BeforeLaunch());
  const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(parts));
  FoldRowsKernel<<<grid, kThreadsPerBlock, 0, static_cast<cudaStream_t>(stream.native())>>>(s, memory, f);
  SBP_RETURN_IF_ERROR(AfterLaunch());
  return parts > 1 ? ForEach(stream, rows, FoldParts<F>{f, memory, parts}) : OkStatus();
}

#else

template <typename F>
struct FoldRow {
  F f;
  int64_t size;
  void operator()(int64_t row) const {
    typename F::Value value = f.Start();
    const int64_t base = f.Base(row);
    for (int64_t j = 0; j < size; ++j) value = f.Combine(value, f.At(base, j));
    f.Store(row, value);
  }
};

template <typename F>
Status FoldRows(Stream& stream, int64_t rows, int64_t size, bool, const F& f) {
  return ForEach(stream, rows, FoldRow<F>{f, size});
}

#endif

}  // namespace sbp::gpu
