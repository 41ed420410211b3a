// What kernels do with their operands as a whole: small values on the host, other element types, packed elements.
#pragma once

#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "gpu/gpu.h"
#include "kernel/kernel.h"
#include "kernel/view.h"

namespace sbp::SBP_GPU_BUILD {

// The numbers of operand i in the host's memory: known to the caller, else downloaded, for which the stream is waited.
Result<std::vector<int64_t>> IntsOf(const KernelCall& call, size_t i);
Result<std::vector<double>> NumbersOf(const KernelCall& call, size_t i);

// Scratch of the stream for n elements.
template <typename T>
Result<T*> ScratchFor(const KernelCall& call, int64_t n) {
  SBP_ASSIGN_OR_RETURN(std::byte * memory, call.stream->Scratch(n * static_cast<int64_t>(sizeof(T))));
  return reinterpret_cast<T*>(memory);
}
// n values, copied to the device's scratch.
template <typename T>
Result<const T*> OnDevice(const KernelCall& call, const std::vector<T>& values) {
  SBP_ASSIGN_OR_RETURN(T * memory, ScratchFor<T>(call, static_cast<int64_t>(values.size())));
  SBP_RETURN_IF_ERROR(call.stream->UploadNow(reinterpret_cast<const std::byte*>(values.data()),
                                             reinterpret_cast<std::byte*>(memory),
                                             static_cast<int64_t>(values.size() * sizeof(T))));
  return memory;
}

// Converts n elements as Cast does. Elements of 4 and 2 bits are one a byte. cast.cu
Status Convert(gpu::Stream& stream, DType from, const std::byte* source, DType to, std::byte* target, int64_t n);
// As those of kernel/cpu/gemm.h: elements as another type in scratch, or in place where they are of that type.
Result<const std::byte*> ElementsAs(const KernelCall& call, const TensorView& view, DType type);
Result<std::byte*> ResultAs(const KernelCall& call, TensorView& view, DType type);
Status FinishResult(const KernelCall& call, const std::byte* elements, DType type, TensorView& view);

// Runs a kernel that moves whole bytes: elements of 4 and 2 bits are unpacked before and packed after. copy.cu
Status OnBytes(KernelCall& call, KernelFn kernel);

}  // namespace sbp::SBP_GPU_BUILD
