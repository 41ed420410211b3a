// Runs one kernel on whole tensors given as lists of numbers.
#pragma once

#include <complex>
#include <cstring>
#include <string>
#include <vector>

#include "kernel/kernel.h"

namespace sbp {

// A tensor that owns its memory. Numbers are stored as the type rounds them (by the product's own conversion, which
// convert_test.cc checks on its own).
class TestTensor {
 public:
  TestTensor() = default;
  TestTensor(DType type, Shape shape, const std::vector<double>& values);
  static TestTensor Ints(DType type, Shape shape, const std::vector<int64_t>& values);
  static TestTensor Bytes(DType type, Shape shape, const std::vector<uint8_t>& packed);
  static TestTensor Complex(Shape shape, const std::vector<std::complex<double>>& values);

  TensorView& view() { return view_; }
  std::vector<double> Doubles() const;
  std::vector<int64_t> Ints() const;
  std::vector<uint8_t> Bytes() const;
  std::vector<std::complex<double>> Complex() const;
  const Shape& shape() const { return view_.shape; }

 private:
  TestTensor(DType type, Shape shape);
  std::vector<std::byte> memory_;
  TensorView view_;
  friend class KernelRun;
};

// One call: operands, attributes, and results of given types and (largest) shapes.
class KernelRun {
 public:
  explicit KernelRun(std::string op) : op_(std::move(op)) {}
  KernelRun& In(TestTensor tensor);
  KernelRun& In(DType type, Shape shape, const std::vector<double>& values) {
    return In(TestTensor(type, std::move(shape), values));
  }
  KernelRun& Absent() { return In(TestTensor()); }
  KernelRun& Set(std::string name, AttributeValue value) {
    attributes_.Set(std::move(name), std::move(value));
    return *this;
  }
  KernelRun& Out(DType type, Shape shape);
  KernelRun& Seed(uint64_t seed) {
    seed_ = seed;
    return *this;
  }
  // Result r lies at these ranges of a whole.
  KernelRun& Part(size_t result, Shape whole, std::vector<Range> ranges);

  // May be called once.
  Status Run();
  // Runs, expects success, and gives result `r`.
  std::vector<double> Doubles(size_t r = 0);
  const TestTensor& result(size_t r) const { return outputs_[r]; }

 private:
  std::string op_;
  Attributes attributes_;
  std::vector<TestTensor> inputs_, outputs_;
  uint64_t seed_ = 0;
  bool ran_ = false;
};

}  // namespace sbp
