#include "kernel/gpu/gpu_kernels.h"

#include <algorithm>
#include <string_view>

#include "base/dtype.h"

namespace sbp {

const KernelRow* GpuKernels::Find(std::string_view op, DType type) const {
  auto it = std::lower_bound(rows.begin(), rows.end(), op,
                             [](const KernelRow& row, std::string_view name) { return row.op < name; });
  for (; it != rows.end() && it->op == op; ++it) {
    if (it->types.has(type)) return &*it;
  }
  return nullptr;
}

}  // namespace sbp
