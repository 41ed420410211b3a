// Activations that are spelled out: GELU, exact or by tanh, in whatever order its products and sums stand, and the
// logistic function. As the operator, which is differentiated from its operand alone: a derivative of the pieces keeps
// each of them.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
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
#include "simplify/simplify.h"
#include "simplify/spelling_reader.h"

namespace sbp::simplify {
namespace {

constexpr int kMostNested = 8;          // ops from a sum of products to what it is of
constexpr int kMostTerms = 96;          // tensors looked at for one of them
constexpr size_t kMostCandidates = 12;  // tensors that x may be
constexpr size_t kCubes = 4;            // powers of x, from 0

// The sum of at(i, j) x^i f^j.
struct Polynomial {
  std::array<double, kCubes * 2> of{};
  double& at(size_t x, size_t f) { return of[x * 2 + f]; }
  double at(size_t x, size_t f) const { return of[x * 2 + f]; }

  bool is_number() const {
    return std::all_of(of.begin() + 1, of.end(), [](double factor) { return factor == 0; });
  }
  static Polynomial Term(size_t x, size_t f, double factor) {
    Polynomial made;
    made.at(x, f) = factor;
    return made;
  }
};

Polynomial Sum(const Polynomial& a, const Polynomial& b, double sign) {
  Polynomial sum = a;
  for (size_t i = 0; i < sum.of.size(); ++i) sum.of[i] += sign * b.of[i];
  return sum;
}

// Nothing: of a power that is too high.
std::optional<Polynomial> Product(const Polynomial& a, const Polynomial& b) {
  Polynomial product;
  for (size_t i = 0; i < a.of.size(); ++i) {
    for (size_t j = 0; j < b.of.size(); ++j) {
      if (a.of[i] == 0 || b.of[j] == 0) continue;
      const size_t x = i / 2 + j / 2, f = i % 2 + j % 2;
      if (x >= kCubes || f > 1) return std::nullopt;
      product.at(x, f) += a.of[i] * b.of[j];
    }
  }
  return product;
}

// Of constants that the type rounds.
bool IsClose(const Polynomial& a, const Polynomial& b, DType type) {
  const double unit = type == DType::kBF16   ? 1.0 / 256
                      : DTypeBits(type) < 32 ? 1.0 / 1024
                      : type == DType::kF64  ? 1e-12
                                             : 1e-6;
  for (size_t i = 0; i < a.of.size(); ++i) {
    if (!(std::abs(a.of[i] - b.of[i]) <= unit * std::abs(b.of[i]))) return false;
  }
  return true;
}

class ActivationReader : SpellingReader {
 public:
  ActivationReader(Graph& graph, const std::vector<bool>& computed) : SpellingReader(graph, computed) {}

  bool Run() {
    const size_t count = graph_.ops.size();
    for (size_t o = 0; o < count; ++o) {
      const std::string_view type = graph_.type_of(graph_.ops[o]);
      if (type == "Tanh" || type == "Erf") FindGelu(graph_.ops[o], type == "Tanh");
      if (type == "Exp") FindLogistic(graph_.ops[o]);
    }
    edit_.Finish();
    return edit_.changed();
  }

 private:
  // The only reader of a tensor that is no output; null: another one.
  const Op* OnlyReader(TensorId id) const {
    const auto [begin, end] = uses_.of(id);
    if (edit_.IsKept(id) || end - begin != 1) return nullptr;
    const Op& reader = graph_.op(begin->op);
    return reader.outputs.size() == 1 && reader.signature_pin.empty() ? &reader : nullptr;
  }
  size_t NumberOf(const Op* op) const { return static_cast<size_t>(op - graph_.ops.data()); }

  // The op of a sum of products that writes the tensor; null: another one, or none of the graph as it was.
  const Op* ArithmeticOf(TensorId id) const {
    const OpId number = graph_.tensor(id).producer;
    if (!number.valid() || edit_.Producer(id) != &graph_.op(number)) return nullptr;
    const Op& op = graph_.op(number);
    static constexpr std::string_view kArithmetic[] = {"Add", "Sub", "Mul", "Div", "Neg", "Pow"};
    const bool fits = std::ranges::find(kArithmetic, graph_.type_of(op)) != std::end(kArithmetic);
    return fits && op.signature_pin.empty() && !op.inputs.empty() ? &op : nullptr;
  }

