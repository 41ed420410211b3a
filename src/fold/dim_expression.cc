#include "fold/dim_expression.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace sbp {
namespace {

using Operation = DimExpression::Operation;

constexpr int kMaxNesting = 64;                    // of parentheses
constexpr int64_t kLargestDim = int64_t{1} << 40;  // where the search for a symbol's value ends

// An exact fraction in lowest terms, denominator > 0.
struct Fraction {
  int64_t top = 0;
  int64_t bottom = 1;
};

std::optional<Fraction> MakeFraction(__int128 top, __int128 bottom) {
  if (bottom == 0) return std::nullopt;
  if (bottom < 0) {
    top = -top;
    bottom = -bottom;
  }
  __int128 a = top < 0 ? -top : top;
  __int128 b = bottom;
  while (b != 0) {
    const __int128 rest = a % b;
    a = b;
    b = rest;
  }
  if (a != 0) {
    top /= a;
    bottom /= a;
  }
  constexpr __int128 kLimit = INT64_MAX;
  if (top > kLimit || top < -kLimit || bottom > kLimit) return std::nullopt;
  return Fraction{static_cast<int64_t>(top), static_cast<int64_t>(bottom)};
}

Fraction Floor(Fraction x) {
  const int64_t quotient = x.top / x.bottom;
  return {quotient - (x.top % x.bottom < 0 ? 1 : 0), 1};
}

bool Less(Fraction a, Fraction b) {
  return static_cast<__int128>(a.top) * b.bottom < static_cast<__int128>(b.top) * a.bottom;
}

std::optional<Fraction> Power(Fraction base, Fraction exponent) {
  if (exponent.bottom != 1 || exponent.top < 0 || exponent.top > 62) return std::nullopt;
  std::optional<Fraction> result = Fraction{1, 1};
  for (int64_t i = 0; i < exponent.top && result; ++i) {
    result = MakeFraction(static_cast<__int128>(result->top) * base.top,
                          static_cast<__int128>(result->bottom) * base.bottom);
  }
  return result;
}

std::optional<Fraction> Binary(Operation operation, Fraction a, Fraction b) {
  const __int128 at = a.top, ab = a.bottom, bt = b.top, bb = b.bottom;
  switch (operation) {
    case Operation::kAdd:
      return MakeFraction(at * bb + bt * ab, ab * bb);
    case Operation::kSubtract:
      return MakeFraction(at * bb - bt * ab, ab * bb);
    case Operation::kMultiply:
      return MakeFraction(at * bt, ab * bb);
    case Operation::kDivide:
      return MakeFraction(at * bb, ab * bt);
    case Operation::kFloorDivide: {
      const std::optional<Fraction> quotient = MakeFraction(at * bb, ab * bt);
      return quotient ? std::optional(Floor(*quotient)) : std::nullopt;
    }
    case Operation::kModulo: {
      const std::optional<Fraction> quotient = MakeFraction(at * bb, ab * bt);
      if (!quotient) return std::nullopt;
      return MakeFraction(at * bb - bt * ab * Floor(*quotient).top, ab * bb);
    }
    case Operation::kMin:
      return Less(b, a) ? b : a;
    case Operation::kMax:
      return Less(a, b) ? b : a;
    case Operation::kPower:
      return Power(a, b);
    default:
      return std::nullopt;
  }
}

std::optional<Fraction> Unary(Operation operation, Fraction a) {
  const Fraction negative{-a.top, a.bottom};
  switch (operation) {
    case Operation::kNegate:
      return negative;
    case Operation::kFloor:
      return Floor(a);
    case Operation::kCeil:
      return Fraction{-Floor(negative).top, 1};
    case Operation::kAbs:
      return a.top < 0 ? negative : a;
    default:
      return std::nullopt;
  }
}

bool IsUnary(Operation operation) {
  return operation == Operation::kNegate || operation == Operation::kFloor || operation == Operation::kCeil ||
         operation == Operation::kAbs;
}

struct FunctionRow {
  std::string_view name;
  Operation operation;
};
constexpr FunctionRow kFunctions[] = {
    {"floor", Operation::kFloor},
    {"ceil", Operation::kCeil},
    {"ceiling", Operation::kCeil},
    {"min", Operation::kMin},
    {"Min", Operation::kMin},
    {"max", Operation::kMax},
    {"Max", Operation::kMax},
    {"abs", Operation::kAbs},
    {"Abs", Operation::kAbs},
    {"mod", Operation::kModulo},
    {"Mod", Operation::kModulo},
    {"FloorDiv", Operation::kFloorDivide},
    {"floordiv", Operation::kFloorDivide},
    {"PythonMod", Operation::kModulo},
};

}  // namespace

