// Small integers: to and from real numbers, and products of them. Products run the ops on real numbers with zero points
// taken off.
#include <algorithm>
#include <cmath>

#include "reference/interpreter.h"

namespace sbp::reference {
namespace {

struct IntegerLimits {
  double low = 0, high = 255;
};
IntegerLimits LimitsOf(DType type) {
  switch (type) {
    case DType::kI8:
      return {-128, 127};
    case DType::kU16:
      return {0, 65535};
    case DType::kI16:
      return {-32768, 32767};
    default:
      return {0, 255};
  }
}

double Saturate(double v, DType type) {
  const IntegerLimits limits = LimitsOf(type);
  return std::clamp(std::nearbyint(v), limits.low, limits.high);
}

// The entry of a scale or zero point for element `at` of operand 0: one for all, per slice of an axis, or per block.
double ScaleAt(const Call& call, size_t operand, Index at) {
  const Array& a = call.in(operand);
  const int64_t block = call.attributes->Int("block_size", 0), axis = call.attributes->Int("axis", 1);
  const int64_t d = axis < 0 ? axis + call.in(0).rank() : axis;
  if (block > 0) {
    at[d] /= block;
    return a.at(at);
  }
  return Elements(call.input_pieces[operand].global) == 1 ? a.values[0] : a.values[at[d]];
}

std::vector<Array> QuantizeLinear(const Call& call) {
  Array y = call.MakeResult(0);
  ForEach(y.shape, [&](const Index& at) {
    const double zero = call.has(2) ? ScaleAt(call, 2, at) : 0;
    y.at(at) = Saturate(std::nearbyint(call.in(0).at(at) / ScaleAt(call, 1, at)) + zero, y.dtype);
  });
  return {y};
}

std::vector<Array> DequantizeLinear(const Call& call) {
  Array y = call.MakeResult(0);
  ForEach(y.shape, [&](const Index& at) {
    const double zero = call.has(2) ? ScaleAt(call, 2, at) : 0;
    y.at(at) = (call.in(0).at(at) - zero) * ScaleAt(call, 1, at);
  });
  return {y};
}

// The range of x, extended to hold 0, on 0..255.
struct ByteRange {
  double scale = 1, zero = 0;
};
ByteRange RangeOfValues(const Array& x) {
  double low = 0, high = 0;
  for (const double v : x.values) {
    low = std::min(low, v);
    high = std::max(high, v);
  }
  const double scale = high == low ? 1 : (high - low) / 255;
  return {scale, Saturate(-low / scale, DType::kU8)};
}

std::vector<Array> DynamicQuantizeLinear(const Call& call) {
  const ByteRange range = RangeOfValues(call.in(0));
  Array y = call.MakeResult(0);
  for (size_t i = 0; i < y.values.size(); ++i)
    y.values[i] = Saturate(std::nearbyint(call.in(0).values[i] / range.scale) + range.zero, DType::kU8);
  return {y, call.MakeResult(1, range.scale), call.MakeResult(2, range.zero)};
}

// A parameter of a matrix: one for all, per row ([m] or [..., m, 1]) or per column ([n] or [..., 1, n]).
double MatrixParameter(const Call& call, size_t operand, const Index& at, bool row) {
  if (!call.has(operand)) return 0;
  const Array& a = call.in(operand);
  if (a.values.size() == 1) return a.values[0];
  if (a.rank() == 1) return a.values[row ? at[at.size() - 2] : at.back()];
  Index index(a.shape.size());
  const size_t skip = at.size() - index.size();
  for (size_t d = 0; d < index.size(); ++d) index[d] = a.shape[d] == 1 ? 0 : at[d + skip];
  return a.at(index);
}

// Operand x less its zero points, as real numbers.
Array Centred(const Call& call, size_t x, size_t zero, bool row) {
  Array out(DType::kF64, call.in(x).shape);
  ForEach(out.shape, [&](const Index& at) { out.at(at) = call.in(x).at(at) - MatrixParameter(call, zero, at, row); });
  return out;
}

// Operands a and b multiplied, with a call whose other operands do not matter.
Array MultiplyMatrices(const Call& call, const Array& a, const Array& b, size_t a_at, size_t b_at) {
  Call product = call;
  product.inputs = {&a, &b};
  product.input_pieces = {call.input_pieces[a_at], call.input_pieces[b_at]};
  return FindKernel("MatMul")(product)[0];
}

std::vector<Array> MatMulInteger(const Call& call) {
  return {MultiplyMatrices(call, Centred(call, 0, 2, true), Centred(call, 1, 3, false), 0, 1)};
}

std::vector<Array> QLinearMatMul(const Call& call) {
  Array y = MultiplyMatrices(call, Centred(call, 0, 2, true), Centred(call, 3, 5, false), 0, 3);
  ForEach(y.shape, [&](const Index& at) {
    const double scale = MatrixParameter(call, 1, at, true) * MatrixParameter(call, 4, at, false);
    const double v = y.at(at) * scale / MatrixParameter(call, 6, at, true);
    y.at(at) = Saturate(std::nearbyint(v) + MatrixParameter(call, 7, at, true), y.dtype);
  });
  return {y};
}

// Adds the bias of each column.
void AddColumns(const Call& call, size_t bias, Array& y) {
  if (!call.has(bias)) return;
  ForEach(y.shape, [&](const Index& at) { y.at(at) += call.in(bias).values[at.back()]; });
}

std::vector<Array> MatMulIntegerToFloat(const Call& call) {
  Array y = MultiplyMatrices(call, Centred(call, 0, 4, true), Centred(call, 1, 5, false), 0, 1);
  ForEach(y.shape, [&](const Index& at) {
    y.at(at) *= MatrixParameter(call, 2, at, true) * MatrixParameter(call, 3, at, false);
  });
  AddColumns(call, 6, y);
  return {y};
}

std::vector<Array> DynamicQuantizeMatMul(const Call& call) {
  const ByteRange range = RangeOfValues(call.in(0));
  Array a = call.in(0);
  for (double& v : a.values) v = Saturate(std::nearbyint(v / range.scale) + range.zero, DType::kU8) - range.zero;
  Array y = MultiplyMatrices(call, a, Centred(call, 1, 3, false), 0, 1);
  ForEach(y.shape, [&](const Index& at) { y.at(at) *= range.scale * MatrixParameter(call, 2, at, false); });
  AddColumns(call, 4, y);
  return {y};
}

// x and weights less their zero points, convolved.
Array ConvolveCentred(const Call& call, size_t x, size_t zero, size_t w, size_t w_zero) {
  Array input(DType::kF64, call.in(x).shape), weights(DType::kF64, call.in(w).shape);
  const double shift = call.has(zero) ? call.in(zero).values[0] : 0;
  for (size_t i = 0; i < input.values.size(); ++i) input.values[i] = call.in(x).values[i] - shift;
  ForEach(weights.shape, [&](const Index& at) {
    double w_shift = 0;
    if (call.has(w_zero)) w_shift = call.in(w_zero).values[call.in(w_zero).values.size() == 1 ? 0 : at[0]];
    weights.at(at) = call.in(w).at(at) - w_shift;
  });
  Call conv = call;
  conv.inputs = {&input, &weights};
  conv.input_pieces = {call.input_pieces[x], call.input_pieces[w]};
  return FindKernel("Conv")(conv)[0];
}

std::vector<Array> ConvInteger(const Call& call) { return {ConvolveCentred(call, 0, 2, 1, 3)}; }

std::vector<Array> QLinearConv(const Call& call) {
  Array y = ConvolveCentred(call, 0, 2, 3, 5);
  ForEach(y.shape, [&](const Index& at) {
    const Array& w_scale = call.in(4);
    const double scale = call.in(1).values[0] * w_scale.values[w_scale.values.size() == 1 ? 0 : at[1]];
    const double sum = y.at(at) + (call.has(8) ? call.in(8).values[at[1]] : 0);
    y.at(at) = Saturate(std::nearbyint(sum * scale / call.in(6).values[0]) + call.in(7).values[0], y.dtype);
  });
  return {y};
}

// Packed integers of `bits` bits each, least first.
double BitsAt(double bytes, int64_t which, int64_t bits) {
  return static_cast<double>((static_cast<int64_t>(bytes) >> (which * bits)) & ((1 << bits) - 1));
}

// The real weight of column n at place k of a row, both local.
double NBitsWeight(const Call& call, int64_t n, int64_t k) {
  const int64_t bits = call.attributes->Int("bits", 4), size = call.attributes->Int("block_size", 1), per = 8 / bits;
  const Array &b = call.in(1), &scales = call.in(2);
  const int64_t blocks = b.shape[1], block = call.has(4) ? static_cast<int64_t>(call.in(4).values[k]) : k / size;
  double zero = static_cast<double>(int64_t{1} << (bits - 1));
  if (call.has(3) && IsFloat(call.in(3).dtype)) zero = call.in(3).values[n * blocks + block];
  if (call.has(3) && !IsFloat(call.in(3).dtype))
    zero = BitsAt(call.in(3).values[n * ((blocks + per - 1) / per) + block / per], block % per, bits);
  const int64_t j = k % size;
  return (BitsAt(b.at({n, k / size, j / per}), j % per, bits) - zero) * scales.values[n * blocks + block];
}

std::vector<Array> MatMulNBits(const Call& call) {
  Array y = call.MakeResult(0);
  ForEach(y.shape, [&](const Index& at) {
    Index from = at;
    const int64_t n = at.back();
    double sum = call.has(5) ? call.in(5).values[n] : 0;
    for (from.back() = 0; from.back() < call.in(0).shape.back(); ++from.back())
      sum += call.in(0).at(from) * NBitsWeight(call, n, from.back());
    y.at(at) = sum;
  });
  return {y};
}

// Element by element on quantised operands, each x with its scale and zero point; the result's two come last.
template <auto F, size_t kOperands>
std::vector<Array> QuantizedElements(const Call& call) {
  Array y = call.MakeResult(0);
  const auto real = [&](size_t operand, const Index& at) {
    const Array& a = call.in(operand);
    Index index(a.shape.size());
    const size_t skip = at.size() - index.size();
    for (size_t d = 0; d < index.size(); ++d) index[d] = a.shape[d] == 1 ? 0 : at[d + skip];
    const double zero = call.has(operand + 2) ? call.in(operand + 2).values[0] : 0;
    return (a.at(index) - zero) * call.in(operand + 1).values[0];
  };
  const size_t last = 3 * kOperands;
  ForEach(y.shape, [&](const Index& at) {
    const double v = F(real(0, at), kOperands > 1 ? real(3, at) : call.attributes->Float("alpha", 0.01));
    const double zero = call.has(last + 1) ? call.in(last + 1).values[0] : 0;
    y.at(at) = Saturate(std::nearbyint(v / call.in(last).values[0]) + zero, y.dtype);
  });
  return {y};
}

}  // namespace

void AddQuantization(KernelTable& t) {
  t["QuantizeLinear"] = QuantizeLinear;
  t["DequantizeLinear"] = DequantizeLinear;
  t["DynamicQuantizeLinear"] = DynamicQuantizeLinear;
  t["MatMulInteger"] = MatMulInteger;
  t["QLinearMatMul"] = QLinearMatMul;
  t["ConvInteger"] = ConvInteger;
  t["QLinearConv"] = QLinearConv;
  t["com.microsoft::MatMulIntegerToFloat"] = MatMulIntegerToFloat;
  t["com.microsoft::DynamicQuantizeMatMul"] = DynamicQuantizeMatMul;
  t["com.microsoft::MatMulNBits"] = MatMulNBits;
  t["com.microsoft::QLinearAdd"] = QuantizedElements<([](double a, double b) { return a + b; }), 2>;
  t["com.microsoft::QLinearMul"] = QuantizedElements<([](double a, double b) { return a * b; }), 2>;
  t["com.microsoft::QLinearSigmoid"] = QuantizedElements<([](double x, double) { return 1 / (1 + std::exp(-x)); }), 1>;
  t["com.microsoft::QLinearLeakyRelu"] =
      QuantizedElements<([](double x, double alpha) { return x < 0 ? alpha * x : x; }), 1>;
}

}  // namespace sbp::reference
