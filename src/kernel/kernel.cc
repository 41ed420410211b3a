#include "kernel/kernel.h"

#include <algorithm>

#include "base/dtype.h"

namespace sbp {
namespace {

constexpr int64_t kAlignment = 64, kBlock = 1 << 20;

}  // namespace

std::byte* Scratch::Allocate(int64_t bytes) {
  const auto need = static_cast<size_t>((std::max<int64_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment);
  for (; block_ < blocks_.size(); ++block_, used_ = 0) {
    if (used_ + need + kAlignment <= blocks_[block_].size()) break;
  }
  if (block_ == blocks_.size()) {
    blocks_.emplace_back(std::max<size_t>(need + kAlignment, kBlock));
    used_ = 0;
  }
  std::byte* base = blocks_[block_].data();
  const size_t misaligned = reinterpret_cast<uintptr_t>(base) % kAlignment;
  std::byte* result = base + (misaligned == 0 ? 0 : kAlignment - misaligned) + used_;
  used_ += need;
  return result;
}

void Scratch::Reset() {
  block_ = 0;
  used_ = 0;
}

int64_t Scratch::capacity() const {
  int64_t total = 0;
  for (const auto& block : blocks_) total += static_cast<int64_t>(block.size());
  return total;
}

const KernelRow* FindKernel(std::string_view op, DType type, KernelDevice device) {
  const std::span<const KernelRow> rows = AllKernels();
  auto it = std::lower_bound(rows.begin(), rows.end(), op,
                             [](const KernelRow& row, std::string_view name) { return row.op < name; });
  for (; it != rows.end() && it->op == op; ++it) {
    if (it->device == device && it->types.has(type)) return &*it;
  }
  return nullptr;
}

DType DecidingType(std::span<const TensorView> inputs, std::span<const TensorView> outputs) {
  for (const std::span<const TensorView> list : {inputs, outputs}) {
    for (const TensorView& view : list) {
      if (view.present()) return view.dtype;
    }
  }
  return DType::kUndefined;
}

}  // namespace sbp
