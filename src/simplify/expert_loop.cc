#include "simplify/expert_loop.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include "base/dtype.h"
#include "base/ids.h"
#include "graph/literal.h"
#include "sbp/shard_math.h"
#include "simplify/elementwise.h"
#include "simplify/moves.h"
#include "simplify/view.h"

namespace sbp::simplify {
namespace {

constexpr size_t kLongestMask = 12, kLongestTurn = 64;

const std::vector<int64_t>* IntsOf(const Graph& graph, TensorId id) {
  if (!id.valid()) return nullptr;
  const Tensor& tensor = graph.tensor(id);
  const bool known = tensor.role == TensorRole::kParameter && tensor.literal != nullptr;
  return known && tensor.literal->is_integral() ? &tensor.literal->ints : nullptr;
}

bool IsIota(const std::vector<int64_t>& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

// Where experts are compared with indices: [indices' dimensions, experts], or of one expert.
struct OneHotForm {
  TensorId ids;
  Shape dims;
  int64_t experts = 0;  // 0: of `expert` alone
  int64_t expert = 0;
};

std::optional<OneHotForm> FormOf(const Graph& graph, const Op& op) {
  const auto shape = [&](TensorId id) { return graph.tensor(id).type.shape; };
  if (graph.type_of(op) == "OneHot") {
    const Shape result = shape(op.outputs[0]), ids = shape(op.inputs[0]);
    const Tensor& values = graph.tensor(op.inputs[2]);
    const int64_t axis = op.attributes->Int("axis", -1);
    const bool last = axis == -1 || axis == static_cast<int64_t>(ids.size());
    if (!last || values.literal == nullptr || !IsInteger(graph.tensor(op.inputs[0]).type.dtype)) return std::nullopt;
    const Literal& on_off = *values.literal;
    if (on_off.ints != std::vector<int64_t>{0, 1} && on_off.floats != std::vector<double>{0, 1}) return std::nullopt;
    return OneHotForm{op.inputs[0], ids, result.back(), 0};
  }
  if (graph.type_of(op) != "Equal") return std::nullopt;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const TensorId ids = op.inputs[side], other = op.inputs[1 - side];
    const std::vector<int64_t>* values = IntsOf(graph, other);
    const Shape result = shape(op.outputs[0]), of_ids = shape(ids);
    if (values == nullptr || !IsInteger(graph.tensor(ids).type.dtype) || of_ids.empty()) continue;
    if (values->size() == 1 && result == of_ids) return OneHotForm{ids, of_ids, 0, values->front()};
    if (of_ids.back() != 1 || of_ids.size() != result.size() || shape(other).back() != result.back()) continue;
    const Shape dims(of_ids.begin(), of_ids.end() - 1);
    const bool along = static_cast<int64_t>(values->size()) == result.back() && IsIota(*values);
    if (along && std::equal(dims.begin(), dims.end(), result.begin())) return OneHotForm{ids, dims, result.back(), 0};
  }
  return std::nullopt;
}

// Which expert a mask picks, and which dimension of the indices each of its dimensions is.
struct Mask {
  OneHotForm form;
  std::vector<int> dims;
};

std::optional<Mask> FindMask(const Graph& graph, TensorId mask) {
  const Shape seen = graph.tensor(mask).type.shape;
  Route route;
  TensorId at = mask;
  for (size_t way = 0; way < kLongestMask; ++way) {
    const Op* op = ProducerOf(graph, at);
    if (op == nullptr || !op->signature_pin.empty()) return std::nullopt;
    if (std::optional<OneHotForm> form = FormOf(graph, *op)) {
      const Shape whole = graph.tensor(at).type.shape;
      ElementView view(whole);
      int64_t first = 0;
      for (const auto& [move, result] : route) first = SourceOf(graph, *move, result, first);
      for (size_t i = route.size(); i-- > 0;) {
        if (!ApplyMove(graph, *route[i].first, route[i].second, view)) return std::nullopt;
      }
      ElementView plain(whole);
      if (form->experts > 0) {
        if (first >= form->experts) return std::nullopt;
        form->expert = first;
        if (!plain.Slice(whole.size() - 1, first, 1) || !plain.Reshape(form->dims)) return std::nullopt;
      }
      if (form->dims.size() > 4 || !view.Reshape(seen)) return std::nullopt;
      std::vector<int> order(form->dims.size());
      std::iota(order.begin(), order.end(), 0);
      do {
        ElementView turned = plain;
        turned.Transpose(order);
        if (turned.shape() == seen && turned.Reshape(seen) && turned == view) return Mask{*form, order};
      } while (std::ranges::next_permutation(order).found);
      return std::nullopt;
    }
    const size_t result = graph.tensor(at).producer_index;
    if (graph.type_of(*op) != "Cast") {
      if (!IsMove(graph, *op, result)) return std::nullopt;
      route.emplace_back(op, result);
    }
    at = op->inputs[0];
  }
  return std::nullopt;
}

class TurnFollower {
 public:
  TurnFollower(const Graph& graph, const UseTable& uses, ExpertTurn turn) : graph_(graph), uses_(uses), turn_(turn) {
    rows_ = 1;
    for (const int64_t size : turn_.ids_dims) rows_ *= size;
  }

