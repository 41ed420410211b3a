// Attention whose weights its backward pass reads, as joint graphs of torch spell both: the operator, and the operator
// of its derivatives, which keeps a number a row in the place of the weights.
#include <algorithm>
#include <cmath>
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
#include "graph/simplified.h"
#include "graph/tensor_type.h"
#include "sbp/shard_math.h"
#include "simplify/attention_spelling.h"
#include "simplify/causal_masks.h"
#include "simplify/simplify.h"
#include "simplify/view.h"

namespace sbp::simplify {
namespace {

// The products that make the three cotangents, and what they are made of.
struct GradSpelling {
  size_t d_q = 0, d_k = 0, d_v = 0;  // ops
  TensorId d_y, key;                 // (b, h, s, e), (b, h, t, d)
  double scale = 1;
  std::vector<std::string> ops;  // that are gone but for the three
};

class AttentionGradReader : AttentionSpellingReader {
 public:
  AttentionGradReader(Graph& graph, const std::vector<bool>& computed) : AttentionSpellingReader(graph, computed) {}

  bool Run() {
    const size_t count = graph_.ops.size();
    for (size_t o = 0; o < count; ++o) {
      const Op& last = graph_.ops[o];
      if (graph_.type_of(last) != "MatMul" || last.inputs.size() != 2 || !last.inputs[0].valid()) continue;
      const std::ptrdiff_t readers = ReadersOf(last.inputs[0]);
      if (readers < 3 || readers > 4 || TypeOf(last.inputs[0]).shape.size() != 4) continue;
      const std::optional<AttentionSpelling> found = Find(last, readers);
      if (!found || found->mask.valid() || found->softcap != 0 || found->softmax_type) continue;
      const std::optional<GradSpelling> grad = FindGrad(o, *found);
      if (grad) WriteBoth(o, *found, *grad);
    }
    edit_.Finish();
    return edit_.changed();
  }

 private:
  std::ptrdiff_t ReadersOf(TensorId id) const {
    const auto [begin, end] = uses_.of(id);
    return end - begin;
  }
  size_t NumberOf(const Op* op) const { return static_cast<size_t>(op - graph_.ops.data()); }

  // The reader of this type that is not `but`, where there is one such; null: none or several.
  const Op* ReaderOf(TensorId id, std::string_view type, const Op* but = nullptr) const {
    const Op* found = nullptr;
    const auto [begin, end] = uses_.of(id);
    for (const Use* use = begin; use != end; ++use) {
      const Op& op = graph_.op(use->op);
      if (graph_.type_of(op) != type || &op == but || &op == found) continue;
      if (found != nullptr || !op.signature_pin.empty() || op.inputs.size() > 2) return nullptr;
      found = &op;
    }
    return found;
  }
  static TensorId OtherOf(const Op& op, TensorId one) { return op.inputs[op.inputs[0] == one ? 1 : 0]; }
  bool TurnsLast(const Op* op) const {
    if (op == nullptr || graph_.type_of(*op) != "Transpose") return false;
    const std::vector<int64_t>* perm = op->attributes->Ints("perm");
    return perm != nullptr && *perm == std::vector<int64_t>{0, 1, 3, 2};
  }
  // Is `turned` the other with its last two dimensions exchanged?
  bool IsTurned(TensorId turned, TensorId of) const {
    const Op* op = edit_.Producer(turned);
    return TurnsLast(op) && op->inputs[0] == of;
  }

  // From the weights of op number `o` and what `found` says of it.
  std::optional<GradSpelling> FindGrad(size_t o, const AttentionSpelling& found) {
    const Op& context = graph_.ops[o];
    const TensorId weights = context.inputs[0];
    GradSpelling grad;
    const Op* turned = ReaderOf(weights, "Transpose");
    if (!TurnsLast(turned) || ReadersOf(turned->outputs[0]) != 1 || edit_.IsKept(turned->outputs[0]))
      return std::nullopt;
    const Op* d_v = ReaderOf(turned->outputs[0], "MatMul");
    if (d_v == nullptr || d_v->inputs[0] != turned->outputs[0]) return std::nullopt;
    grad.d_v = NumberOf(d_v);
    grad.d_y = d_v->inputs[1];
    grad.ops.push_back(turned->name);
    const Op* ds = ScoresGrad(weights, found, grad);
    if (ds == nullptr || !TakeProducts(ds->outputs[0], found, grad)) return std::nullopt;
    if (std::abs(grad.scale / found.scale - 1) > 1e-6) return std::nullopt;
    // Nothing is broadcast on the way.
    const auto made = [&](size_t op) { return TypeOf(graph_.ops[op].outputs[0]); };
    if (TypeOf(grad.d_y) != made(o) || made(grad.d_q) != TypeOf(found.q) || made(grad.d_k) != TypeOf(grad.key) ||
        made(grad.d_v) != TypeOf(found.v)) {
      return std::nullopt;
    }
    const size_t first = std::min({grad.d_q, grad.d_k, grad.d_v});
    return first > o ? std::optional(std::move(grad)) : std::nullopt;  // the result is written before it is read
  }

