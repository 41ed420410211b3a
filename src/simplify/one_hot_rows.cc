// A number that is scattered to one place of each row of equal others, as torch's and JAX's derivatives of losses have
// it: a choice by position, which neighbours of single elements compute for themselves. A place outside of its row is
// then no error of a run, as it is of the scatter: the row is without the number. To look places up would be an op of
// its own again; a loss reads the same labels as its derivative, and what gathers by them says it.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/simplified.h"
#include "graph/tensor_type.h"
#include "sbp/shard_math.h"
#include "simplify/simplify.h"
#include "simplify/spelling_reader.h"
#include "simplify/view.h"

namespace sbp::simplify {
namespace {

class ScatterReader : SpellingReader {
 public:
  ScatterReader(Graph& graph, const std::vector<bool>& computed) : SpellingReader(graph, computed) {}

  bool Run() {
    const size_t count = graph_.ops.size();
    for (size_t o = 0; o < count; ++o) {
      const Op& op = graph_.ops[o];
      if (graph_.type_of(op) == "ScatterElements" && op.inputs.size() == 3 && op.signature_pin.empty()) Try(o, op);
    }
    edit_.Finish();
    return edit_.changed();
  }

 private:
  bool IsKnown(TensorId id) const { return id.valid() && (id.index() >= computed_.size() || !computed_[id.index()]); }

  void Try(size_t o, const Op& op) {
    for (const TensorId id : op.inputs) {
      if (!IsKnown(id)) return;
    }
    const Shape &whole = TypeOf(op.inputs[0]).shape, &index = TypeOf(op.inputs[1]).shape;
    const std::string reduction = op.attributes->String("reduction", "none");
    if ((reduction != "none" && reduction != "add") || whole.size() < 2 || whole.size() != index.size()) return;
    const auto rank = static_cast<int64_t>(whole.size());
    const int64_t axis = op.attributes->Int("axis", 0), from_front = axis < 0 ? axis + rank : axis;
    if (from_front != rank - 1) return;  // the last one: rows
    Shape rows = whole;
    rows.back() = 1;
    const std::optional<double> off = ConstantOf(op.inputs[0]), on = ConstantOf(op.inputs[2]);
    const DType type = TypeOf(op.inputs[0]).dtype;
    if (index != rows || TypeOf(op.inputs[2]).shape != rows || !off || (reduction == "add" && *off != 0)) return;
    if (on && type == DType::kF32) return WriteNumbers(o, *off, *on);
    if (!on && *off == 0 && IsFloat(type) && TypeOf(op.inputs[2]).dtype == type) WriteChoice(o);
  }

  TensorId Numbers(const std::string& name, const std::vector<double>& values) {
    auto literal = std::make_shared<Literal>();
    literal->type = {DType::kF32, {static_cast<int64_t>(values.size())}};
    literal->floats.assign(values.begin(), values.end());
    const TensorId id = edit_.AddTensor(name, literal->type);
    graph_.tensor(id).role = TensorRole::kParameter;
    graph_.tensor(id).literal = std::move(literal);
    return id;
  }

  // As the op that writes `made`, of the name `name`.
  void WriteOneHot(size_t o, const Op& like, const std::string& name, TensorId made, double off, double on) {
    const Shape whole = TypeOf(like.inputs[0]).shape;
    const int64_t classes = whole.back();
    const Shape rows(whole.begin(), whole.end() - 1);
    Op named = like;
    named.name = StrCat(like.name, "/place");
    const TensorId place = edit_.AddTensor(named.name, {TypeOf(like.inputs[1]).dtype, rows});
    for (Op& op : edit_.MakeSteps(named, {{ElementView::Step::Kind::kReshape, rows, {}, {}}}, like.inputs[1], place))
      edit_.Insert(o, std::move(op));
    const TensorId values = Numbers(StrCat(like.name, "/values"), {off, on});
    Op choice = edit_.MakeOp(like, "OneHot", name, {place, edit_.AddInts({classes}), values});
    choice.outputs = {made};
    Attributes attributes;
    attributes.Set("axis", int64_t{-1});
    choice.attributes = std::make_shared<const Attributes>(std::move(attributes));
    choice.metadata.emplace_back(kSimplifiedFrom, like.name);
    edit_.Insert(o, std::move(choice));
  }

  void WriteNumbers(size_t o, double off, double on) {
    const Op like = graph_.ops[o];
    edit_.Remove(o);
    WriteOneHot(o, like, like.name, like.outputs[0], off, on);
  }

  // A number of its own for each row, as JAX writes a derivative of a loss: chosen, since a product with 0 is not 0 of
  // what is no number.
  void WriteChoice(size_t o) {
    const Op like = graph_.ops[o];
    edit_.Remove(o);
    const auto part = [&](std::string_view name, DType type) {
      return edit_.AddTensor(StrCat(like.name, "/", name), {type, TypeOf(like.inputs[0]).shape});
    };
    const TensorId hot = part("hot", DType::kF32), is_hot = part("is_hot", DType::kBool);
    WriteOneHot(o, like, StrCat(like.name, "/hot"), hot, 0, 1);
    Op cast = edit_.MakeOp(like, "Cast", StrCat(like.name, "/is_hot"), {hot});
    cast.outputs = {is_hot};
    Attributes attributes;
    attributes.Set("to", static_cast<int64_t>(DType::kBool));
    cast.attributes = std::make_shared<const Attributes>(std::move(attributes));
    edit_.Insert(o, std::move(cast));
    Op choice = edit_.MakeOp(like, "Where", like.name, {is_hot, like.inputs[2], like.inputs[0]});
    choice.outputs = like.outputs;
    choice.metadata.emplace_back(kSimplifiedFrom, like.name);
    edit_.Insert(o, std::move(choice));
  }
};

}  // namespace

bool OneHotRows(Graph& graph, const std::vector<bool>& computed) { return ScatterReader(graph, computed).Run(); }

}  // namespace sbp::simplify
