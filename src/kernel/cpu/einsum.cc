// Einsum: joins of two operands as products of matrices (kernel/einsum.h).
#include "kernel/einsum.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "kernel/convert.h"
#include "kernel/cpu/copy.h"
#include "kernel/cpu/elementwise.h"
#include "kernel/cpu/gemm.h"
#include "kernel/cpu/kernels.h"
#include "kernel/cpu/loop.h"
#include "kernel/kernel.h"
#include "kernel/scalar/binary.h"
#include "kernel/view.h"
#include "sbp/shard_math.h"

namespace sbp::cpu {
namespace {

class Cpu : public EinsumDevice {
 public:
  Cpu(KernelCall& call, DType type) : call_(call), type_(type) {}

  int64_t element_bytes() const override { return ElementBytes(type_); }
  Result<std::byte*> Allocate(int64_t bytes) override { return call_.scratch->Allocate(bytes); }
  Result<const std::byte*> Elements(const TensorView& view) override { return ElementsAs(view, type_, *call_.scratch); }
  Result<std::byte*> One() override {
    std::byte* element = call_.scratch->Allocate(element_bytes());
    const int64_t one = 1;
    Convert(DType::kI64, reinterpret_cast<const std::byte*>(&one), 8, type_, element, element_bytes(), 1);
    return element;
  }
  Status Copy(const Shape& shape, const std::byte* source, const std::vector<int64_t>& source_strides,
              std::byte* target, const std::vector<int64_t>& target_strides) override {
    CopyStrided(shape, element_bytes(), source, source_strides, target, target_strides);
    return OkStatus();
  }
  Status Multiply(const Shape& shape, const std::byte* a, const std::vector<int64_t>& a_strides, const std::byte* b,
                  const std::vector<int64_t>& b_strides, std::byte* out) override {
    std::vector<int64_t> strides = RowMajorStrides(shape);
    for (int64_t& stride : strides) stride *= element_bytes();
    StridedLoop loop(shape);
    loop.AddStrided(out, strides, element_bytes());
    loop.AddStrided(const_cast<std::byte*>(a), a_strides, element_bytes());
    loop.AddStrided(const_cast<std::byte*>(b), b_strides, element_bytes());
    scalar::MulOf f;
    InnerLoop line = BinaryLineFor<scalar::MulOf>(type_);
    if (type_ == DType::kU32) line = BinaryLine<uint32_t, scalar::MulOf>;
    loop.Run(line, &f);
    return OkStatus();
  }
  Status Products(int64_t batches, int64_t m, int64_t n, int64_t k, const std::byte* a, const std::byte* b,
                  std::byte* out) override {
    const GemmShape gemm{m, n, k, std::max<int64_t>(k, 1), std::max<int64_t>(n, 1), std::max<int64_t>(n, 1)};
    const int64_t bytes = element_bytes();
    for (int64_t i = 0; i < batches; ++i)
      Gemm(type_, gemm, a + i * m * k * bytes, b + i * k * n * bytes, out + i * m * n * bytes, false, call_.threads);
    return OkStatus();
  }

 private:
  KernelCall& call_;
  DType type_;
};

}  // namespace

Status Einsum(KernelCall& call) {
  TensorView& out = call.outputs[0];
  const DType type = GemmType(out.dtype);
  Cpu device(call, type);
  std::byte* result = ResultAs(out, type, *call.scratch);
  SBP_RETURN_IF_ERROR(RunEinsum(call, device, result));
  FinishResult(result, type, out);
  return OkStatus();
}

}  // namespace sbp::cpu
