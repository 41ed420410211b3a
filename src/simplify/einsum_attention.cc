// Attention that is spelled out as two Einsums, of dimensions in any order and with heads in groups, and a softmax in
// single ops, as JAX writes it; its mask is a window of positions, or there is none. As the operator, as
// SpelledAttention does.
#include <algorithm>
#include <array>
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
#include "simplify/causal_masks.h"
#include "simplify/graph_edit.h"
#include "simplify/simplify.h"
#include "simplify/spelling_reader.h"
#include "simplify/view.h"

namespace sbp::simplify {
namespace {

// "adbec,afbc->abdef": a letter per dimension.
struct Equation {
  std::array<std::string, 2> operands;
  std::string result;
};

bool Has(std::string_view letters, char letter) { return letters.find(letter) != std::string_view::npos; }

bool IsPlain(std::string_view letters) {
  return std::ranges::all_of(
      letters, [&](char letter) { return letter >= 'a' && letter <= 'z' && std::ranges::count(letters, letter) == 1; });
}

// Where the dimensions of the products stand: letters of the first equation, and those of values.
struct Roles {
  std::string batch, groups;  // the last of batch are the heads of keys; groups: query heads of one of them
  char query = 0, key = 0, inner = 0, value = 0;
};

// Is every number of type `narrow` one of `wide`?
bool Holds(DType wide, DType narrow) {
  if (!IsFloat(wide) || !IsFloat(narrow)) return false;
  return wide == narrow || (DTypeBits(wide) > DTypeBits(narrow) && DTypeBits(wide) >= 32);
}

struct EinsumSpelling {
  TensorId q, k, v;
  std::string q_letters, k_letters, v_letters, result;
  Roles roles;
  KeyWindow window;
  double scale = 1;
  std::optional<DType> softmax_type;
  std::vector<std::string> ops;  // that are gone, the last first
};

class EinsumAttentionReader : SpellingReader {
 public:
  EinsumAttentionReader(Graph& graph, const std::vector<bool>& computed) : SpellingReader(graph, computed) {}

  bool Run() {
    const size_t count = graph_.ops.size();
    for (size_t o = 0; o < count; ++o) {
      if (graph_.type_of(graph_.ops[o]) != "Einsum" || !graph_.ops[o].signature_pin.empty()) continue;
      for (const size_t side : {size_t{0}, size_t{1}}) {
        const std::optional<EinsumSpelling> found = Find(graph_.ops[o], side);
        if (!found) continue;
        Write(o, *found);
        break;
      }
    }
    edit_.Finish();
    return edit_.changed();
  }

 private:
  std::optional<Equation> EquationOf(const Op& op) const {
    const std::string text = op.attributes->String("equation", "");
    const size_t comma = text.find(','), arrow = text.find("->");
    if (op.inputs.size() != 2 || comma == std::string::npos || arrow == std::string::npos || comma > arrow)
      return std::nullopt;
    Equation made{{text.substr(0, comma), text.substr(comma + 1, arrow - comma - 1)}, text.substr(arrow + 2)};
    for (size_t i = 0; i < 2; ++i) {
      if (!IsPlain(made.operands[i]) || made.operands[i].size() != TypeOf(op.inputs[i]).shape.size())
        return std::nullopt;
    }
    return IsPlain(made.result) ? std::optional(std::move(made)) : std::nullopt;
  }