  std::optional<ExpertTurn> Run(size_t first, const std::vector<int>& mask_dims) {
    const TensorId places = graph_.ops[first].outputs[0];
    if (rows_ < 2) return std::nullopt;  // a 1 would be any dimension
    if (!Set(places, {Kind::kPlaces, mask_dims, 1, {}})) return std::nullopt;
    while (!waiting_.empty()) {
      const size_t op = *waiting_.begin();
      waiting_.erase(waiting_.begin());
      if (++followed_ > kLongestTurn || !Follow(op)) return std::nullopt;
    }
    if (!done_) return std::nullopt;
    return turn_;
  }

 private:
  enum class Kind : uint8_t { kPlaces, kRows, kSizes };
  struct Value {
    Kind kind = Kind::kSizes;
    std::vector<int> dims;  // kPlaces: the indices' dimensions, along the dimension that is not `rows`
    int rows = 0;           // the dimension that counts rows; kRows: those before it are 1
    TurnOperand step;       // kRows
  };

  const Tensor& TensorOf(TensorId id) const { return graph_.tensor(id); }
  const Shape& ShapeOf(TensorId id) const { return graph_.tensor(id).type.shape; }
  const Value* Of(TensorId id) const {
    const auto at = values_.find(id);
    return at == values_.end() ? nullptr : &at->second;
  }
  bool IsPlaces(TensorId id) const { return Of(id) != nullptr && Of(id)->kind == Kind::kPlaces; }
  bool IsRows(TensorId id) const { return Of(id) != nullptr && Of(id)->kind == Kind::kRows && Of(id)->rows == 0; }

  bool Set(TensorId id, Value value) {
    if (TensorOf(id).layout_pin.size() > 0) return false;
    values_[id] = std::move(value);
    const auto [begin, end] = uses_.of(id);
    for (const Use* use = begin; use != end; ++use) waiting_.insert(use->op.index());
    return true;
  }

  bool Follow(size_t o) {
    const Op& op = graph_.ops[o];
    if (!op.signature_pin.empty() || !op.captures.empty() || op.inputs.empty()) return false;
    const std::string& type = graph_.type_of(op);
    if (type == "ScatterND" || type == "ScatterElements") return TakeScatter(o, type == "ScatterND");
    if (op.inputs.size() == 2 && IsPlaces(op.inputs[1]) && (type == "Gather" || type == "GatherND"))
      return TakeGather(o, type == "GatherND");
    if (type == "Shape" || std::ranges::any_of(op.inputs, [&](TensorId id) {
          return id.valid() && Of(id) != nullptr && Of(id)->kind == Kind::kSizes;
        }))
      return TakeSizes(op, type);
    if (IsPlaces(op.inputs[0])) return TakePlaces(op, type);
    const bool behind = Of(op.inputs[0]) != nullptr && Of(op.inputs[0])->rows > 0;
    if (type == "Reshape" || (type == "Squeeze" && behind))
      return Of(op.inputs[0]) != nullptr && TakePlacesOrSame(op, type);
    return TakeRows(o, type);
  }