  // p (dp - sum(dp p)), or g - p sum(g) of g = dp p, with dp = dy v': the op that writes it.
  const Op* ScoresGrad(TensorId weights, const AttentionSpelling& found, GradSpelling& grad) {
    const auto [begin, end] = uses_.of(weights);
    for (const Use* use = begin; use != end; ++use) {
      const Op* product = &graph_.op(use->op);
      if (graph_.type_of(*product) != "Mul" || product->inputs.size() != 2) continue;
      const TensorId d_weights = OtherOf(*product, weights);
      const Op* d_p = edit_.Producer(d_weights);
      if (d_p == nullptr || graph_.type_of(*d_p) != "MatMul" || d_p->inputs[0] != grad.d_y) continue;
      if (!IsTurned(d_p->inputs[1], found.v) || edit_.IsKept(d_weights)) continue;
      const TensorId g = product->outputs[0];
      const Op* sum = ReaderOf(g, "ReduceSum");
      if (sum == nullptr || !SumsRows(*sum) || edit_.IsKept(g)) return nullptr;
      const TensorId total = sum->outputs[0];
      const Op* last = nullptr;
      const Op* inner = nullptr;
      if (ReadersOf(g) == 1 && ReadersOf(d_weights) == 2) {
        inner = Inner2(ReaderOf(total, "Sub"), d_weights, total);
        last = inner != nullptr ? ReaderOf(inner->outputs[0], "Mul") : nullptr;
        if (last == nullptr || OtherOf(*last, inner->outputs[0]) != weights || ReadersOf(inner->outputs[0]) != 1)
          return nullptr;
      } else if (ReadersOf(g) == 2 && ReadersOf(d_weights) == 1) {
        inner = ReaderOf(total, "Mul");
        if (inner == nullptr || OtherOf(*inner, total) != weights || ReadersOf(inner->outputs[0]) != 1) return nullptr;
        last = Inner2(ReaderOf(inner->outputs[0], "Sub"), g, inner->outputs[0]);
      }
      if (last == nullptr || ReadersOf(total) != 1 || edit_.IsKept(total) || edit_.IsKept(inner->outputs[0]))
        return nullptr;
      for (const Op* op : {d_p, product, sum, inner, last}) grad.ops.push_back(op->name);
      return last;
    }
    return nullptr;
  }
  static const Op* Inner2(const Op* difference, TensorId from, TensorId what) {
    const bool fits = difference != nullptr && difference->inputs[0] == from && difference->inputs[1] == what;
    return fits ? difference : nullptr;
  }
  bool SumsRows(const Op& sum) {
    if (sum.inputs.size() != 2 || !sum.inputs[1].valid() || sum.attributes->Int("keepdims", 1) != 1) return false;
    if (TypeOf(sum.inputs[1]).num_elements() != 1) return false;
    const std::optional<double> axis = ConstantOf(sum.inputs[1]);
    return axis == -1.0 || axis == 3.0;
  }