// expr = term {(+|-) term}; term = factor {(*|/|//|%) factor}; factor = - factor | atom [** factor];
// atom = number | name | function ( expr {, expr} ) | ( expr ). Depth of parentheses is bounded.
class DimParser {
 public:
  explicit DimParser(std::string_view text) : text_(text) {}

  bool Run(DimExpression& out) {
    out_ = &out;
    if (!Sum()) return false;
    Skip();
    return at_ == text_.size();
  }

 private:
  void Skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool Eat(std::string_view token) {
    Skip();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void Emit(Operation operation, int64_t value = 0) { out_->nodes_.push_back({operation, value}); }

  bool Sum() {
    if (!Product()) return false;
    for (;;) {
      const bool add = Eat("+");
      if (!add && !Eat("-")) return true;
      if (!Product()) return false;
      Emit(add ? Operation::kAdd : Operation::kSubtract);
    }
  }

  bool Product() {
    if (!Signed()) return false;
    for (;;) {
      Operation operation;
      if (Eat("//"))
        operation = Operation::kFloorDivide;
      else if (Eat("/"))
        operation = Operation::kDivide;
      else if (Eat("*"))
        operation = Operation::kMultiply;
      else if (Eat("%"))
        operation = Operation::kModulo;
      else
        return true;
      if (!Signed()) return false;
      Emit(operation);
    }
  }

  bool Signed() {
    int minuses = 0;
    while (Eat("-")) ++minuses;
    if (!Atom()) return false;
    if (Eat("**")) {
      if (!Atom()) return false;
      Emit(Operation::kPower);
    }
    if (minuses % 2 == 1) Emit(Operation::kNegate);
    return true;
  }

  bool Atom() {
    Skip();
    if (at_ >= text_.size()) return false;
    if (Eat("(")) return Nested() && Eat(")");
    const char c = text_[at_];
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) return Number();
    if (std::isalpha(static_cast<unsigned char>(c)) == 0 && c != '_') return false;
    const size_t begin = at_;
    while (at_ < text_.size() && IsNameChar(text_[at_])) ++at_;
    std::string_view name = text_.substr(begin, at_ - begin);
    if (at_ < text_.size() && text_[at_] == '[') {  // "x[0]": a dimension without a name of its own
      const size_t close = text_.find(']', at_);
      if (close == std::string_view::npos || !ParseInt(text_.substr(at_ + 1, close - at_ - 1))) return false;
      at_ = close + 1;
      name = text_.substr(begin, at_ - begin);
    } else if (Eat("(")) {
      return Call(name);
    }
    EmitSymbol(name);
    return true;
  }

  bool Number() {
    const size_t begin = at_;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    const std::optional<int64_t> value = ParseInt(text_.substr(begin, at_ - begin));
    if (!value) return false;
    Emit(Operation::kNumber, *value);
    return true;
  }

  bool Nested() {
    if (++depth_ > kMaxNesting) return false;
    const bool good = Sum();
    --depth_;
    return good;
  }

  bool Call(std::string_view name) {
    const auto* row = std::ranges::find(kFunctions, name, &FunctionRow::name);
    if (row == std::end(kFunctions) || !Nested()) return false;
    if (IsUnary(row->operation)) {
      Emit(row->operation);
      return Eat(")");
    }
    bool two = false;
    while (Eat(",")) {
      if (!Nested()) return false;
      Emit(row->operation);
      two = true;
    }
    return two && Eat(")");
  }

