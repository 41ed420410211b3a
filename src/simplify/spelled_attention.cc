// Attention that is spelled out as products and a softmax, and whose mask is a window of positions: as the operator,
// which can be told of the window and needs no mask. Where nothing is known of the mask the spelling stays.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/simplified.h"
#include "graph/tensor_type.h"
#include "sbp/shard_math.h"
#include "simplify/causal_masks.h"
#include "simplify/simplify.h"
#include "simplify/spelling_reader.h"
#include "simplify/view.h"

namespace sbp::simplify {
namespace {

// What the ops between two products say.
struct Spelling {
  TensorId q, k_turned, v;  // (b, h, s, d), (b, h, d, t), (b, h, t, e)
  KeyWindow window;
  double scale = 1, softcap = 0;
  std::optional<DType> softmax_type;  // where it is not that of q
  std::vector<std::string> ops;       // that are gone
};

class AttentionReader : SpellingReader {
 public:
  AttentionReader(Graph& graph, const std::vector<bool>& computed) : SpellingReader(graph, computed) {}

  bool Run() {
    const size_t count = graph_.ops.size();
    for (size_t o = 0; o < count; ++o) {
      if (const std::optional<Spelling> found = Find(graph_.ops[o])) Write(o, *found);
    }
    edit_.Finish();
    return edit_.changed();
  }

 private:
  // tanh(x / c) * c
  void TakeCap(TensorId& x, Spelling& found) {
    const std::optional<Scaled> outer = ScaledOf(x);
    const Op* tanh = outer ? Inner(outer->of, "Tanh", 1) : nullptr;
    const std::optional<Scaled> inner = tanh != nullptr ? ScaledOf(tanh->inputs[0]) : std::nullopt;
    if (!inner || outer->factor <= 0) return;
    const double rest = inner->factor * outer->factor - 1;
    if (rest > 1e-6 || rest < -1e-6) return;  // one over the other, as far as their type rounds
    found.softcap = outer->factor;
    for (const Op* op : {outer->op, tanh, inner->op}) found.ops.push_back(op->name);
    x = inner->of;
  }

  // Scores and a mask in one: the scores, and the window that is left of them.
  bool TakeMask(TensorId& x, Spelling& found) {
    const std::optional<Masked> masked = MaskedOf(x);
    if (!masked) return false;
    found.window = masked->window;
    found.ops.push_back(masked->op->name);
    x = masked->scores;
    return true;
  }

  // From the product of weights and values back.
  std::optional<Spelling> Find(const Op& last) {
    if (graph_.type_of(last) != "MatMul" || !last.signature_pin.empty()) return std::nullopt;
    Spelling found;
    found.v = last.inputs[1];
    TensorId x = last.inputs[0];
    if (!IsHeads(x) || !IsHeads(found.v)) return std::nullopt;
    x = PastCast(x, found);
    const bool is_guarded = TakeGuard(x, found);
    const Op* softmax = Inner(x, "Softmax", 1, is_guarded ? 2 : 1);
    if (softmax == nullptr || (softmax->attributes->Int("axis", -1) != -1 && softmax->attributes->Int("axis", -1) != 3))
      return std::nullopt;
    found.ops.push_back(softmax->name);
    found.softmax_type = TypeOf(x).dtype;
    x = PastCast(softmax->inputs[0], found);
    if (!TakeMask(x, found)) return std::nullopt;
    TakeCap(x, found);
    TakeScales(x, found);
    const Op* scores = Inner(x, "MatMul", 2);
    if (scores == nullptr) return std::nullopt;
    found.q = scores->inputs[0];
    found.k_turned = scores->inputs[1];
    found.ops.push_back(scores->name);
    TakeScales(found.q, found);
    TakeScales(found.k_turned, found);
    if (!AreAlike(found)) return std::nullopt;
    if (found.softmax_type == TypeOf(found.q).dtype) found.softmax_type.reset();
    std::ranges::reverse(found.ops);
    return found;
  }