  // A tensor as a polynomial of x and f. `ops_` has the ops on the way.
  std::optional<Polynomial> In(TensorId id, int nested = 0) {
    if (!id.valid() || nested > kMostNested || ++terms_ > kMostTerms) return std::nullopt;
    if (id == x_) return Polynomial::Term(1, 0, 1);
    if (id == f_) return Polynomial::Term(0, 1, 1);
    if (const std::optional<double> number = ConstantOf(id)) return Polynomial::Term(0, 0, *number);
    const Op* op = ArithmeticOf(id);
    if (op == nullptr || TypeOf(id) != TypeOf(x_)) return std::nullopt;
    ops_.insert(NumberOf(op));
    const std::optional<Polynomial> a = In(op->inputs[0], nested + 1);
    if (!a) return std::nullopt;
    const std::string_view type = graph_.type_of(*op);
    if (type == "Neg") return Product(*a, Polynomial::Term(0, 0, -1));
    const std::optional<Polynomial> b =
        op->inputs.size() == 2 ? In(op->inputs[1], nested + 1) : std::optional<Polynomial>();
    if (!b) return std::nullopt;
    if (type == "Add") return Sum(*a, *b, 1);
    if (type == "Sub") return Sum(*a, *b, -1);
    if (type == "Mul") return Product(*a, *b);
    if (!b->is_number() || b->at(0, 0) == 0) return std::nullopt;
    if (type == "Div") return Product(*a, Polynomial::Term(0, 0, 1 / b->at(0, 0)));
    if (type != "Pow" || (b->at(0, 0) != 2 && b->at(0, 0) != 3)) return std::nullopt;
    std::optional<Polynomial> power = Product(*a, *a);
    return power && b->at(0, 0) == 3 ? Product(*power, *a) : power;
  }
  std::optional<Polynomial> PolynomialOf(TensorId id, TensorId x, TensorId f) {
    x_ = x;
    f_ = f;
    terms_ = 0;
    return In(id);
  }

  // Tensors that `id` may be a polynomial of, the nearest first.
  std::vector<TensorId> CandidatesFor(TensorId id) const {
    std::vector<TensorId> found = {id};
    for (size_t i = 0; i < found.size(); ++i) {
      const Op* op = ArithmeticOf(found[i]);
      if (op == nullptr) continue;
      for (const TensorId operand : op->inputs) {
        const bool fits = operand.valid() && TypeOf(operand) == TypeOf(id) && found.size() < kMostCandidates;
        if (fits && std::ranges::find(found, operand) == found.end()) found.push_back(operand);
      }
    }
    return found;
  }

  // From the function back to x, and on to x (1 + f) / 2.
  void FindGelu(const Op& function, bool by_tanh) {
    if (function.inputs.size() != 1 || !function.inputs[0].valid() || !function.signature_pin.empty()) return;
    const TensorId argument = function.inputs[0];
    const DType type = TypeOf(argument).dtype;
    Polynomial wanted = Polynomial::Term(1, 0, by_tanh ? std::sqrt(2 / M_PI) : std::sqrt(0.5));
    if (by_tanh) wanted.at(3, 0) = wanted.at(1, 0) * 0.044715;
    const Polynomial negative = Sum({}, wanted, -1);
    for (const TensorId x : CandidatesFor(argument)) {
      ops_.clear();
      const std::optional<Polynomial> made = PolynomialOf(argument, x, {});
      if (!made) continue;
      const bool turned = IsClose(*made, negative, type);
      if (!turned && !IsClose(*made, wanted, type)) continue;
      if (const Op* last = LastOf(function, x, turned ? -1 : 1)) return WriteGelu(*last, function, x, by_tanh);
    }
  }