  void EmitSymbol(std::string_view name) {
    auto& symbols = out_->symbols_;
    const auto found = std::ranges::find(symbols, name);
    Emit(Operation::kSymbol, found - symbols.begin());
    if (found == symbols.end()) symbols.emplace_back(name);
  }

  static bool IsNameChar(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == ':' || c == '$';
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
  DimExpression* out_ = nullptr;
};

DimExpression DimExpression::Parse(std::string_view text) {
  text = Trim(text);
  DimExpression expression;
  return DimParser(text).Run(expression) ? expression : Symbol(text);
}

DimExpression DimExpression::Symbol(std::string_view name) {
  DimExpression expression;
  expression.symbols_.emplace_back(name);
  expression.nodes_.push_back({Operation::kSymbol, 0});
  return expression;
}

Result<int64_t> DimExpression::Evaluate(const std::map<std::string, int64_t>& bindings) const {
  std::vector<Fraction> stack;
  for (const Node& node : nodes_) {
    std::optional<Fraction> value;
    if (node.operation == Operation::kNumber) {
      value = Fraction{node.value, 1};
    } else if (node.operation == Operation::kSymbol) {
      const std::string& name = symbols_[static_cast<size_t>(node.value)];
      const auto bound = bindings.find(name);
      if (bound == bindings.end()) return BadInput(StrCat("symbol ", Quote(name), " is not bound"));
      value = Fraction{bound->second, 1};
    } else if (IsUnary(node.operation)) {
      value = Unary(node.operation, stack.back());
      stack.pop_back();
    } else {
      const Fraction right = stack.back();
      stack.pop_back();
      value = Binary(node.operation, stack.back(), right);
      stack.pop_back();
    }
    if (!value) return BadInput("a division by zero or an overflow");
    stack.push_back(*value);
  }
  if (stack.back().bottom != 1)
    return BadInput(StrCat("the value is a fraction, ", stack.back().top, "/", stack.back().bottom));
  return stack.back().top;
}

std::optional<int64_t> DimExpression::SolveFor(const std::string& symbol, int64_t target,
                                               std::map<std::string, int64_t> bindings) const {
  // Values that are no integers or overflow are skipped by looking at the sign of (value - target) only where there is
  // one.
  const auto value_at = [&](int64_t candidate) -> std::optional<int64_t> {
    bindings[symbol] = candidate;
    const Result<int64_t> value = Evaluate(bindings);
    return value.ok() ? std::optional(*value) : std::nullopt;
  };
  // A fraction at `candidate` is judged by its neighbours: real expressions have small denominators.
  const auto value_near = [&](int64_t candidate) -> std::optional<int64_t> {
    for (int64_t step = 0; step < 64; ++step) {
      if (const std::optional<int64_t> value = value_at(candidate + step)) return value;
    }
    return std::nullopt;
  };
  const std::optional<int64_t> first = value_near(0);
  if (!first) return std::nullopt;
  std::optional<int64_t> probe = value_near(4096);
  const bool rising = !probe || *probe >= *first;
  int64_t low = 0;
  int64_t high = kLargestDim;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    const std::optional<int64_t> value = value_near(middle);
    const bool reached = !value || (rising ? *value >= target : *value <= target);
    if (reached)
      high = middle;
    else
      low = middle + 1;
  }
  for (int64_t candidate = std::max<int64_t>(0, low - 64); candidate <= low + 64; ++candidate) {
    if (value_at(candidate) == std::optional(target)) return candidate;
  }
  return std::nullopt;
}

Result<int64_t> EvaluateDim(std::string_view expression, const std::map<std::string, int64_t>& bindings) {
  const Result<int64_t> value = DimExpression::Parse(expression).Evaluate(bindings);
  return value.ok() ? value : Result<int64_t>(value.status().WithContext(StrCat("dimension ", Quote(expression))));
}

std::vector<std::string> SymbolsOf(std::string_view expression) { return DimExpression::Parse(expression).symbols(); }

}  // namespace sbp