  void TakeScales(TensorId& x, Spelling& found) {
    for (std::optional<Scaled> scaled = ScaledOf(x); scaled && TypeOf(scaled->of) == TypeOf(x); scaled = ScaledOf(x)) {
      found.scale *= scaled->factor;
      found.ops.push_back(scaled->op->name);
      x = scaled->of;
    }
  }

  // Where(IsNaN(x), 0, x), against rows of which no key is seen: a window leaves none such, so that it changes nothing
  // as long as scores are numbers.
  bool TakeGuard(TensorId& x, Spelling& found) {
    const Op* choice = Inner(x, "Where", 3);
    const Op* test = choice != nullptr ? Inner(choice->inputs[0], "IsNaN", 1) : nullptr;
    if (test == nullptr || test->inputs[0] != choice->inputs[2]) return false;
    if (ConstantOf(choice->inputs[1]) != 0.0 || TypeOf(choice->inputs[2]) != TypeOf(x)) return false;
    for (const Op* op : {choice, test}) found.ops.push_back(op->name);
    x = choice->inputs[2];
    return true;
  }

  TensorId PastCast(TensorId x, Spelling& found) const {
    const Op* cast = Inner(x, "Cast", 1);
    if (cast == nullptr || !IsFloat(TypeOf(cast->inputs[0]).dtype)) return x;
    found.ops.push_back(cast->name);
    return cast->inputs[0];
  }
  bool IsHeads(TensorId id) const {
    const bool known = id.index() >= computed_.size() || !computed_[id.index()];
    return known && TypeOf(id).shape.size() == 4 && TypeOf(id).num_elements() > 0;
  }
  // One batch and one number of heads throughout, and one type.
  bool AreAlike(const Spelling& found) const {
    if (!IsHeads(found.q) || !IsHeads(found.k_turned)) return false;
    const TensorType &q = TypeOf(found.q), &k = TypeOf(found.k_turned), &v = TypeOf(found.v);
    const auto same = [&](size_t d) { return q.shape[d] == k.shape[d] && q.shape[d] == v.shape[d]; };
    return same(0) && same(1) && k.shape[3] == v.shape[2] && q.dtype == k.dtype && q.dtype == v.dtype;
  }

  void Write(size_t o, const Spelling& found) {
    Op like = graph_.ops[o];
    const TensorType& turned = TypeOf(found.k_turned);
    const Shape shape = {turned.shape[0], turned.shape[1], turned.shape[3], turned.shape[2]};
    const TensorId key = edit_.AddTensor(StrCat(graph_.tensor(found.k_turned).name, "/key"), {turned.dtype, shape});
    const std::string name = like.name;
    edit_.Remove(o);
    like.name = StrCat(name, "/key");
    for (Op& op :
         edit_.MakeSteps(like, {{ElementView::Step::Kind::kTranspose, shape, {}, {0, 1, 3, 2}}}, found.k_turned, key))
      edit_.Insert(o, std::move(op));
    Op attention = edit_.MakeOp(like, "Attention", name, {found.q, key, found.v});
    attention.outputs = graph_.ops[o].outputs;
    Attributes attributes;
    SetWindow(found.window, attributes);
    attributes.Set("scale", found.scale);
    if (found.softcap != 0) attributes.Set("softcap", found.softcap);
    if (found.softmax_type) attributes.Set("softmax_precision", static_cast<int64_t>(*found.softmax_type));
    attention.attributes = std::make_shared<const Attributes>(std::move(attributes));
    attention.metadata.emplace_back(kSimplifiedFrom, StrCat(Join(found.ops, ", "), ", ", name));
    edit_.Insert(o, std::move(attention));
  }
};

}  // namespace

bool SpelledAttention(Graph& graph, const std::vector<bool>& computed) {
  return AttentionReader(graph, computed).Run();
}

}  // namespace sbp::simplify
