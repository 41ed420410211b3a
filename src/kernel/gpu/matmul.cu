// MatMul and Einsum.
#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "base/host_device.h"
#include "base/status.h"
#include "gpu/for_each.h"
#include "gpu/gpu.h"
#include "kernel/convert.h"
#include "kernel/einsum.h"
#include "kernel/gpu/complex.h"
#include "kernel/gpu/copy.h"
#include "kernel/gpu/elements.h"
#include "kernel/gpu/kernels.h"  // keep: declares what stands here
#include "kernel/gpu/operands.h"
#include "kernel/gpu/product.h"
#include "kernel/gpu/walk.h"
#include "kernel/gpu/words.h"
#include "kernel/kernel.h"
#include "kernel/matmul_sizes.h"
#include "kernel/scalar/binary.h"
#include "kernel/view.h"
#include "sbp/shard_math.h"

namespace sbp::SBP_GPU_BUILD {
namespace {

bool InLibrary(DType type) {
  return type == DType::kF32 || type == DType::kF64 || type == DType::kF16 || type == DType::kBF16;
}

// Index: of an element of the result.
template <typename C>
struct Sum {
  Product p;
  SBP_HD void operator()(int64_t i) const {
    const int64_t row = Divide(i, p.n), column = i - row * p.n, batch = Divide(row, p.m);
    const int64_t a = batch * p.a_step + (row - batch * p.m) * (p.transpose_a ? 1 : p.k);
    const int64_t b = batch * p.b_step + column * (p.transpose_b ? p.k : 1);
    const int64_t a_next = p.transpose_a ? p.m : 1, b_next = p.transpose_b ? 1 : p.n;
    const scalar::AddOf add;
    const scalar::MulOf multiply;
    C sum{0};
    for (int64_t j = 0; j < p.k; ++j)
      sum = add(sum, multiply(LoadNumber<C>(p.type, p.a, a + j * a_next), LoadNumber<C>(p.type, p.b, b + j * b_next)));
    StoreNumber(p.type, p.out, i, sum);
  }
};

// Of two operands; strides in bytes.
template <typename C>
struct MultiplyOne {
  DType type;
  const std::byte *a, *b;
  std::byte* out;
  Walk<2> walk;
  SBP_HD void operator()(int64_t i) const {
    const auto offsets = walk.At(i);
    const scalar::MulOf f;
    StoreNumber(type, out, i, f(LoadNumber<C>(type, a + offsets.at[0], 0), LoadNumber<C>(type, b + offsets.at[1], 0)));
  }
};

// run(number) of the type that elements are multiplied in.
template <typename Run>
Status WithFactor(DType type, const Run& run) {
  switch (ComputeType(type)) {
    case DType::kF32:
      return run(float{});
    case DType::kF64:
      return run(double{});
    case DType::kC64:
      return run(Complex<float>{});
    case DType::kC128:
      return run(Complex<double>{});
    default:
      return run(uint64_t{});
  }
}

// Every index of the leading dimensions: as many as both operands walk by one step each in one call.
Status MultiplyBatches(KernelCall& call, Product product, const MatMulSizes& sizes) {
  SBP_ASSIGN_OR_RETURN(const Walk<2> walk, MakeWalk<2>(sizes.batch, {sizes.a_strides, sizes.b_strides}));
  if (walk.elements == 0) return OkStatus();
  const int64_t bytes = ElementBytes(product.type), inner = walk.rank == 0 ? 1 : walk.size[walk.rank - 1];
  product.batches = inner;
  if (walk.rank > 0) {
    product.a_step = walk.stride[0][walk.rank - 1];
    product.b_step = walk.stride[1][walk.rank - 1];
  }
  for (int64_t i = 0; i < walk.elements; i += inner) {
    const auto offsets = walk.At(i);
    Product some = product;
    some.a += offsets.at[0] * bytes;
    some.b += offsets.at[1] * bytes;
    some.out += i * product.m * product.n * bytes;
    SBP_RETURN_IF_ERROR(Multiply(*call.stream, some));
  }
  return OkStatus();
}

class GpuEinsum : public EinsumDevice {
 public:
  GpuEinsum(KernelCall& call, DType type) : call_(call), type_(type) {}