  // The rows' figure, (..., 1) beside x of (..., n), that an op of this type makes of x's last dimension; moves that
  // keep the order of elements, and Max with minus infinity, passed through. `turned`: it is made of what x is a
  // transposition of, and transposed as x is.
  bool IsRowFigure(TensorId figure, std::string_view type, TensorId x, EinsumSpelling& found, bool* turned = nullptr) {
    const Shape& whole = TypeOf(x).shape;
    if (const Op* expand = Inner(figure, "Expand", 2)) {
      found.ops.push_back(expand->name);
      figure = expand->inputs[0];
    }
    Shape padded(whole.size() - std::min(whole.size(), TypeOf(figure).shape.size()), 1);
    padded.insert(padded.end(), TypeOf(figure).shape.begin(), TypeOf(figure).shape.end());
    Shape column = whole;
    column.back() = 1;
    if (padded != column) return false;
    TensorId of = x;
    while (true) {
      const Op* move = Inner(figure, "Reshape", 2);
      if (move == nullptr) move = Inner(figure, "Unsqueeze", 2);
      if (move == nullptr && type == "ReduceMax") move = FloorOf(figure);
      if (move == nullptr && turned != nullptr && of == x) {
        move = Inner(figure, "Transpose", 1);
        if (move != nullptr && !TakesTurnOf(*move, of)) return false;
      }
      if (move == nullptr) break;
      found.ops.push_back(move->name);
      figure = move->inputs[graph_.type_of(*move) == "Max" && ConstantOf(move->inputs[0]) ? 1 : 0];
    }
    const Op* reduce = Inner(figure, type, 2);
    if (reduce == nullptr || reduce->inputs[0] != of || TypeOf(reduce->inputs[1]).num_elements() != 1) return false;
    const std::optional<double> axis = ConstantOf(reduce->inputs[1]);
    if (axis != -1.0 && axis != static_cast<double>(whole.size()) - 1) return false;
    found.ops.push_back(reduce->name);
    if (turned != nullptr) *turned = of != x;
    return true;
  }
  // Is x a transposition whose last dimension stays, and does `move` turn figures of its rows, of one dimension less,
  // as it does? Then x becomes what is transposed.
  bool TakesTurnOf(const Op& move, TensorId& x) const {
    const Op* turn = Inner(x, "Transpose", 1);
    const std::vector<int64_t>* of_rows = move.attributes->Ints("perm");
    const std::vector<int64_t>* perm = turn != nullptr ? turn->attributes->Ints("perm") : nullptr;
    if (of_rows == nullptr || perm == nullptr || perm->size() != of_rows->size() + 1) return false;
    const auto last = static_cast<int64_t>(of_rows->size());
    const Shape& whole = TypeOf(turn->inputs[0]).shape;
    if (perm->back() != last || !std::equal(of_rows->begin(), of_rows->end(), perm->begin())) return false;
    if (TypeOf(move.inputs[0]).shape != Shape(whole.begin(), whole.end() - 1)) return false;
    x = turn->inputs[0];
    return true;
  }
  // Max(-inf, x)
  const Op* FloorOf(TensorId id) {
    const Op* floor = Inner(id, "Max", 2);
    if (floor == nullptr) return nullptr;
    const auto is_floor = [&](TensorId operand) {
      const std::optional<double> number = ConstantOf(operand);
      return number && *number <= LowestNumber(TypeOf(id).dtype);
    };
    return is_floor(floor->inputs[0]) || is_floor(floor->inputs[1]) ? floor : nullptr;
  }

  // exp(x - max x) / sum(exp(x - max x)) along the last dimension: x. `turned`: as of IsRowFigure, of the largest.
  std::optional<TensorId> SoftmaxOf(TensorId weights, EinsumSpelling& found, bool& turned) {
    const Op* division = Inner(weights, "Div", 2);
    const Op* exp = division != nullptr ? Inner(division->inputs[0], "Exp", 1, 2) : nullptr;
    const Op* difference = exp != nullptr ? Inner(exp->inputs[0], "Sub", 2) : nullptr;
    if (difference == nullptr) return std::nullopt;
    found.ops.push_back(division->name);
    if (!IsRowFigure(division->inputs[1], "ReduceSum", division->inputs[0], found)) return std::nullopt;
    for (const Op* op : {exp, difference}) found.ops.push_back(op->name);
    if (!IsRowFigure(difference->inputs[1], "ReduceMax", difference->inputs[0], found, &turned)) return std::nullopt;
    return difference->inputs[0];
  }

