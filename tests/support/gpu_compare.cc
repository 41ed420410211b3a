#include "support/gpu_compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/text.h"
#include "kernel/convert.h"
#include "kernel/gpu/device_errors.h"

namespace sbp {
namespace {

constexpr auto kPattern = std::byte{0x5a};  // what a kernel forgets to write shows

// Aligned memory of the host.
class Memory {
 public:
  explicit Memory(int64_t bytes) : bytes_(static_cast<size_t>(bytes) + 128, kPattern) {}
  std::byte* data() {
    const auto at = reinterpret_cast<uintptr_t>(bytes_.data());
    return bytes_.data() + (64 - at % 64) % 64;
  }

 private:
  std::vector<std::byte> bytes_;
};

// Relative to the largest number; 0: exactly.
double ToleranceOf(DType type) {
  switch (type) {
    case DType::kF64:
    case DType::kC128:
      return 1e-11;
    case DType::kF32:
    case DType::kC64:
      return 3e-6;
    case DType::kF16:
      return 2e-3;
    case DType::kBF16:
      return 1.6e-2;
    default:
      return 0;
  }
}

// Integers that are floats cut off may differ by one: GPUs multiply and add in one rounding, so that what is 3 here is
// a little less than 3 there.
bool IsCutOff(std::string_view op) { return op == "Resize"; }

void ExpectEqual(const TensorView& expected, const TensorView& actual, const std::byte* actual_data, bool cut_off) {
  ASSERT_EQ(actual.shape, expected.shape);
  ASSERT_EQ(actual.whole, expected.whole);
  const double tolerance = ToleranceOf(expected.dtype);
  const double one = cut_off && tolerance == 0 ? 1 : 0;
  const int64_t n = expected.elements();
  if (tolerance == 0) {
    const std::vector<std::byte> a(expected.data, expected.data + expected.bytes()),
        b(actual_data, actual_data + expected.bytes());
    if (a == b) return;
  }
  const std::vector<double> a = NumbersOf(expected.dtype, expected.data, n),
                            b = NumbersOf(expected.dtype, actual_data, n);
  double largest = 1;
  for (const double v : a) {
    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  }
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    ASSERT_LE(std::abs(a[i] - b[i]), tolerance * largest + one) << "element " << i << ": " << a[i] << " and " << b[i];
    ASSERT_FALSE(std::isnan(a[i]) || std::isnan(b[i])) << "element " << i;
  }
}

}  // namespace

std::vector<std::byte> BytesOf(DType type, const std::vector<double>& values) {
  const auto n = static_cast<int64_t>(values.size());
  const int64_t bytes = ElementBytes(type);
  std::vector<std::byte> loose(static_cast<size_t>(n * bytes)), packed(static_cast<size_t>(n * bytes));
  Convert(DType::kF64, reinterpret_cast<const std::byte*>(values.data()), 8, type, loose.data(), bytes, n);
  if (IsComplex(type)) {  // the imaginary part: another number of the same list
    for (int64_t i = 0; i < n; ++i)
      std::memcpy(&loose[i * bytes + bytes / 2], &loose[(n - 1 - i) * bytes], static_cast<size_t>(bytes / 2));
  }
  if (!IsPacked(type)) return loose;
  Pack(type, loose.data(), n, packed.data());
  packed.resize(static_cast<size_t>(TensorView::StorageBytes(type, n)));
  return packed;
}

std::vector<double> NumbersOf(DType type, const std::byte* data, int64_t n) {
  std::vector<std::byte> loose(static_cast<size_t>(n));
  if (IsPacked(type)) {
    Unpack(type, data, n, loose.data());
    data = loose.data();
  }
  if (IsComplex(type)) {
    n *= 2;
    type = type == DType::kC64 ? DType::kF32 : DType::kF64;
  }
  std::vector<double> numbers(static_cast<size_t>(n));
  Convert(type, data, ElementBytes(type), DType::kF64, reinterpret_cast<std::byte*>(numbers.data()), 8, n);
  return numbers;
}

void GpuCompare::Run(std::string_view op, const Attributes& attributes, const std::vector<GpuOperand>& inputs,
                     const std::vector<TensorView>& outputs, bool on_host) {
  std::vector<Memory> memory;
  memory.reserve(inputs.size() + outputs.size());
  KernelCall cpu, gpu;
  cpu.op_type = gpu.op_type = op;
  cpu.attributes = gpu.attributes = &attributes;
  cpu.seed = gpu.seed = 7;
  cpu.scratch = gpu.scratch = &scratch_;
  gpu.stream = gpu_.stream.get();
  for (const GpuOperand& operand : inputs) {
    cpu.inputs.push_back(operand.view);
    gpu.inputs.push_back(operand.view);
    if (on_host) gpu.host_inputs.emplace_back();
    if (!operand.view.present()) continue;
    const std::vector<std::byte> bytes = BytesOf(operand.view.dtype, operand.values);
    memory.emplace_back(static_cast<int64_t>(bytes.size()));
    if (!bytes.empty()) std::memcpy(memory.back().data(), bytes.data(), bytes.size());
    cpu.inputs.back().data = memory.back().data();
    gpu.inputs.back().data = gpu_.Put(bytes.data(), static_cast<int64_t>(bytes.size()));
    if (on_host) gpu.host_inputs.back() = cpu.inputs.back();
  }
  for (const TensorView& view : outputs) {
    cpu.outputs.push_back(view);
    gpu.outputs.push_back(view);
    memory.emplace_back(view.bytes());
    cpu.outputs.back().data = memory.back().data();
    gpu.outputs.back().data = gpu_.Put(memory.back().data(), view.bytes());
  }
  const DType type = DecidingType(cpu.inputs, cpu.outputs);
  const KernelRow *reference = FindKernel(op, type), *row = gpu_.kernels->Find(op, type);
  ASSERT_TRUE(reference != nullptr && row != nullptr) << op << " " << DTypeName(type);
  const Status expected = reference->run(cpu);
  Status status = row->run(gpu);
  const Status noted = TakeDeviceErrors(*gpu_.stream);
  if (status.ok()) status = noted;
  EXPECT_EQ(status.code(), expected.code()) << "CPU: " << expected.message() << "; GPU: " << status.message();
  for (size_t r = 0; expected.ok() && status.ok() && r < outputs.size(); ++r) {
    SCOPED_TRACE(StrCat("result ", r));
    std::vector<std::byte> taken(static_cast<size_t>(outputs[r].bytes()));
    gpu_.Take(gpu.outputs[r].data, taken.data(), outputs[r].bytes());
    ExpectEqual(cpu.outputs[r], gpu.outputs[r], taken.data(), IsCutOff(op));
  }
  scratch_.Reset();
  gpu_.Reset();
}

}  // namespace sbp