  // Sizes only say again what the tensors have, where they are read.
  bool TakeSizes(const Op& op, const std::string& type) {
    if (type == "Expand" || type == "Reshape") return Of(op.inputs[0]) != nullptr && TakePlacesOrSame(op, type);
    for (const TensorId id : op.inputs) {
      if (type != "Shape" && id.valid() && Of(id) != nullptr && Of(id)->kind != Kind::kSizes) return false;
    }
    for (const TensorId id : op.outputs) {
      if (!id.valid() || !IsInteger(TensorOf(id).type.dtype) || ShapeOf(id).size() > 1) return false;
      if (!Set(id, {Kind::kSizes, {}, 0, {}})) return false;
    }
    return true;
  }

  bool TakePlacesOrSame(const Op& op, const std::string& type) {
    if (IsPlaces(op.inputs[0])) return TakePlaces(op, type);
    Value same = *Of(op.inputs[0]);
    const Shape& in = ShapeOf(op.inputs[0]);
    if (same.kind != Kind::kRows || ShapeOf(op.outputs[0]) != Shape(in.begin() + same.rows, in.end())) return false;
    same.rows = 0;
    return Set(op.outputs[0], same);
  }

  bool TakePlaces(const Op& op, const std::string& type) {
    const Value from = *Of(op.inputs[0]);
    const Shape &in = ShapeOf(op.inputs[0]), &out = ShapeOf(op.outputs[0]);
    const int across = in.size() == 2 ? 1 - from.rows : -1;
    Value to = from;
    if (type == "Cast") return Set(op.outputs[0], to);
    if (type == "Transpose") {
      if (in.size() != 2) return false;
      const std::vector<int64_t>* perm = op.attributes->Ints("perm");
      if (perm == nullptr || perm->front() != 0) to.rows = 1 - from.rows;
      return Set(op.outputs[0], to);
    }
    if (type == "Gather" || type == "Split") return TakeColumns(op, type, across);
    if (type == "Concat") return JoinColumns(op);
    if (type == "Expand") {  // one column, again and again, as ScatterElements wants it
      if (from.dims.size() != 1 || in.size() != 2 || from.rows != 0 || out.size() != 2 || out[0] != rows_) return false;
      return Set(op.outputs[0], to);
    }
    if (type != "Unsqueeze" && type != "Squeeze" && type != "Reshape") return false;
    if (from.dims.size() != 1 || out.empty() || out.size() > 2) return false;
    to.rows = out[0] == rows_ ? 0 : 1;
    const bool fits =
        out[static_cast<size_t>(to.rows)] == rows_ && (out.size() == 1 || out[static_cast<size_t>(1 - to.rows)] == 1);
    return fits && Set(op.outputs[0], to);
  }

  bool TakeColumns(const Op& op, const std::string& type, int across) {
    const Value from = *Of(op.inputs[0]);
    const auto rank = static_cast<int64_t>(ShapeOf(op.inputs[0]).size());
    int64_t axis = op.attributes->Int("axis", 0);
    if (axis < 0) axis += rank;
    if (axis != across) return false;
    if (type == "Split") {
      if (op.outputs.size() != from.dims.size()) return false;
      for (size_t r = 0; r < op.outputs.size(); ++r) {
        if (op.outputs[r].valid() && !Set(op.outputs[r], {Kind::kPlaces, {from.dims[r]}, from.rows, {}})) return false;
      }
      return true;
    }
    const std::vector<int64_t>* index = IntsOf(graph_, op.inputs[1]);
    if (index == nullptr) return false;
    Value to{Kind::kPlaces, {}, ShapeOf(op.inputs[1]).empty() ? 0 : from.rows, {}};
    if (ShapeOf(op.inputs[1]).size() > 1) return false;
    for (int64_t i : *index) {
      if (i < 0) i += static_cast<int64_t>(from.dims.size());
      if (i < 0 || i >= static_cast<int64_t>(from.dims.size())) return false;
      to.dims.push_back(from.dims[static_cast<size_t>(i)]);
    }
    return Set(op.outputs[0], to);
  }