  // The scale, and the two products behind it.
  bool TakeProducts(TensorId ds, const AttentionSpelling& found, GradSpelling& grad) {
    while (ReadersOf(ds) == 1 && !edit_.IsKept(ds)) {
      const Op& reader = graph_.op(uses_.of(ds).first->op);
      const bool scales = reader.outputs.size() == 1 && reader.inputs.size() == 2;
      if (!scales) return false;
      const bool times = graph_.type_of(reader) == "Mul";
      const std::optional<double> number = ConstantOf(OtherOf(reader, ds));
      if (!number || *number == 0 || (!times && (graph_.type_of(reader) != "Div" || reader.inputs[0] != ds)))
        return false;
      grad.scale *= times ? *number : 1 / *number;
      grad.ops.push_back(reader.name);
      ds = reader.outputs[0];
      if (TypeOf(ds).shape.size() != 4) return false;
    }
    const Op* turned = ReaderOf(ds, "Transpose");
    const Op* d_q = ReaderOf(ds, "MatMul");
    if (ReadersOf(ds) != 2 || edit_.IsKept(ds) || !TurnsLast(turned) || d_q == nullptr || d_q->inputs[0] != ds)
      return false;
    if (edit_.IsKept(turned->outputs[0])) return false;
    const Op* d_k = ReadersOf(turned->outputs[0]) == 1 ? ReaderOf(turned->outputs[0], "MatMul") : nullptr;
    if (d_k == nullptr || d_k->inputs[0] != turned->outputs[0] || d_k->inputs[1] != found.q) return false;
    grad.key = d_q->inputs[1];
    if (!IsTurned(found.k_turned, grad.key)) return false;
    grad.ops.push_back(turned->name);
    grad.d_q = NumberOf(d_q);
    grad.d_k = NumberOf(d_k);
    return true;
  }

  // `tensor` in another shape of as many elements, before op number `place`.
  TensorId Shaped(size_t place, const Op& like, TensorId tensor, const Shape& shape, std::string_view part) {
    Op named = like;
    named.name = StrCat(like.name, "/", part);
    const TensorId made = edit_.AddTensor(named.name, {TypeOf(tensor).dtype, shape});
    for (Op& op : edit_.MakeSteps(named, {{ElementView::Step::Kind::kReshape, shape, {}, {}}}, tensor, made))
      edit_.Insert(place, std::move(op));
    return made;
  }

  void WriteBoth(size_t o, const AttentionSpelling& found, const GradSpelling& grad) {
    const Op context = graph_.ops[o];
    const Shape q = TypeOf(found.q).shape, y = TypeOf(context.outputs[0]).shape;
    const DType wide = TypeOf(found.q).dtype == DType::kF64 ? DType::kF64 : DType::kF32;
    const TensorId log_sum_exp = edit_.AddTensor(StrCat(context.name, "/log_sum_exp"), {wide, {q[0], q[1], q[2]}});
    Write(o, found, grad.key, log_sum_exp);
    const size_t place = std::min({grad.d_q, grad.d_k, grad.d_v});
    const Op like = graph_.ops[grad.d_q];
    const Op d_k = graph_.ops[grad.d_k], d_v = graph_.ops[grad.d_v];
    for (const size_t op : {grad.d_q, grad.d_k, grad.d_v}) edit_.Remove(op);
    const Shape q5 = {q[0], q[1], 1, q[2], q[3]}, y5 = {y[0], y[1], 1, y[2], y[3]};
    const TensorId q_in = Shaped(place, like, found.q, q5, "query");
    const TensorId y_in = Shaped(place, like, context.outputs[0], y5, "y");
    const TensorId dy_in = Shaped(place, like, grad.d_y, y5, "d_y");
    const TensorId l_in = Shaped(place, like, log_sum_exp, {q[0], q[1], 1, q[2]}, "log_sum_exp");
    Op backward = edit_.MakeOp(like, "sbp::FlashAttentionGrad", StrCat(like.name, "/attention"),
                               {q_in, grad.key, found.v, {}, {}, y_in, l_in, dy_in});
    backward.outputs = {edit_.AddTensor(backward.name, {TypeOf(found.q).dtype, q5}), d_k.outputs[0], d_v.outputs[0]};
    Attributes attributes;
    SetWindow(found.window, attributes);
    attributes.Set("scale", found.scale);
    backward.attributes = std::make_shared<const Attributes>(std::move(attributes));
    backward.metadata.emplace_back(kSimplifiedFrom,
                                   StrCat(Join(grad.ops, ", "), ", ", like.name, ", ", d_k.name, ", ", d_v.name));
    const TensorId d_q = backward.outputs[0];
    edit_.Insert(place, std::move(backward));
    for (Op& op : edit_.MakeSteps(like, {{ElementView::Step::Kind::kReshape, q, {}, {}}}, d_q, like.outputs[0]))
      edit_.Insert(place, std::move(op));
  }
};

}  // namespace

bool SpelledAttentionGrad(Graph& graph, const std::vector<bool>& computed) {
  return AttentionGradReader(graph, computed).Run();
}

}  // namespace sbp::simplify
