// Fourier transforms, window functions, mel filters, determinants.
#include <algorithm>
#include <cmath>
#include <complex>

#include "reference/interpreter.h"

namespace sbp::reference {
namespace {

using Complex = std::complex<double>;

// Coefficient k of a transform over `length` values, those beyond x being 0.
Complex Coefficient(const std::vector<Complex>& x, int64_t k, int64_t length, bool inverse) {
  Complex sum = 0;
  for (int64_t i = 0; i < std::min(length, static_cast<int64_t>(x.size())); ++i) {
    const double angle = 2 * M_PI * static_cast<double>(k * i) / static_cast<double>(length);
    sum += x[i] * std::polar(1.0, inverse ? angle : -angle);
  }
  return inverse ? sum / static_cast<double>(length) : sum;
}

// The element whose real and imaginary parts lie along the last dimension, which may hold the real part alone.
Complex ComplexAt(const Array& x, Index at) {
  at.back() = 0;
  const double real = x.at(at);
  at.back() = 1;
  return x.shape.back() == 2 ? Complex(real, x.at(at)) : Complex(real);
}
void SetComplex(Array& x, Index at, Complex v) {
  at.back() = 0;
  x.at(at) = v.real();
  at.back() = 1;
  if (x.shape.back() == 2) x.at(at) = v.imag();
}

std::vector<Array> Dft(const Call& call) {
  const Array& x = call.in(0);
  int64_t axis = call.attributes->Int("axis", -2);
  if (call.has(2)) axis = static_cast<int64_t>(call.in(2).values[0]);
  if (axis < 0) axis += x.rank();
  const bool inverse = call.attributes->Int("inverse", 0) != 0, onesided = call.attributes->Int("onesided", 0) != 0;
  const int64_t n = x.shape[axis];
  int64_t length = inverse && onesided ? 2 * (n - 1) : n;
  if (call.has(1)) length = static_cast<int64_t>(call.in(1).values[0]);
  Array y = call.MakeResult(0);
  Shape rows = y.shape;
  rows[axis] = rows.back() = 1;
  ForEach(rows, [&](Index at) {
    std::vector<Complex> line;
    for (at[axis] = 0; at[axis] < n; ++at[axis]) line.push_back(ComplexAt(x, at));
    // The other half of a one-sided spectrum mirrors this one.
    for (int64_t i = n; inverse && onesided && i < length; ++i) line.push_back(std::conj(line[length - i]));
    for (at[axis] = 0; at[axis] < y.shape[axis]; ++at[axis])
      SetComplex(y, at, Coefficient(line, at[axis], length, inverse));
  });
  return {y};
}

std::vector<Array> Stft(const Call& call) {
  const Array& signal = call.in(0);
  const int64_t step = static_cast<int64_t>(call.in(1).values[0]);
  const int64_t length = call.has(3) ? static_cast<int64_t>(call.in(3).values[0]) : call.in(2).shape[0];
  Array y = call.MakeResult(0);
  ForEach(Shape{y.shape[0], y.shape[1], y.shape[2]}, [&](Index at) {
    std::vector<Complex> frame;
    for (int64_t i = 0; i < length; ++i) {
      const int64_t position = at[1] * step + i;
      const Complex v = signal.rank() == 3 ? ComplexAt(signal, {at[0], position, 0}) : signal.at({at[0], position});
      frame.push_back(v * (call.has(2) ? call.in(2).values[i] : 1));
    }
    at.push_back(0);
    SetComplex(y, at, Coefficient(frame, at[2], length, false));
  });
  return {y};
}

// Sum of cosines: c0 - c1 cos(2 pi i / n) + c2 cos(4 pi i / n).
struct CosineWindow {
  double c0, c1, c2;
};
std::vector<Array> WindowValues(const Call& call, CosineWindow window) {
  const double size = call.in(0).values[0];
  const double n = call.attributes->Int("periodic", 1) != 0 ? size : size - 1;
  Array y = call.MakeResult(0);
  for (size_t i = 0; i < y.values.size(); ++i) {
    const double angle =
        2 * M_PI * static_cast<double>(call.result_pieces[0].ranges[0].begin + static_cast<int64_t>(i)) / n;
    y.values[i] = window.c0 - window.c1 * std::cos(angle) + window.c2 * std::cos(2 * angle);
  }
  return {y};
}
std::vector<Array> HannWindow(const Call& call) { return WindowValues(call, {0.5, 0.5, 0}); }
std::vector<Array> HammingWindow(const Call& call) { return WindowValues(call, {25.0 / 46, 21.0 / 46, 0}); }
std::vector<Array> BlackmanWindow(const Call& call) { return WindowValues(call, {0.42, 0.5, 0.08}); }

// Triangles between neighbouring points that lie evenly on the mel scale.
std::vector<Array> MelWeightMatrix(const Call& call) {
  const double bins = call.in(0).values[0], length = call.in(1).values[0], rate = call.in(2).values[0];
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low = mel(call.in(3).values[0]), high = mel(call.in(4).values[0]);
  const auto point = [&](int64_t i) {
    const double m = low + static_cast<double>(i) * (high - low) / (bins + 2);
    return std::floor((length + 1) * (700 * (std::pow(10, m / 2595) - 1)) / rate);
  };
  Array y = call.MakeResult(0);
  ForEach(y.shape, [&](const Index& local) {
    const Index at = call.result_pieces[0].ToGlobal(local);
    const double x = static_cast<double>(at[0]);
    const double left = point(at[1]), centre = point(at[1] + 1), right = point(at[1] + 2);
    if (x == centre) y.at(local) = 1;
    if (x >= left && x < centre) y.at(local) = (x - left) / (centre - left);
    if (x > centre && x < right) y.at(local) = (right - x) / (right - centre);
  });
  return {y};
}

// By expansion along the first row.
double Determinant(const std::vector<std::vector<double>>& rows) {
  if (rows.empty()) return 1;
  double sum = 0;
  for (size_t column = 0; column < rows.size(); ++column) {
    std::vector<std::vector<double>> minor(rows.begin() + 1, rows.end());
    for (auto& row : minor) row.erase(row.begin() + static_cast<int64_t>(column));
    sum += (column % 2 == 0 ? 1 : -1) * rows[0][column] * Determinant(minor);
  }
  return sum;
}

std::vector<Array> Det(const Call& call) {
  const int64_t n = call.in(0).shape.back();
  Array y = call.MakeResult(0);
  ForEach(y.shape, [&](const Index& at) {
    std::vector<std::vector<double>> rows(n, std::vector<double>(n));
    Index from = at;
    from.resize(at.size() + 2);
    for (int64_t r = 0; r < n; ++r) {
      for (int64_t c = 0; c < n; ++c) {
        from[at.size()] = r;
        from[at.size() + 1] = c;
        rows[r][c] = call.in(0).at(from);
      }
    }
    y.at(at) = Determinant(rows);
  });
  return {y};
}

}  // namespace

void AddSignal(KernelTable& t) {
  t["DFT"] = Dft;
  t["STFT"] = Stft;
  t["HannWindow"] = HannWindow;
  t["HammingWindow"] = HammingWindow;
  t["BlackmanWindow"] = BlackmanWindow;
  t["MelWeightMatrix"] = MelWeightMatrix;
  t["Det"] = Det;
}

}  // namespace sbp::reference
