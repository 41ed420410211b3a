// ScratchBlocks: memory of a stream for what is computed on the way, in few allocations that are kept.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "gpu/gpu.h"

namespace sbp::gpu {

class ScratchBlocks {
 public:
  static constexpr int64_t kAlignment = 256, kBlock = int64_t{16} << 20;

  explicit ScratchBlocks(Device& device) : device_(device) {}

  // Aligned to kAlignment. What was given before Reset stays valid; afterwards the same bytes are given again.
  Result<std::byte*> Allocate(int64_t bytes) {
    const int64_t need = (std::max<int64_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
    while (at_ < blocks_.size() && used_ + need > blocks_[at_].bytes) {
      ++at_;
      used_ = 0;
    }
    if (at_ == blocks_.size()) {
      const int64_t size = std::max(need, kBlock);
      SBP_ASSIGN_OR_RETURN(Buffer memory, device_.Allocate(size));
      blocks_.push_back({std::move(memory), size});
      used_ = 0;
    }
    std::byte* given = blocks_[at_].memory.get() + used_;
    used_ += need;
    return given;
  }
  void Reset() {
    at_ = 0;
    used_ = 0;
  }

 private:
  struct Block {
    Buffer memory;
    int64_t bytes;
  };
  Device& device_;
  std::vector<Block> blocks_;
  size_t at_ = 0;
  int64_t used_ = 0;  // bytes of blocks_[at_]
};

}  // namespace sbp::gpu
