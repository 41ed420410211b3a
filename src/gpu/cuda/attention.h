// Fused attention by cuDNN's graphs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "gpu/cuda/dnn.h"
#include "gpu/gpu.h"

namespace sbp::gpu::cuda {

struct AttentionPlan;

// Of one stream. The engine that the library's heuristics prefer for a call's sizes is asked for once. cuDNN 9.8 or
// newer; an older one has none.
class DnnAttention {
 public:
  explicit DnnAttention(Dnn& dnn);
  ~DnnAttention();
  DnnAttention(const DnnAttention&) = delete;
  DnnAttention& operator=(const DnnAttention&) = delete;

  // As Stream::Attention and Stream::HasAttention.
  Result<bool> Run(const AttentionCall& call, cudaStream_t stream);
  Result<bool> Has(const AttentionCall& call, cudaStream_t stream);

 private:
  using Entry = std::unique_ptr<AttentionPlan>;
  // Of the call's sizes; asks the library when they are new.
  Result<Entry*> Find(const AttentionCall& call, cudaStream_t stream);
  // The plan's workspace, then the sums.
  Result<std::byte*> Room(const AttentionCall& call, const AttentionPlan& plan);

  Dnn& dnn_;
  std::map<std::vector<int64_t>, Entry> plans_;  // nullptr: the library has no engine
};

// How many engines the library says it has for the call on a device with these properties (the JSON form of its device
// descriptor), which need not be there. For tests: is the graph one that the library knows? Error: why it was refused.
Result<int64_t> CountAttentionEngines(const AttentionCall& call, const std::string& device_properties);

}  // namespace sbp::gpu::cuda
