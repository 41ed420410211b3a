#include <span>

#include "kernel/cpu/kernels.h"  // keep: the functions of the list
#include "kernel/kernel.h"
#include "kernel/kernel_list.h"

namespace sbp {
namespace {

using namespace kernel_types;

#define SBP_ROW(op, types, function) {op, types, KernelDevice::kCpu, cpu::function},
#define SBP_NO_ROW(op, types, function)
constexpr KernelRow kRows[] = {SBP_KERNELS(SBP_ROW, SBP_ROW, SBP_NO_ROW)};
#undef SBP_ROW
#undef SBP_NO_ROW

}  // namespace

std::span<const KernelRow> AllKernels() { return kRows; }

}  // namespace sbp