  // The product of queries and keys behind scales, transpositions and casts that keep every value; `letters`: those of
  // the dimensions of x, which is read in so many places, and what it is made of in `before` places.
  const Op* ScoresOf(TensorId x, std::ptrdiff_t readers, std::ptrdiff_t before, std::string& letters,
                     EinsumSpelling& found) {
    std::vector<std::vector<int64_t>> turns;
    DType narrowest = TypeOf(x).dtype;
    const Op* scores = nullptr;
    for (; scores == nullptr; readers = std::exchange(before, 1)) {
      if (const std::optional<Scaled> scaled = ScaledOf(x, readers); scaled && TypeOf(scaled->of) == TypeOf(x)) {
        found.scale *= scaled->factor;
        found.ops.push_back(scaled->op->name);
        x = scaled->of;
        continue;
      }
      scores = Inner(x, "Einsum", 2, readers);
      if (scores != nullptr) break;
      const Op* turn = Inner(x, "Transpose", 1, readers);
      if (turn == nullptr) turn = Inner(x, "Cast", 1, readers);
      if (turn == nullptr || !Holds(narrowest, TypeOf(turn->inputs[0]).dtype)) return nullptr;
      narrowest = TypeOf(turn->inputs[0]).dtype;
      if (graph_.type_of(*turn) == "Transpose") {
        const std::vector<int64_t>* perm = turn->attributes->Ints("perm");
        if (perm == nullptr || perm->size() != TypeOf(x).shape.size()) return nullptr;
        turns.push_back(*perm);
      }
      found.ops.push_back(turn->name);
      x = turn->inputs[0];
    }
    const std::optional<Equation> equation = EquationOf(*scores);
    if (!equation) return nullptr;
    letters = equation->result;
    for (size_t i = turns.size(); i-- > 0;) {
      const std::string before = letters;
      for (size_t d = 0; d < letters.size(); ++d) letters[d] = before[static_cast<size_t>(turns[i][d])];
    }
    return scores;
  }

  // Of the first product, whose last two dimensions, as its reader has them, are queries and keys.
  static std::optional<Roles> RolesOf(const std::string& q, const std::string& k, std::string_view out, char query,
                                      char key) {
    Roles roles{.query = query, .key = key};
    for (const char letter : q) {
      if (letter == query) continue;
      if (Has(k, letter) && Has(out, letter)) {
        roles.batch += letter;
      } else if (Has(out, letter)) {
        roles.groups += letter;
      } else if (Has(k, letter) && roles.inner == 0) {
        roles.inner = letter;
      } else {
        return std::nullopt;
      }
    }
    const bool known = std::ranges::all_of(k, [&](char letter) { return letter == key || Has(q, letter); });
    if (!known || roles.inner == 0 || roles.batch.empty() || Has(k, query) || Has(q, key)) return std::nullopt;
    return roles;
  }

  // Of the second one: its letters are those of the first where they are of the weights.
  bool TakeValues(const Equation& equation, size_t side, const std::string& letters, EinsumSpelling& found) const {
    const std::string& weights = equation.operands[side];
    const auto first = [&](char letter) {
      const size_t at = weights.find(letter);
      return at == std::string::npos ? '\0' : letters[at];
    };
    Roles& roles = found.roles;
    roles.value = static_cast<char>('z' + 1);
    size_t values = 0, batch = 0;
    for (const char letter : equation.operands[1 - side]) {
      const char known = first(letter);
      found.v_letters += known == 0 ? roles.value : known;
      values += known == 0 ? 1U : 0U;
      batch += known != 0 && Has(roles.batch, known) ? 1U : 0U;
      if (known != 0 && known != roles.key && !Has(roles.batch, known)) return false;
    }
    for (const char letter : equation.result) {
      const char known = first(letter);
      found.result += known == 0 ? roles.value : known;
    }
    return values == 1 && batch == roles.batch.size() && Has(found.v_letters, roles.key) &&
           !Has(found.result, roles.key) && found.result.size() == letters.size() && Has(found.result, roles.value);
  }

