// One kernel call on a GPU (or the host's device, support/gpu_device.h) against the CPU's kernel on the same bytes.
#pragma once

#include <string>
#include <vector>

#include "kernel/kernel.h"
#include "support/gpu_device.h"

namespace sbp {

// A tensor, or a part of one; `view` has no data yet.
struct GpuOperand {
  TensorView view;  // absent: not present()
  std::vector<double> values;
};

class GpuCompare {
 public:
  GpuCompare() : gpu_(OpenTestGpu()) {}
  const GpuKernels& kernels() const { return *gpu_.kernels; }

  // Runs both and expects equal results: integers and what is only moved exactly, floats within what their type and the
  // order of sums allow. Where the CPU's kernel fails, the GPU's must, when it is called or in the error word.
  // `on_host`: operands are in the host's memory too (KernelCall::host_inputs), else they are downloaded.
  void Run(std::string_view op, const Attributes& attributes, const std::vector<GpuOperand>& inputs,
           const std::vector<TensorView>& outputs, bool on_host);

 private:
  TestGpu gpu_;
  Scratch scratch_;
};

// The values of elements, one a double; of complex numbers both parts.
std::vector<double> NumbersOf(DType type, const std::byte* data, int64_t n);
// Their bytes as stored.
std::vector<std::byte> BytesOf(DType type, const std::vector<double>& values);

}  // namespace sbp
