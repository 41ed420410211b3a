// Sources: results that come from shapes and attributes only. A part is told where it lies.
#include <cmath>

#include "reference/interpreter.h"

namespace sbp::reference {
namespace {

std::vector<Array> ConstantOfShape(const Call& call) {
  const AttributeValue* value = call.attributes->Find("value");
  double fill = 0;
  if (value != nullptr) {
    const Literal& literal = **std::get_if<LiteralRef>(value);
    fill = literal.floats.empty() ? static_cast<double>(literal.ints[0]) : literal.floats[0];
  }
  return {call.MakeResult(0, fill)};
}

std::vector<Array> Range(const Call& call) {
  Array out = call.MakeResult(0);
  const int64_t begin = call.result_pieces[0].ranges[0].begin;
  for (size_t i = 0; i < out.values.size(); ++i) {
    out.values[i] = call.in(0).values[0] + static_cast<double>(begin + static_cast<int64_t>(i)) * call.in(2).values[0];
  }
  return {out};
}

std::vector<Array> EyeLike(const Call& call) {
  const int64_t k = call.attributes->Int("k", 0);
  Array out = call.MakeResult(0);
  ForEach(out.shape, [&](const Index& at) {
    const Index where = call.result_pieces[0].ToGlobal(at);
    out.at(at) = where[1] - where[0] == k ? 1 : 0;
  });
  return {out};
}

std::vector<Array> ShapeOf(const Call& call) {
  Array out = call.MakeResult(0);
  const sbp::Shape& shape = call.input_pieces[0].global;
  const int64_t rank = static_cast<int64_t>(shape.size());
  int64_t start = call.attributes->Int("start", 0);
  start = start < 0 ? start + rank : start;
  for (size_t i = 0; i < out.values.size(); ++i) {
    out.values[i] = static_cast<double>(shape[start + call.result_pieces[0].ranges[0].begin + static_cast<int64_t>(i)]);
  }
  return {out};
}

std::vector<Array> Size(const Call& call) {
  return {call.MakeResult(0, static_cast<double>(Elements(call.input_pieces[0].global)))};
}

// A number of [0, 1) for each element of the whole result: a hash of its place stands for the generator.
double Draw(const Piece& piece, const Index& local) {
  const Index at = piece.ToGlobal(local);
  uint64_t hash = 1;
  for (size_t d = 0; d < at.size(); ++d) {
    hash = (hash * static_cast<uint64_t>(piece.global[d]) + static_cast<uint64_t>(at[d])) * 0x9E3779B97F4A7C15;
    hash ^= hash >> 29;
  }
  return static_cast<double>(hash >> 11) * 0x1p-53;
}

std::vector<Array> DrawUniform(const Call& call) {
  const double low = call.attributes->Float("low", 0), high = call.attributes->Float("high", 1);
  Array out = call.MakeResult(0);
  ForEach(out.shape, [&](const Index& at) { out.at(at) = low + (high - low) * Draw(call.result_pieces[0], at); });
  return {out};
}

// A uniform number stands for a normal one.
std::vector<Array> DrawNormal(const Call& call) {
  const double mean = call.attributes->Float("mean", 0), scale = call.attributes->Float("scale", 1);
  Array out = call.MakeResult(0);
  ForEach(out.shape, [&](const Index& at) { out.at(at) = mean + scale * (2 * Draw(call.result_pieces[0], at) - 1); });
  return {out};
}

std::vector<Array> Bernoulli(const Call& call) {
  Array out = call.MakeResult(0);
  ForEach(out.shape,
          [&](const Index& at) { out.at(at) = Draw(call.result_pieces[0], at) < call.in(0).at(at) ? 1 : 0; });
  return {out};
}

// Rows of logarithms of probabilities, of any sum.
std::vector<Array> Multinomial(const Call& call) {
  const Array& logits = call.in(0);
  Array out = call.MakeResult(0);
  ForEach(out.shape, [&](const Index& at) {
    double total = 0, seen = 0;
    for (int64_t c = 0; c < logits.shape[1]; ++c) total += std::exp(logits.at({at[0], c}));
    const double drawn = Draw(call.result_pieces[0], at) * total;
    int64_t c = 0;
    while (c + 1 < logits.shape[1] && (seen += std::exp(logits.at({at[0], c}))) <= drawn) ++c;
    out.at(at) = static_cast<double>(c);
  });
  return {out};
}

}  // namespace

void AddSources(KernelTable& t) {
  t["ConstantOfShape"] = ConstantOfShape;
  t["Range"] = Range;
  t["EyeLike"] = EyeLike;
  t["Shape"] = ShapeOf;
  t["Size"] = Size;
  t["RandomUniform"] = t["RandomUniformLike"] = DrawUniform;
  t["RandomNormal"] = t["RandomNormalLike"] = DrawNormal;
  t["Bernoulli"] = Bernoulli;
  t["Multinomial"] = Multinomial;
}

}  // namespace sbp::reference