  std::optional<EinsumSpelling> Find(const Op& last, size_t side) {
    const std::optional<Equation> second = EquationOf(last);
    if (!second) return std::nullopt;
    EinsumSpelling found;
    found.v = last.inputs[1 - side];
    TensorId x = last.inputs[side];
    if (const Op* cast = Inner(x, "Cast", 1)) {
      found.ops.push_back(cast->name);
      x = cast->inputs[0];
    }
    const TensorId weights = x;
    bool turned = false;  // between logits and their softmax, the largest on its own
    const std::optional<TensorId> logits = SoftmaxOf(weights, found, turned);
    if (!logits || TypeOf(*logits).shape.size() < 3) return std::nullopt;
    const std::optional<Masked> masked = MaskedOf(*logits, turned ? 1 : 2);
    if (masked) {
      found.window = masked->window;
      found.ops.push_back(masked->op->name);
    }
    const TensorId seen = masked ? masked->scores : *logits;  // without a mask each query sees all keys
    std::string letters;
    const Op* scores = ScoresOf(seen, masked || turned ? 1 : 2, turned ? 2 : 1, letters, found);
    if (scores == nullptr || letters.size() != second->operands[side].size()) return std::nullopt;
    const Equation first = *EquationOf(*scores);
    const char query = letters[letters.size() - 2], key = letters.back();
    const size_t of_q = Has(first.operands[0], query) ? 0 : 1;
    const std::optional<Roles> roles =
        RolesOf(first.operands[of_q], first.operands[1 - of_q], first.result, query, key);
    if (!roles) return std::nullopt;
    found.roles = *roles;
    found.q = scores->inputs[of_q];
    found.k = scores->inputs[1 - of_q];
    found.q_letters = first.operands[of_q];
    found.k_letters = first.operands[1 - of_q];
    if (!TakeValues(*second, side, letters, found)) return std::nullopt;
    const DType type = TypeOf(found.q).dtype;
    if (TypeOf(found.k).dtype != type || TypeOf(found.v).dtype != type || TypeOf(last.outputs[0]).dtype != type)
      return std::nullopt;
    if (!HasOneSizes(found)) return std::nullopt;
    const Shape rows = ShapeOf(found, letters);
    for (const TensorId id : {seen, *logits, weights}) {
      if (TypeOf(id).shape != rows) return std::nullopt;
    }
    if (TypeOf(scores->outputs[0]).shape != ShapeOf(found, first.result) ||
        TypeOf(last.outputs[0]).shape != ShapeOf(found, found.result)) {
      return std::nullopt;
    }
    if (TypeOf(*logits).dtype != type) found.softmax_type = TypeOf(*logits).dtype;
    found.ops.push_back(scores->name);
    std::ranges::reverse(found.ops);
    return found;
  }

  // Has each letter one size? Einsums broadcast sizes of 1, the operator does not.
  bool HasOneSizes(const EinsumSpelling& found) const {
    return TypeOf(found.q).shape == ShapeOf(found, found.q_letters) &&
           TypeOf(found.k).shape == ShapeOf(found, found.k_letters) &&
           TypeOf(found.v).shape == ShapeOf(found, found.v_letters);
  }

  int64_t SizeOf(const EinsumSpelling& found, std::string_view letters) const {
    int64_t size = 1;
    for (const char letter : letters) {
      const bool of_q = Has(found.q_letters, letter), of_k = Has(found.k_letters, letter);
      const TensorId id = of_q ? found.q : of_k ? found.k : found.v;
      const std::string& all = of_q ? found.q_letters : of_k ? found.k_letters : found.v_letters;
      size *= TypeOf(id).shape[all.find(letter)];
    }
    return size;
  }
  Shape ShapeOf(const EinsumSpelling& found, std::string_view letters) const {
    Shape shape;
    for (const char letter : letters) shape.push_back(SizeOf(found, std::string_view(&letter, 1)));
    return shape;
  }
  // (b, heads, positions, size)
  Shape HeadsShape(const EinsumSpelling& found, std::string_view groups, char positions, char size) const {
    const std::string& batch = found.roles.batch;
    const bool has_heads = batch.size() > 1;
    const std::string_view outer = std::string_view(batch).substr(0, batch.size() - (has_heads ? 1 : 0));
    const std::string heads = StrCat(has_heads ? batch.substr(batch.size() - 1) : "", groups);
    return {SizeOf(found, outer), SizeOf(found, heads), SizeOf(found, std::string_view(&positions, 1)),
            SizeOf(found, std::string_view(&size, 1))};
  }