  int64_t element_bytes() const override { return ElementBytes(type_); }
  Result<std::byte*> Allocate(int64_t bytes) override { return call_.stream->Scratch(bytes); }
  Result<const std::byte*> Elements(const TensorView& view) override { return ElementsAs(call_, view, type_); }
  Result<std::byte*> One() override {
    std::byte element[16] = {};
    const int64_t one = 1;
    Convert(DType::kI64, reinterpret_cast<const std::byte*>(&one), 8, type_, element, 16, 1);
    SBP_ASSIGN_OR_RETURN(std::byte * memory, call_.stream->Scratch(16));
    SBP_RETURN_IF_ERROR(Fill(*call_.stream, memory, 1, element, element_bytes()));
    return memory;
  }
  Status Copy(const Shape& shape, const std::byte* source, const std::vector<int64_t>& source_strides,
              std::byte* target, const std::vector<int64_t>& target_strides) override {
    return CopyStrided(*call_.stream, shape, element_bytes(), source, source_strides, target, target_strides);
  }
  Status Multiply(const Shape& shape, const std::byte* a, const std::vector<int64_t>& a_strides, const std::byte* b,
                  const std::vector<int64_t>& b_strides, std::byte* out) override {
    SBP_ASSIGN_OR_RETURN(const Walk<2> walk, MakeWalk<2>(shape, {a_strides, b_strides}));
    return WithFactor(type_, [&]<typename C>(C) {
      return gpu::ForEach(*call_.stream, walk.elements, MultiplyOne<C>{type_, a, b, out, walk});
    });
  }
  Status Products(int64_t batches, int64_t m, int64_t n, int64_t k, const std::byte* a, const std::byte* b,
                  std::byte* out) override {
    Product product{type_, call_.allow_tf32, batches, m, n, k, m * k, k * n};
    product.a = a;
    product.b = b;
    product.out = out;
    return SBP_GPU_BUILD::Multiply(*call_.stream, product);
  }

 private:
  KernelCall& call_;
  DType type_;
};

}  // namespace

Status Multiply(gpu::Stream& stream, const Product& p) {
  if (p.batches == 0 || p.m == 0 || p.n == 0) return OkStatus();
  if (!InLibrary(p.type)) {
    return WithFactor(p.type, [&]<typename C>(C) { return gpu::ForEach(stream, p.batches * p.m * p.n, Sum<C>{p}); });
  }
  gpu::GemmCall gemm;
  gemm.dtype = p.type;
  gemm.allow_tf32 = p.allow_tf32;
  gemm.transpose_a = p.transpose_a;
  gemm.transpose_c = p.transpose_b;
  gemm.batch = p.batches;
  gemm.m = p.m;
  gemm.n = p.n;
  gemm.k = p.k;
  gemm.stride_a = p.a_step;
  gemm.stride_c = p.b_step;
  gemm.a = p.a;
  gemm.c = p.b;
  gemm.out = p.out;
  return stream.Gemm(gemm);
}

Status MatMul(KernelCall& call) {
  SBP_ASSIGN_OR_RETURN(const MatMulSizes sizes, MatMulSizesOf(call));
  const TensorView& out = call.outputs[0];
  Product product;
  product.type = out.dtype;
  product.allow_tf32 = call.allow_tf32;
  product.m = sizes.m;
  product.n = sizes.n;
  product.k = sizes.k;
  product.transpose_a = sizes.transpose_a;
  product.transpose_b = sizes.transpose_b;
  SBP_ASSIGN_OR_RETURN(product.a, ElementsAs(call, call.inputs[0], out.dtype));
  SBP_ASSIGN_OR_RETURN(product.b, ElementsAs(call, call.inputs[1], out.dtype));
  product.out = out.data;
  return MultiplyBatches(call, product, sizes);
}

// Of two operands in their own type; what is between the joins of more is kept in f32 for the narrower floats.
Status Einsum(KernelCall& call) {
  TensorView& out = call.outputs[0];
  const bool narrow = IsFloat(out.dtype) && out.dtype != DType::kF64;
  const DType type = narrow && call.inputs.size() > 2 ? DType::kF32 : out.dtype;
  GpuEinsum device(call, type);
  SBP_ASSIGN_OR_RETURN(std::byte * result, ResultAs(call, out, type));
  SBP_RETURN_IF_ERROR(RunEinsum(call, device, result));
  return FinishResult(call, result, type, out);
}

}  // namespace sbp::SBP_GPU_BUILD
