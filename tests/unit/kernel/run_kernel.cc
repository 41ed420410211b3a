#include "unit/kernel/run_kernel.h"

#include <gtest/gtest.h>

#include "kernel/convert.h"

namespace sbp {

TestTensor::TestTensor(DType type, Shape shape) {
  view_ = WholeView(type, std::move(shape), nullptr);
  memory_.resize(static_cast<size_t>(view_.elements() * 16 + 128));
}

TestTensor::TestTensor(DType type, Shape shape, const std::vector<double>& values)
    : TestTensor(type, std::move(shape)) {
  EXPECT_EQ(static_cast<int64_t>(values.size()), view_.elements());
  view_.data = memory_.data();
  std::vector<std::byte> bytes(values.size() * 16 + 1);
  Convert(DType::kF64, reinterpret_cast<const std::byte*>(values.data()), 8, type, bytes.data(), ElementBytes(type),
          view_.elements());
  if (IsPacked(type))
    Pack(type, bytes.data(), view_.elements(), view_.data);
  else
    std::memcpy(view_.data, bytes.data(), static_cast<size_t>(view_.bytes()));
}

TestTensor TestTensor::Ints(DType type, Shape shape, const std::vector<int64_t>& values) {
  TestTensor tensor(type, std::move(shape));
  tensor.view_.data = tensor.memory_.data();
  Convert(DType::kI64, reinterpret_cast<const std::byte*>(values.data()), 8, type, tensor.view_.data,
          ElementBytes(type), tensor.view_.elements());
  return tensor;
}

TestTensor TestTensor::Bytes(DType type, Shape shape, const std::vector<uint8_t>& packed) {
  TestTensor tensor(type, std::move(shape));
  tensor.view_.data = tensor.memory_.data();
  std::memcpy(tensor.view_.data, packed.data(), packed.size());
  return tensor;
}

TestTensor TestTensor::Complex(Shape shape, const std::vector<std::complex<double>>& values) {
  TestTensor tensor(DType::kC128, std::move(shape));
  tensor.view_.data = tensor.memory_.data();
  std::memcpy(tensor.view_.data, values.data(), values.size() * 16);
  return tensor;
}

std::vector<double> TestTensor::Doubles() const {
  const int64_t n = view_.elements();
  std::vector<double> values(static_cast<size_t>(n));
  std::vector<std::byte> bytes(memory_);
  if (IsPacked(view_.dtype)) Unpack(view_.dtype, memory_.data(), n, bytes.data());
  Convert(view_.dtype, bytes.data(), ElementBytes(view_.dtype), DType::kF64,
          reinterpret_cast<std::byte*>(values.data()), 8, n);
  return values;
}

std::vector<int64_t> TestTensor::Ints() const {
  std::vector<int64_t> values(static_cast<size_t>(view_.elements()));
  Convert(view_.dtype, memory_.data(), ElementBytes(view_.dtype), DType::kI64,
          reinterpret_cast<std::byte*>(values.data()), 8, view_.elements());
  return values;
}

std::vector<uint8_t> TestTensor::Bytes() const {
  const auto* bytes = reinterpret_cast<const uint8_t*>(memory_.data());
  return {bytes, bytes + view_.bytes()};
}

std::vector<std::complex<double>> TestTensor::Complex() const {
  std::vector<std::complex<double>> values(static_cast<size_t>(view_.elements()));
  std::memcpy(values.data(), memory_.data(), values.size() * 16);
  return values;
}

KernelRun& KernelRun::In(TestTensor tensor) {
  inputs_.push_back(std::move(tensor));
  return *this;
}

KernelRun& KernelRun::Out(DType type, Shape shape) {
  outputs_.push_back(TestTensor(type, std::move(shape)));
  // What a kernel forgets to write shows.
  for (std::byte& byte : outputs_.back().memory_) byte = std::byte{0x5a};
  return *this;
}

KernelRun& KernelRun::Part(size_t result, Shape whole, std::vector<Range> ranges) {
  TensorView& view = outputs_[result].view_;
  view.whole = std::move(whole);
  view.ranges = std::move(ranges);
  return *this;
}

Status KernelRun::Run() {
  EXPECT_FALSE(ran_);
  ran_ = true;
  Scratch scratch;
  KernelCall call;
  call.op_type = op_;
  call.attributes = &attributes_;
  call.scratch = &scratch;
  call.seed = seed_;
  for (auto* list : {&inputs_, &outputs_}) {
    for (TestTensor& tensor : *list) tensor.view_.data = tensor.memory_.data();
  }
  for (TestTensor& tensor : inputs_) call.inputs.push_back(tensor.view_);
  for (TestTensor& tensor : outputs_) call.outputs.push_back(tensor.view_);
  const KernelRow* row = FindKernel(op_, DecidingType(call.inputs, call.outputs));
  if (row == nullptr) return Defect("no kernel");
  const Status status = row->run(call);
  for (size_t r = 0; r < outputs_.size(); ++r) outputs_[r].view_ = call.outputs[r];
  return status;
}

std::vector<double> KernelRun::Doubles(size_t r) {
  if (!ran_) {
    const Status status = Run();
    EXPECT_TRUE(status.ok()) << status.message();
  }
  return outputs_[r].Doubles();
}

}  // namespace sbp
