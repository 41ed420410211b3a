// Optimizer steps: step size, step count, then lists of values, gradients and states; and simple preprocessing.
#include <algorithm>
#include <cmath>

#include "reference/interpreter.h"

namespace sbp::reference {
namespace {

// One element of one tensor: value, gradient, states; the new ones are written back.
struct Element {
  double value = 0, gradient = 0;
  double state[2] = {0, 0};
};
using ElementStep = void (*)(Element& element, double rate, double count, const Attributes& attributes);

template <size_t kStates, ElementStep step>
std::vector<Array> Update(const Call& call) {
  const size_t tensors = (call.inputs.size() - 2) / (2 + kStates);
  std::vector<Array> out;
  for (size_t r = 0; r < call.result_pieces.size(); ++r) out.push_back(call.MakeResult(r));
  for (size_t t = 0; t < tensors; ++t) {
    const auto list = [&](size_t which) -> const Array& { return call.in(2 + which * tensors + t); };
    for (size_t i = 0; i < out[t].values.size(); ++i) {
      Element element{list(0).values[i], list(1).values[i], {}};
      for (size_t s = 0; s < kStates; ++s) element.state[s] = list(2 + s).values[i];
      element.gradient += call.attributes->Float("norm_coefficient", 0) * element.value;
      step(element, call.in(0).values[0], call.in(1).values[0], *call.attributes);
      out[t].values[i] = element.value;
      for (size_t s = 0; s < kStates; ++s) out[(1 + s) * tensors + t].values[i] = element.state[s];
    }
  }
  return out;
}

void AdagradStep(Element& e, double rate, double count, const Attributes& a) {
  e.state[0] += e.gradient * e.gradient;
  const double decayed = rate / (1 + count * a.Float("decay_factor", 0));
  e.value -= decayed * e.gradient / (std::sqrt(e.state[0]) + a.Float("epsilon", 1e-6));
}

void AdamStep(Element& e, double rate, double count, const Attributes& a) {
  const double alpha = a.Float("alpha", 0.9), beta = a.Float("beta", 0.999);
  e.state[0] = alpha * e.state[0] + (1 - alpha) * e.gradient;
  e.state[1] = beta * e.state[1] + (1 - beta) * e.gradient * e.gradient;
  if (count > 0) rate *= std::sqrt(1 - std::pow(beta, count)) / (1 - std::pow(alpha, count));
  e.value -= rate * e.state[0] / (std::sqrt(e.state[1]) + a.Float("epsilon", 1e-6));
  e.value *= 1 - a.Float("norm_coefficient_post", 0);
}

void MomentumStep(Element& e, double rate, double count, const Attributes& a) {
  const double alpha = a.Float("alpha", 0), beta = count > 0 ? a.Float("beta", 0) : 1;
  e.state[0] = alpha * e.state[0] + beta * e.gradient;
  const bool nesterov = a.String("mode", "standard") == "nesterov";
  e.value -= rate * (nesterov ? e.gradient + alpha * e.state[0] : e.state[0]);
}

std::vector<Array> Binarizer(const Call& call) {
  Array y = call.MakeResult(0);
  for (size_t i = 0; i < y.values.size(); ++i)
    y.values[i] = call.in(0).values[i] > call.attributes->Float("threshold", 0) ? 1 : 0;
  return {y};
}

// A constant for each feature, or one for all.
double FeatureConstant(const Call& call, const char* name, int64_t feature, double fallback) {
  const AttributeValue* value = call.attributes->Find(name);
  if (value == nullptr) return fallback;
  const auto& list = std::get<std::vector<double>>(*value);
  return list[list.size() == 1 ? 0 : feature];
}

std::vector<Array> Scaler(const Call& call) {
  Array y = call.MakeResult(0);
  ForEach(y.shape, [&](const Index& at) {
    const int64_t feature = call.result_pieces[0].ToGlobal(at).back();
    y.at(at) =
        (call.in(0).at(at) - FeatureConstant(call, "offset", feature, 0)) * FeatureConstant(call, "scale", feature, 1);
  });
  return {y};
}

std::vector<Array> Normalizer(const Call& call) {
  const std::string norm = call.attributes->String("norm", "MAX");
  const int64_t n = call.in(0).shape.back();
  Array y = call.MakeResult(0);
  for (size_t row = 0; row < y.values.size(); row += n) {
    double total = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double v = std::abs(call.in(0).values[row + i]);
      total = norm == "MAX" ? std::max(total, v) : total + (norm == "L2" ? v * v : v);
    }
    if (norm == "L2") total = std::sqrt(total);
    for (int64_t i = 0; i < n; ++i) y.values[row + i] = call.in(0).values[row + i] / total;
  }
  return {y};
}

}  // namespace

void AddTraining(KernelTable& t) {
  t["ai.onnx.preview.training::Adagrad"] = Update<1, AdagradStep>;
  t["ai.onnx.preview.training::Adam"] = Update<2, AdamStep>;
  t["ai.onnx.preview.training::Momentum"] = Update<1, MomentumStep>;
  t["ai.onnx.ml::Binarizer"] = Binarizer;
  t["ai.onnx.ml::Scaler"] = Scaler;
  t["ai.onnx.ml::Normalizer"] = Normalizer;
}

}  // namespace sbp::reference
