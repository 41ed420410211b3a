// A build without NCCL.
#include <memory>
#include <string>

#include "base/status.h"
#include "gpu/collectives.h"
#include "gpu/gpu.h"

namespace sbp::gpu {
namespace {

Status NoNccl() { return UsageError("this build has no NCCL: install it beside the CUDA toolkit and build again"); }

}  // namespace

Result<std::string> MakeCudaGroupId() { return NoNccl(); }
std::string CudaCollectivesVersion() { return ""; }
Result<std::shared_ptr<Collectives>> JoinCudaGroup(Device&, const std::string&, int, int) { return NoNccl(); }

}  // namespace sbp::gpu