  // The op that makes x (1 + sign f) / 2 of the function's result, which nobody else reads.
  const Op* LastOf(const Op& function, TensorId x, double sign) {
    const TensorId f = function.outputs[0];
    Polynomial wanted = Polynomial::Term(1, 0, 0.5);
    wanted.at(1, 1) = sign * 0.5;
    TensorId at = f;
    for (int step = 0; step < kMostNested; ++step) {
      const Op* op = OnlyReader(at);
      if (op == nullptr) return nullptr;
      at = op->outputs[0];
      const std::optional<Polynomial> made = PolynomialOf(at, x, f);
      if (!made) return nullptr;
      if (IsClose(*made, wanted, TypeOf(x).dtype)) return op;
    }
    return nullptr;
  }

  // Of `ops_` and the last op, those that nobody reads but they, by name.
  std::vector<std::string> GoneWith(const Op& last) {
    std::set<size_t> gone = {NumberOf(&last)};
    std::vector<std::string> names = {last.name};
    for (auto at = ops_.rbegin(); at != ops_.rend(); ++at) {
      if (gone.contains(*at)) continue;
      const Op& op = graph_.ops[*at];
      const bool alone = std::ranges::all_of(op.outputs, [&](TensorId id) {
        const auto [begin, end] = uses_.of(id);
        return !edit_.IsKept(id) &&
               std::all_of(begin, end, [&](const Use& use) { return gone.contains(use.op.index()); });
      });
      if (!alone) continue;
      gone.insert(*at);
      names.push_back(op.name);
    }
    std::ranges::reverse(names);
    return names;
  }

  void WriteGelu(const Op& last, const Op& function, TensorId x, bool by_tanh) {
    ops_.insert(NumberOf(&function));
    Attributes attributes;
    if (by_tanh) attributes.Set("approximate", std::string("tanh"));
    Write(last, "Gelu", x, std::move(attributes));
  }

  // 1 / (1 + exp(-x))
  void FindLogistic(const Op& exp) {
    if (exp.inputs.size() != 1 || !exp.signature_pin.empty()) return;
    const Op* minus = Inner(exp.inputs[0], "Neg", 1);
    const std::optional<Scaled> scaled = minus == nullptr ? ScaledOf(exp.inputs[0]) : std::nullopt;
    if (minus == nullptr && (!scaled || scaled->factor != -1)) return;
    const TensorId x = minus != nullptr ? minus->inputs[0] : scaled->of;
    const Op* sum = OnlyReader(exp.outputs[0]);
    if (sum == nullptr || graph_.type_of(*sum) != "Add" || TypeOf(sum->outputs[0]) != TypeOf(x)) return;
    if (ConstantOf(sum->inputs[sum->inputs[0] == exp.outputs[0] ? 1 : 0]) != 1.0) return;
    const Op* inverse = OnlyReader(sum->outputs[0]);
    if (inverse == nullptr || TypeOf(inverse->outputs[0]) != TypeOf(x)) return;
    const std::string_view type = graph_.type_of(*inverse);
    const bool divides =
        type == "Div" && inverse->inputs[1] == sum->outputs[0] && ConstantOf(inverse->inputs[0]) == 1.0;
    if (!divides && type != "Reciprocal") return;
    ops_ = {NumberOf(minus != nullptr ? minus : scaled->op), NumberOf(&exp), NumberOf(sum)};
    Write(*inverse, "Sigmoid", x, {});
  }

  void Write(const Op& last, std::string_view type, TensorId x, Attributes attributes) {
    const std::vector<std::string> names = GoneWith(last);
    const size_t place = NumberOf(&last);
    edit_.Remove(place);
    Op op = edit_.MakeOp(last, type, last.name, {x});
    op.outputs = last.outputs;
    op.attributes = std::make_shared<const Attributes>(std::move(attributes));
    op.metadata.emplace_back(kSimplifiedFrom, Join(names, ", "));
    edit_.Insert(place, std::move(op));
  }

  TensorId x_, f_;
  int terms_ = 0;
  std::set<size_t> ops_;
};

}  // namespace

bool SpelledActivations(Graph& graph, const std::vector<bool>& computed) {
  return !RunsAsWritten(graph) && ActivationReader(graph, computed).Run();
}

}  // namespace sbp::simplify
