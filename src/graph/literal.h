// Literal: a small constant tensor whose values are known (shape arithmetic, axes, scalars).
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "graph/tensor_type.h"

namespace sbp {

// Exactly one of the value lists is used, by dtype: integers and bool in `ints`, floats in `floats`, strings in
// `strings`. Types with no list of their own (complex) keep only `raw`. Row-major; the list's length is the number of
// elements.
struct Literal {
  TensorType type;
  std::vector<int64_t> ints;
  std::vector<double> floats;
  std::vector<std::string> strings;
  std::string raw;      // the file's bytes, little-endian, when they are kept for loss-free conversion
  bool sparse = false;  // read from a sparse tensor; the lists are dense all the same

  static Literal Ints(std::vector<int64_t> values, DType dtype = DType::kI64);  // 1-d
  static Literal Scalar(int64_t value, DType dtype = DType::kI64);
  static Literal Float(double value, DType dtype = DType::kF32);
  bool is_integral() const { return IsInteger(type.dtype) || type.dtype == DType::kBool; }
  // By bits: -0.0 is not 0.0, and a NaN equals one of the same bits.
  friend bool operator==(const Literal& a, const Literal& b);
};
using LiteralRef = std::shared_ptr<const Literal>;

// Values are kept in memory only up to this many elements; larger constants stay in the file (data reference).
inline constexpr int64_t kMaxLiteralElements = 4096;

// Where the values of a large constant are: a file beside the model (external data of ONNX), or the model file itself.
struct DataReference {
  std::string location;              // path relative to the model; empty: inside the model file
  int64_t offset = 0;                // bytes
  int64_t length = -1;               // bytes; -1: to the end
  DType stored = DType::kUndefined;  // of the elements there, where that is not the tensor's: masters of narrow weights
  friend bool operator==(const DataReference&, const DataReference&) = default;
};

// Values of at most so many elements are read from external files: shapes, axes, scales.
inline constexpr int64_t kMaxExternalElements = 1024;

// Do two lists hold the same bits?
bool SameBits(const std::vector<double>& a, const std::vector<double>& b);
inline bool SameBits(double a, double b) { return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); }
size_t HashLiteral(const Literal& literal);
// "[1, 2, 3]", "0.5"; longer than `limit` values: "[1, 2, ... (1000 values)]".
std::string ToString(const Literal& literal, size_t limit = 8);

}  // namespace sbp
