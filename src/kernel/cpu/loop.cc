#include "kernel/cpu/loop.h"

#include <algorithm>

#include "base/dtype.h"
#include "kernel/convert.h"
#include "kernel/stretch.h"
#include "sbp/shard_math.h"

namespace sbp::cpu {
namespace {

constexpr int64_t kBlock = 512;  // elements converted at a time: the buffers stay in the first-level cache

}  // namespace

Status StridedLoop::Add(const TensorView& view, DType seen) {
  SBP_ASSIGN_OR_RETURN(std::vector<int64_t> strides, StretchSteps(view, shape_));
  for (int64_t& stride : strides) stride *= ElementBytes(view.dtype);
  operands_.push_back({view.data, std::move(strides), view.dtype, seen, ElementBytes(seen)});
  return OkStatus();
}

void StridedLoop::AddStrided(std::byte* data, std::vector<int64_t> strides, int64_t element_bytes) {
  operands_.push_back({data, std::move(strides), DType::kUndefined, DType::kUndefined, element_bytes});
}

// Drops dimensions of size 1 and joins neighbours that every operand walks as one.
void StridedLoop::Merge() {
  Shape merged;
  std::vector<std::vector<int64_t>> strides(operands_.size());
  for (size_t d = 0; d < shape_.size(); ++d) {
    if (shape_[d] == 1) continue;
    bool joins = !merged.empty();
    for (size_t i = 0; joins && i < operands_.size(); ++i)
      joins = strides[i].back() == operands_[i].strides[d] * shape_[d];
    if (joins)
      merged.back() *= shape_[d];
    else
      merged.push_back(shape_[d]);
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (joins) strides[i].pop_back();
      strides[i].push_back(operands_[i].strides[d]);
    }
  }
  if (merged.empty()) {
    merged.push_back(1);
    for (size_t i = 0; i < operands_.size(); ++i) strides[i].push_back(operands_[i].seen_bytes);
  }
  shape_ = std::move(merged);
  for (size_t i = 0; i < operands_.size(); ++i) operands_[i].strides = std::move(strides[i]);
}

void StridedLoop::RunLine(InnerLoop inner, std::array<std::byte*, kMaxLoopOperands> data, void* context) const {
  const int64_t n = shape_.back();
  std::array<int64_t, kMaxLoopOperands> strides{};
  bool converts = false;
  for (size_t i = 0; i < operands_.size(); ++i) {
    strides[i] = operands_[i].strides.back();
    converts |= operands_[i].converted();
  }
  if (!converts) return inner(data.data(), strides.data(), n, context);

  alignas(64) std::byte buffers[kMaxLoopOperands][kBlock * 16];
  std::array<std::byte*, kMaxLoopOperands> seen = data;
  std::array<int64_t, kMaxLoopOperands> seen_strides = strides;
  for (size_t i = 0; i < operands_.size(); ++i) {
    if (!operands_[i].converted()) continue;
    seen[i] = buffers[i];
    seen_strides[i] = operands_[i].seen_bytes;
    if (i == 0 || strides[i] != 0) continue;
    Convert(operands_[i].stored, data[i], 0, operands_[i].seen, buffers[i], operands_[i].seen_bytes, 1);
    seen_strides[i] = 0;
  }
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t m = std::min(kBlock, n - begin);
    for (size_t i = 0; i < operands_.size(); ++i) {
      const Operand& operand = operands_[i];
      if (!operand.converted()) {
        seen[i] = data[i] + begin * strides[i];
      } else if (i > 0 && strides[i] != 0) {
        Convert(operand.stored, data[i] + begin * strides[i], strides[i], operand.seen, buffers[i], operand.seen_bytes,
                m);
      }
    }
    inner(seen.data(), seen_strides.data(), m, context);
    if (operands_[0].converted()) {
      Convert(operands_[0].seen, buffers[0], operands_[0].seen_bytes, operands_[0].stored, data[0] + begin * strides[0],
              strides[0], m);
    }
  }
}

void StridedLoop::Run(InnerLoop inner, void* context) {
  for (const int64_t size : shape_) {
    if (size == 0) return;
  }
  Merge();
  std::array<std::byte*, kMaxLoopOperands> data{};
  for (size_t i = 0; i < operands_.size(); ++i) data[i] = operands_[i].data;
  const size_t outer = shape_.size() - 1;
  std::vector<int64_t> index(outer, 0);
  while (true) {
    RunLine(inner, data, context);
    size_t d = outer;
    while (d > 0 && ++index[d - 1] == shape_[d - 1]) {
      for (size_t i = 0; i < operands_.size(); ++i) data[i] -= (shape_[d - 1] - 1) * operands_[i].strides[d - 1];
      index[--d] = 0;
    }
    if (d == 0) return;
    for (size_t i = 0; i < operands_.size(); ++i) data[i] += operands_[i].strides[d - 1];
  }
}

}  // namespace sbp::cpu
