#include "kernel/gpu/all_gpu_kernels.h"

#include "kernel/gpu/kernels.h"  // keep: the functions of the list
#include "kernel/kernel_list.h"

namespace sbp::SBP_GPU_BUILD {
namespace {

using namespace kernel_types;

#define SBP_ROW(op, types, function) {op, types, KernelDevice::kCuda, function},
#define SBP_NO_ROW(op, types, function)
#define SBP_FUSED_ROW(op, types, function) {op, types, KernelDevice::kCuda, function, function##Declines},
constexpr KernelRow kRows[] = {SBP_KERNELS(SBP_ROW, SBP_NO_ROW, SBP_FUSED_ROW)};
#undef SBP_ROW
#undef SBP_FUSED_ROW
#undef SBP_NO_ROW

}  // namespace

std::span<const KernelRow> KernelRows() { return kRows; }

}  // namespace sbp::SBP_GPU_BUILD
