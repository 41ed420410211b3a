#include "simplify/attention_spelling.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "graph/simplified.h"
#include "graph/tensor_type.h"
#include "sbp/shard_math.h"
#include "simplify/view.h"

namespace sbp::simplify {

// tanh(x / c) * c
void AttentionSpellingReader::TakeCap(TensorId& x, AttentionSpelling& found) {
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

// Scores and a mask in one: the scores, and the window that is left of them, or else what is added to them.
bool AttentionSpellingReader::TakeMask(TensorId& x, AttentionSpelling& found, std::ptrdiff_t readers) {
  const std::optional<Masked> masked = MaskedOf(x, readers);
  if (!masked) return TakeAdded(x, found, readers);
  found.window = masked->window;
  found.ops.push_back(masked->op->name);
  x = masked->scores;
  return true;
}

// What is added to a product, or to one that is scaled or capped; not one number for all keys of a row, since the
// operator hides the keys that its mask does not reach.
bool AttentionSpellingReader::TakeAdded(TensorId& x, AttentionSpelling& found, std::ptrdiff_t readers) {
  const Op* sum = Inner(x, "Add", 2, readers);
  if (sum == nullptr) return false;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const TensorId scores = sum->inputs[side], mask = sum->inputs[1 - side];
    const bool are_scores = Inner(scores, "MatMul", 2) != nullptr || Inner(scores, "Mul", 2) != nullptr ||
                            Inner(scores, "Div", 2) != nullptr;
    const Shape& shape = TypeOf(mask).shape;
    if (!are_scores || TypeOf(scores).shape != TypeOf(x).shape || IsComputed(mask)) continue;
    if (shape.size() < 2 || shape.size() > 4 || shape.back() != TypeOf(x).shape.back()) continue;
    found.mask = mask;
    found.ops.push_back(sum->name);
    x = scores;
    return true;
  }
  return false;
}

std::optional<AttentionSpelling> AttentionSpellingReader::Find(const Op& last, std::ptrdiff_t readers) {
  if (graph_.type_of(last) != "MatMul" || !last.signature_pin.empty()) return std::nullopt;
  AttentionSpelling found;
  found.v = last.inputs[1];
  TensorId x = last.inputs[0];
  if (!IsHeads(x) || !IsHeads(found.v)) return std::nullopt;
  if (readers == 1) x = PastCast(x, found);
  const Guard guard = TakeGuard(x, found, readers);
  found.guarded = guard != Guard::kNone;
  const Op* softmax = Inner(x, "Softmax", 1, guard == Guard::kNone ? readers : guard == Guard::kNan ? 2 : 1);
  if (softmax == nullptr || (softmax->attributes->Int("axis", -1) != -1 && softmax->attributes->Int("axis", -1) != 3))
    return std::nullopt;
  found.ops.push_back(softmax->name);
  found.softmax_type = TypeOf(x).dtype;
  const TensorId logits = softmax->inputs[0];
  x = PastCast(logits, found);
  std::ptrdiff_t uses = x == logits && guard == Guard::kLowest ? 2 : 1;
  if (TakeMask(x, found, uses)) uses = 1;  // without a mask each query sees all keys
  if (uses == 1) TakeCap(x, found);
  const TensorId before = x;
  TakeScales(x, found, uses);
  if (x != before) uses = 1;
  const Op* scores = Inner(x, "MatMul", 2, uses);
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

void AttentionSpellingReader::TakeScales(TensorId& x, AttentionSpelling& found, std::ptrdiff_t readers) {
  for (std::optional<Scaled> scaled = ScaledOf(x, readers); scaled && TypeOf(scaled->of) == TypeOf(x);
       scaled = ScaledOf(x)) {
    found.scale *= scaled->factor;
    found.ops.push_back(scaled->op->name);
    x = scaled->of;
  }
}

// Where(IsNaN(x), 0, x), or 0 where all scores are -inf, as torch's decompositions have it. A window leaves no such
// row, and of a mask that does the operator makes 0, so that neither changes anything as long as scores are numbers.
AttentionSpellingReader::Guard AttentionSpellingReader::TakeGuard(TensorId& x, AttentionSpelling& found,
                                                                  std::ptrdiff_t readers) {
  const Op* choice = Inner(x, "Where", 3, readers);
  if (choice == nullptr || ConstantOf(choice->inputs[1]) != 0.0 || TypeOf(choice->inputs[2]) != TypeOf(x))
    return Guard::kNone;
  const Op* test = Inner(choice->inputs[0], "IsNaN", 1);
  Guard guard = Guard::kNan;
  if (test == nullptr || test->inputs[0] != choice->inputs[2]) {
    const Op* softmax = Inner(choice->inputs[2], "Softmax", 1);
    test = softmax != nullptr ? LowestTest(choice->inputs[0], found) : nullptr;
    if (test == nullptr || test->inputs[0] != softmax->inputs[0]) return Guard::kNone;
    guard = Guard::kLowest;
  }
  for (const Op* op : {choice, test}) found.ops.push_back(op->name);
  x = choice->inputs[2];
  return guard;
}

// Not(any(Not(Equal(scores, -inf)))) along the last dimension: that Equal.
const Op* AttentionSpellingReader::LowestTest(TensorId condition, AttentionSpelling& found) {
  std::vector<std::string> names;
  const auto pass = [&](std::string_view type, size_t operands) {
    const Op* op = Inner(condition, type, operands);
    if (op == nullptr) return false;
    names.push_back(op->name);
    condition = op->inputs[0];
    return true;
  };
  if (!pass("Not", 1) || !pass("Cast", 1)) return nullptr;
  const Op* any = Inner(condition, "ReduceMax", 2);
  if (any == nullptr || any->attributes->Int("keepdims", 1) != 1 || TypeOf(any->inputs[1]).num_elements() != 1)
    return nullptr;
  const std::optional<double> axis = ConstantOf(any->inputs[1]);
  if ((axis != -1.0 && axis != 3.0) || !pass("ReduceMax", 2) || !pass("Cast", 1) || !pass("Not", 1)) return nullptr;
  const Op* equal = Inner(condition, "Equal", 2);
  if (equal == nullptr || ConstantOf(equal->inputs[1]) != -std::numeric_limits<double>::infinity()) return nullptr;
  found.ops.insert(found.ops.end(), names.begin(), names.end());
  return equal;
}

TensorId AttentionSpellingReader::PastCast(TensorId x, AttentionSpelling& found) const {
  const Op* cast = Inner(x, "Cast", 1);
  if (cast == nullptr || !IsFloat(TypeOf(cast->inputs[0]).dtype)) return x;
  found.ops.push_back(cast->name);
  return cast->inputs[0];
}

bool AttentionSpellingReader::IsHeads(TensorId id) const {
  return !IsComputed(id) && TypeOf(id).shape.size() == 4 && TypeOf(id).num_elements() > 0;
}

// One batch and one number of heads throughout, and one type.
bool AttentionSpellingReader::AreAlike(const AttentionSpelling& found) const {
  if (!IsHeads(found.q) || !IsHeads(found.k_turned)) return false;
  const TensorType &q = TypeOf(found.q), &k = TypeOf(found.k_turned), &v = TypeOf(found.v);
  const auto same = [&](size_t d) { return q.shape[d] == k.shape[d] && q.shape[d] == v.shape[d]; };
  return same(0) && same(1) && k.shape[3] == v.shape[2] && q.dtype == k.dtype && q.dtype == v.dtype;
}

void AttentionSpellingReader::Write(size_t o, const AttentionSpelling& found, TensorId key, TensorId log_sum_exp) {
  Op like = graph_.ops[o];
  const std::string name = like.name;
  edit_.Remove(o);
  if (!key.valid()) {
    const TensorType& turned = TypeOf(found.k_turned);
    const Shape shape = {turned.shape[0], turned.shape[1], turned.shape[3], turned.shape[2]};
    key = edit_.AddTensor(StrCat(graph_.tensor(found.k_turned).name, "/key"), {turned.dtype, shape});
    like.name = StrCat(name, "/key");
    for (Op& op :
         edit_.MakeSteps(like, {{ElementView::Step::Kind::kTranspose, shape, {}, {0, 1, 3, 2}}}, found.k_turned, key))
      edit_.Insert(o, std::move(op));
  }
  Op attention = edit_.MakeOp(like, "Attention", name, {found.q, key, found.v});
  if (found.mask.valid()) attention.inputs.push_back(found.mask);
  attention.outputs = graph_.ops[o].outputs;
  if (log_sum_exp.valid()) {
    attention.outputs.resize(4);
    attention.outputs.push_back(log_sum_exp);
  }
  Attributes attributes;
  SetWindow(found.window, attributes);
  attributes.Set("scale", found.scale);
  if (found.softcap != 0) attributes.Set("softcap", found.softcap);
  if (found.softmax_type) attributes.Set("softmax_precision", static_cast<int64_t>(*found.softmax_type));
  attention.attributes = std::make_shared<const Attributes>(std::move(attributes));
  attention.metadata.emplace_back(kSimplifiedFrom, StrCat(Join(found.ops, ", "), ", ", name));
  edit_.Insert(o, std::move(attention));
}

}  // namespace sbp::simplify