  bool JoinColumns(const Op& op) {
    int64_t axis = op.attributes->Int("axis", 0);
    if (axis < 0) axis += 2;
    Value to{Kind::kPlaces, {}, 0, {}};
    for (const TensorId id : op.inputs) {
      if (!IsPlaces(id) || ShapeOf(id).size() != 2 || Of(id)->rows != 0 || axis != 1) return false;
      const std::vector<int>& dims = Of(id)->dims;
      if (static_cast<int64_t>(dims.size()) != ShapeOf(id)[1]) return false;
      to.dims.insert(to.dims.end(), dims.begin(), dims.end());
    }
    return Set(op.outputs[0], to);
  }

  // Do the places index the first dimensions of a tensor of this shape?
  bool Index(const Value& places, const Shape& shape) const {
    const std::vector<int>& dims = places.dims;
    if (dims.empty() || dims.size() > shape.size() || places.rows != 0) return false;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (i > 0 && dims[i] <= dims[i - 1]) return false;
      if (shape[i] != turn_.ids_dims[static_cast<size_t>(dims[i])]) return false;
    }
    return true;
  }

  bool TakeGather(size_t o, bool tuples) {
    const Op& op = graph_.ops[o];
    if (Of(op.inputs[0]) != nullptr) return false;
    const Value& places = *Of(op.inputs[1]);
    const Shape& index = ShapeOf(op.inputs[1]);
    const Shape& from = ShapeOf(op.inputs[0]);
    int64_t axis = tuples ? 0 : op.attributes->Int("axis", 0);
    if (axis < 0) axis += static_cast<int64_t>(from.size());
    const bool fits = tuples ? index.size() == 2 && op.attributes->Int("batch_dims", 0) == 0 : index.size() == 1;
    if (!fits || !std::all_of(from.begin(), from.begin() + axis, [](int64_t size) { return size == 1; })) return false;
    if (!Index(places, Shape(from.begin() + axis, from.end()))) return false;
    if (tuples && index[1] != static_cast<int64_t>(places.dims.size())) return false;
    const auto leading = static_cast<size_t>(axis);
    return AddStep({TurnStep::Kind::kGather, o, {{-1, 0, op.inputs[0]}}, places.dims, false, leading});
  }

  bool TakeRows(size_t o, const std::string& type) {
    const Op& op = graph_.ops[o];
    TurnStep step{TurnStep::Kind::kRowwise, o, {}, {}};
    const size_t rank = ShapeOf(op.outputs[0]).size();
    for (const TensorId id : op.inputs) {
      if (!id.valid()) {
        step.operands.emplace_back();
        continue;
      }
      const bool is_rows = IsRows(id);
      if (!is_rows && Of(id) != nullptr) return false;
      step.operands.push_back(is_rows ? Of(id)->step : TurnOperand{-1, 0, id});
    }
    if (type == "MatMul" || type == "Gemm") return AsProduct(op, type, step) && AddStep(step);
    if (type == "Split") {
      int64_t axis = op.attributes->Int("axis", 0);
      if (axis < 0) axis += static_cast<int64_t>(ShapeOf(op.inputs[0]).size());
      return axis > 0 && AddStep(step);
    }
    if (type == "Unsqueeze" || type == "Squeeze") return step.operands[0].step >= 0 && AddStep(step);
    if (type == "Slice") return step.operands[0].step >= 0 && LeavesRows(op) && AddStep(step);
    if (!IsElementwise(type)) return false;
    for (const TensorId id : op.inputs) {
      if (!id.valid()) continue;
      const Shape& shape = ShapeOf(id);
      if (IsRows(id) ? shape.size() != rank : shape.size() >= rank && shape[shape.size() - rank] != 1) return false;
    }
    return AddStep(step);
  }

