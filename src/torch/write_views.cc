#include "torch/write_views.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace sbp::torch {
namespace {

using Inverse = std::optional<Attributes> (*)(const ViewMade& view, const TensorType& whole);

// The same arguments undo it, or say where the part stands.
std::optional<Attributes> Same(const ViewMade& view, const TensorType&) { return view.attributes; }

std::optional<Attributes> None(const ViewMade&, const TensorType&) { return Attributes(); }

std::optional<Attributes> ShapeOfWhole(const ViewMade&, const TensorType& whole) {
  if (!whole.is_static()) return std::nullopt;
  Attributes attributes;
  attributes.Set("size", std::vector<int64_t>(whole.shape.begin(), whole.shape.end()));
  return attributes;
}

std::optional<Attributes> Permutation(const ViewMade& view, const TensorType& whole) {
  const std::vector<int64_t>* dims = view.attributes.Ints("dims");
  const auto rank = static_cast<int64_t>(whole.shape.size());
  if (dims == nullptr || static_cast<int64_t>(dims->size()) != rank) return std::nullopt;
  std::vector<int64_t> inverse(dims->size(), -1);
  for (size_t d = 0; d < dims->size(); ++d) {
    const int64_t from = (*dims)[d] < 0 ? (*dims)[d] + rank : (*dims)[d];
    if (from < 0 || from >= rank) return std::nullopt;
    inverse[static_cast<size_t>(from)] = static_cast<int64_t>(d);
  }
  if (std::ranges::find(inverse, -1) != inverse.end()) return std::nullopt;
  Attributes attributes;
  attributes.Set("dims", std::move(inverse));
  return attributes;
}

std::optional<Attributes> Narrowed(const ViewMade& view, const TensorType&) {
  const AttributeValue *start = view.attributes.Find("start"), *length = view.attributes.Find("length");
  if (start == nullptr || length == nullptr) return std::nullopt;
  const auto *from = std::get_if<int64_t>(start), *count = std::get_if<int64_t>(length);
  if (from == nullptr || count == nullptr || *from < 0) return std::nullopt;
  Attributes attributes;
  attributes.Set("dim", view.attributes.Int("dim", 0));
  attributes.Set("start", *from);
  attributes.Set("end", *from + *count);
  return attributes;
}

struct Row {
  std::string_view view, write;
  bool takes_whole;
  Inverse inverse;
};
constexpr Row kRows[] = {
    {"aten::alias", "aten::alias", false, None},
    {"aten::detach", "aten::alias", false, None},
    {"aten::narrow", "aten::slice_scatter", true, Narrowed},
    {"aten::permute", "aten::permute", false, Permutation},
    {"aten::select.int", "aten::select_scatter", true, Same},
    {"aten::slice.Tensor", "aten::slice_scatter", true, Same},
    {"aten::t", "aten::t", false, None},
    {"aten::transpose.int", "aten::transpose.int", false, Same},
    {"aten::unsqueeze", "aten::view", false, ShapeOfWhole},
    {"aten::squeeze.dim", "aten::view", false, ShapeOfWhole},
    {"aten::view", "aten::view", false, ShapeOfWhole},
};

}  // namespace

std::optional<WriteBack> WriteBackOf(const ViewMade& view, const TensorType& whole) {
  const auto row = std::ranges::find(kRows, std::string_view(view.type), &Row::view);
  if (row == std::end(kRows)) return std::nullopt;
  std::optional<Attributes> attributes = row->inverse(view, whole);
  if (!attributes) return std::nullopt;
  std::vector<std::string> operands;
  if (row->takes_whole) operands = {"self", "src"};
  if (!row->takes_whole) operands = {"self"};
  attributes->Set("_operands", std::move(operands));
  return WriteBack{std::string(row->write), *std::move(attributes), row->takes_whole};
}

}  // namespace sbp::torch
