// Sources: results that come from shapes and attributes only. A part is told where it lies.
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

}  // namespace

void AddSources(KernelTable& t) {
  t["ConstantOfShape"] = ConstantOfShape;
  t["Range"] = Range;
  t["EyeLike"] = EyeLike;
  t["Shape"] = ShapeOf;
  t["Size"] = Size;
}

}  // namespace sbp::reference