  bool LeavesRows(const Op& op) const {
    const std::vector<int64_t>* axes = op.inputs.size() > 3 ? IntsOf(graph_, op.inputs[3]) : nullptr;
    const auto rank = static_cast<int64_t>(ShapeOf(op.inputs[0]).size());
    return axes != nullptr && std::ranges::none_of(*axes, [&](int64_t a) { return a == 0 || a == -rank; });
  }

  bool AsProduct(const Op& op, const std::string& type, TurnStep& step) const {
    step.kind = TurnStep::Kind::kProduct;
    if (op.inputs.size() != 2 || step.operands[0].step < 0 || step.operands[1].step >= 0) return false;
    if (ShapeOf(op.inputs[0]).size() != 2 || ShapeOf(op.inputs[1]).size() != 2) return false;
    if (!IsFloat(TensorOf(op.inputs[0]).type.dtype)) return false;
    if (type == "MatMul") return true;
    step.transposed = op.attributes->Int("transB", 0) != 0;
    return op.attributes->Float("alpha", 1) == 1 && op.attributes->Int("transA", 0) == 0;
  }

  bool AddStep(TurnStep step) {
    const std::vector<TensorId>& outputs = graph_.ops[step.op].outputs;
    const int number = static_cast<int>(turn_.steps.size());
    const size_t leading = step.leading;
    turn_.steps.push_back(std::move(step));
    for (size_t r = 0; r < outputs.size(); ++r) {
      if (!outputs[r].valid()) continue;
      const Shape& shape = ShapeOf(outputs[r]);
      if (shape.size() <= leading || shape[leading] != rows_) return false;
      if (!Set(outputs[r], {Kind::kRows, {}, static_cast<int>(leading), {number, r, {}}})) return false;
    }
    return true;
  }

  bool TakeScatter(size_t o, bool tuples) {
    const Op& op = graph_.ops[o];
    if (done_ || op.inputs.size() != 3 || op.attributes->String("reduction", "none") != "add") return false;
    if (Of(op.inputs[0]) != nullptr || !IsPlaces(op.inputs[1]) || !IsRows(op.inputs[2])) return false;
    const Value& places = *Of(op.inputs[1]);
    const Shape &to = ShapeOf(op.inputs[0]), &index = ShapeOf(op.inputs[1]), &updates = ShapeOf(op.inputs[2]);
    if (!Index(places, to) || index.size() != 2) return false;
    if (tuples) {
      if (index[1] != static_cast<int64_t>(places.dims.size())) return false;
    } else if (places.dims.size() != 1 || op.attributes->Int("axis", 0) != 0 || index != updates || to.size() != 2) {
      return false;
    }
    Shape wanted = {rows_};
    wanted.insert(wanted.end(), to.begin() + static_cast<std::ptrdiff_t>(places.dims.size()), to.end());
    if (updates != wanted) return false;
    turn_.scatter = o;
    turn_.dims = places.dims;
    turn_.updates = Of(op.inputs[2])->step;
    turn_.before = op.inputs[0];
    turn_.after = op.outputs[0];
    done_ = true;
    return true;
  }

