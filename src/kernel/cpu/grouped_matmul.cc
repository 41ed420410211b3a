// sbp::GroupedMatMul: the rows of each expert together, times the expert's matrix where it lies.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "kernel/convert.h"
#include "kernel/cpu/copy.h"
#include "kernel/cpu/gemm.h"
#include "kernel/cpu/indices.h"
#include "kernel/cpu/kernels.h"
#include "kernel/kernel.h"
#include "kernel/view.h"
#include "sbp/shard_math.h"

namespace sbp::cpu {
namespace {

// The rows of x whose expert is each of those that this device has.
Result<std::vector<std::vector<int64_t>>> RowsOfExperts(const KernelCall& call) {
  const TensorView& experts = call.inputs[1];
  const Range own = experts.ranges[0];
  SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> chosen, IndicesOf(call.inputs[2], experts.whole[0]));
  std::vector<std::vector<int64_t>> rows(static_cast<size_t>(experts.shape[0]));
  for (size_t row = 0; row < chosen.size(); ++row) {
    const int64_t expert = chosen[row] - own.begin;
    if (expert >= 0 && expert < experts.shape[0])
      rows[static_cast<size_t>(expert)].push_back(static_cast<int64_t>(row));
  }
  return rows;
}

// One expert's matrix as k x n of `type`: its own memory where it lies so, else in `room` (2 k n elements).
const std::byte* MatrixOf(const TensorView& experts, int64_t expert, DType type, const GemmShape& s, bool transposed,
                          std::byte* room) {
  const int64_t elements = s.k * s.n, bytes = ElementBytes(type), stored = ElementBytes(experts.dtype);
  const std::byte* matrix = experts.data + expert * elements * stored;
  if (experts.dtype != type) {
    Convert(experts.dtype, matrix, stored, type, room, bytes, elements);
    matrix = room;
    room += elements * bytes;
  }
  if (!transposed) return matrix;
  CopyStrided({s.k, s.n}, bytes, matrix, {bytes, s.k * bytes}, room, {s.n * bytes, bytes});
  return room;
}

}  // namespace

Status GroupedMatMul(KernelCall& call) {
  const TensorView &x = call.inputs[0], &experts = call.inputs[1];
  TensorView& y = call.outputs[0];
  const bool transposed = call.attributes->Int("transB", 0) != 0;
  GemmShape s{0, y.shape[1], x.shape[1]};
  s.lda = std::max<int64_t>(s.k, 1);
  s.ldb = s.ldc = std::max<int64_t>(s.n, 1);
  if (y.elements() == 0) return OkStatus();
  const DType type = GemmType(y.dtype);
  const int64_t bytes = ElementBytes(type);
  SBP_ASSIGN_OR_RETURN(const std::vector<std::vector<int64_t>> rows, RowsOfExperts(call));
  size_t most = 0;
  for (const std::vector<int64_t>& of_expert : rows) most = std::max(most, of_expert.size());
  const std::byte* left = ElementsAs(x, type, *call.scratch);
  std::byte* result = ResultAs(y, type, *call.scratch);
  std::memset(result, 0, static_cast<size_t>(y.elements() * bytes));  // rows of other devices' experts
  if (most == 0 || s.k == 0) {
    FinishResult(result, type, y);
    return OkStatus();
  }
  std::byte* room = call.scratch->Allocate(2 * s.k * s.n * bytes);
  std::byte* in = call.scratch->Allocate(static_cast<int64_t>(most) * s.k * bytes);
  std::byte* out = call.scratch->Allocate(static_cast<int64_t>(most) * s.n * bytes);
  const auto row_bytes = [bytes](int64_t width) { return static_cast<size_t>(width * bytes); };
  for (size_t e = 0; e < rows.size(); ++e) {
    if (rows[e].empty()) continue;
    s.m = static_cast<int64_t>(rows[e].size());
    for (size_t i = 0; i < rows[e].size(); ++i) {
      std::memcpy(in + i * row_bytes(s.k), left + static_cast<size_t>(rows[e][i]) * row_bytes(s.k), row_bytes(s.k));
    }
    const std::byte* matrix = MatrixOf(experts, static_cast<int64_t>(e), type, s, transposed, room);
    Gemm(type, s, in, matrix, out, false, call.threads);
    for (size_t i = 0; i < rows[e].size(); ++i) {
      std::memcpy(result + static_cast<size_t>(rows[e][i]) * row_bytes(s.n), out + i * row_bytes(s.n), row_bytes(s.n));
    }
  }
  FinishResult(result, type, y);
  return OkStatus();
}

}  // namespace sbp::cpu