  static std::vector<int> Turn(std::string_view from, std::string_view to) {
    std::vector<int> perm;
    for (const char letter : to) perm.push_back(static_cast<int>(from.find(letter)));
    return perm;
  }

  // `tensor`, of dimensions `from`, as those of `to` in `shape`.
  TensorId Laid(size_t o, TensorId tensor, const EinsumSpelling& found, std::string_view from, const std::string& to,
                const Shape& shape, std::string_view part) {
    std::vector<ElementView::Step> steps;
    if (from != to) steps.push_back({ElementView::Step::Kind::kTranspose, ShapeOf(found, to), {}, Turn(from, to)});
    if (ShapeOf(found, to) != shape) steps.push_back({ElementView::Step::Kind::kReshape, shape, {}, {}});
    if (steps.empty()) return tensor;
    Op like = graph_.ops[o];
    like.name = StrCat(like.name, "/", part);
    const TensorId laid = edit_.AddTensor(like.name, {TypeOf(tensor).dtype, shape});
    for (Op& op : edit_.MakeSteps(like, steps, tensor, laid)) edit_.Insert(o, std::move(op));
    return laid;
  }

  void Write(size_t o, const EinsumSpelling& found) {
    const Roles& roles = found.roles;
    const Op like = graph_.ops[o];
    const TensorId result = like.outputs[0];
    const auto order = [&](std::string_view groups, char positions, char size) {
      return StrCat(roles.batch, groups, std::string(1, positions), std::string(1, size));
    };
    const Shape out = HeadsShape(found, roles.groups, roles.query, roles.value);
    edit_.Remove(o);
    std::vector<TensorId> operands = {
        Laid(o, found.q, found, found.q_letters, order(roles.groups, roles.query, roles.inner),
             HeadsShape(found, roles.groups, roles.query, roles.inner), "query"),
        Laid(o, found.k, found, found.k_letters, order("", roles.key, roles.inner),
             HeadsShape(found, "", roles.key, roles.inner), "key"),
        Laid(o, found.v, found, found.v_letters, order("", roles.key, roles.value),
             HeadsShape(found, "", roles.key, roles.value), "value")};
    const std::string made = order(roles.groups, roles.query, roles.value);
    std::vector<ElementView::Step> steps;
    if (ShapeOf(found, made) != out) steps.push_back({ElementView::Step::Kind::kReshape, ShapeOf(found, made), {}, {}});
    if (made != found.result)
      steps.push_back(
          {ElementView::Step::Kind::kTranspose, ShapeOf(found, found.result), {}, Turn(made, found.result)});
    const std::string name = steps.empty() ? like.name : StrCat(like.name, "/attention");
    Op attention = edit_.MakeOp(like, "Attention", name, std::move(operands));
    attention.outputs = {steps.empty() ? result : edit_.AddTensor(name, {TypeOf(result).dtype, out})};
    Attributes attributes;
    SetWindow(found.window, attributes);
    attributes.Set("scale", found.scale);
    if (found.softmax_type) attributes.Set("softmax_precision", static_cast<int64_t>(*found.softmax_type));
    attention.attributes = std::make_shared<const Attributes>(std::move(attributes));
    attention.metadata.emplace_back(kSimplifiedFrom, StrCat(Join(found.ops, ", "), ", ", like.name));
    const TensorId heads = attention.outputs[0];
    edit_.Insert(o, std::move(attention));
    if (steps.empty()) return;
    for (Op& op : edit_.MakeSteps(like, steps, heads, result)) edit_.Insert(o, std::move(op));
  }
};

}  // namespace

bool EinsumAttention(Graph& graph, const std::vector<bool>& computed) {
  return EinsumAttentionReader(graph, computed).Run();
}

}  // namespace sbp::simplify