  const Graph& graph_;
  const UseTable& uses_;
  ExpertTurn turn_;
  int64_t rows_ = 1;
  std::map<TensorId, Value> values_;
  std::set<size_t> waiting_;
  size_t followed_ = 0;
  bool done_ = false;
};

// The same tensor, an equal constant, or made from such by the same few ops of one operand that counts.
bool SameOutside(const Graph& graph, TensorId a, TensorId b) {
  for (size_t way = 0; way < kLongestMask; ++way) {
    if (a == b) return true;
    if (!a.valid() || !b.valid()) return false;
    const Tensor &x = graph.tensor(a), &y = graph.tensor(b);
    if (x.literal != nullptr && y.literal != nullptr) return *x.literal == *y.literal;
    const Op *p = ProducerOf(graph, a), *q = ProducerOf(graph, b);
    if (p == nullptr || q == nullptr || p->type != q->type || p->inputs.size() != q->inputs.size()) return false;
    if (x.producer_index != y.producer_index || x.type != y.type || !Equal(*p->attributes, *q->attributes))
      return false;
    for (size_t i = 1; i < p->inputs.size(); ++i) {
      const std::vector<int64_t>*u = IntsOf(graph, p->inputs[i]), *v = IntsOf(graph, q->inputs[i]);
      if (p->inputs[i] != q->inputs[i] && (u == nullptr || v == nullptr || *u != *v)) return false;
    }
    if (p->inputs.empty() || !p->captures.empty() || !IsMove(graph, *p, x.producer_index)) return false;
    a = p->inputs[0];
    b = q->inputs[0];
  }
  return false;
}

bool SameOperand(const Graph& graph, const TurnOperand& a, const TurnOperand& b) {
  return a.step == b.step && a.result == b.result && SameOutside(graph, a.outside, b.outside);
}

}  // namespace

std::optional<ExpertTurn> FindTurn(const Graph& graph, const UseTable& uses, size_t first) {
  const Op& op = graph.ops[first];
  if (graph.type_of(op) != "NonZero" || !op.signature_pin.empty()) return std::nullopt;
  const std::optional<Mask> mask = FindMask(graph, op.inputs[0]);
  if (!mask) return std::nullopt;
  ExpertTurn turn;
  turn.ids = mask->form.ids;
  turn.ids_dims = mask->form.dims;
  turn.expert = mask->form.expert;
  return TurnFollower(graph, uses, std::move(turn)).Run(first, mask->dims);
}

bool SameTurns(const Graph& graph, const ExpertTurn& a, const ExpertTurn& b) {
  if (a.ids != b.ids || a.steps.size() != b.steps.size() || a.dims != b.dims) return false;
  if (!SameOperand(graph, a.updates, b.updates)) return false;
  for (size_t s = 0; s < a.steps.size(); ++s) {
    const TurnStep &x = a.steps[s], &y = b.steps[s];
    const Op &p = graph.ops[x.op], &q = graph.ops[y.op];
    if (x.kind != y.kind || p.type != q.type || x.dims != y.dims || x.leading != y.leading ||
        !Equal(*p.attributes, *q.attributes))
      return false;
    if (x.operands.size() != y.operands.size()) return false;
    for (size_t i = 0; i < x.operands.size(); ++i) {
      if (x.kind == TurnStep::Kind::kProduct && i == 1) {
        if (graph.tensor(x.operands[i].outside).type != graph.tensor(y.operands[i].outside).type) return false;
      } else if (!SameOperand(graph, x.operands[i], y.operands[i])) {
        return false;
      }
    }
  }
  return true;
}

int64_t NumExperts(const Graph& graph, TensorId ids) {
  for (size_t way = 0; way < kLongestMask; ++way) {
    const Op* op = ProducerOf(graph, ids);
    if (op == nullptr) return 0;
    const size_t result = graph.tensor(ids).producer_index;
    if (graph.type_of(*op) == "TopK") {
      const Shape& scores = graph.tensor(op->inputs[0]).type.shape;
      int64_t axis = op->attributes->Int("axis", -1);
      if (axis < 0) axis += static_cast<int64_t>(scores.size());
      return result == 1 ? scores[static_cast<size_t>(axis)] : 0;
    }
    if (graph.type_of(*op) != "Cast" && !IsMove(graph, *op, result)) return 0;
    ids = op->inputs[0];
  }
  return 0;
}

}  // namespace sbp::simplify
