// Expressions over symbolic dimensions, as exporters write them: "past_seq + 1", "2*(a - 1)", "floor(h/2 - 1/2) + 1".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sbp {

// A parsed expression: nodes in post-order, so that evaluation is one pass over a stack. A text that does not parse
// ("batch size", "/a/b[0]") is one symbol with that name.
class DimExpression {
 public:
  static DimExpression Parse(std::string_view text);
  // The whole text as one symbol, whatever it looks like.
  static DimExpression Symbol(std::string_view name);

  // The distinct symbols in order of appearance.
  const std::vector<std::string>& symbols() const { return symbols_; }

  // Division is exact inside (1/2 is a half); the result must be an integer. Error: an unbound symbol, a division by
  // zero, a fraction, an overflow.
  Result<int64_t> Evaluate(const std::map<std::string, int64_t>& bindings) const;

  // The value >= 0 of `symbol`, the smallest if there are several, for which the expression is `target` when all other
  // symbols are bound. Found for expressions that grow or fall with the symbol.
  std::optional<int64_t> SolveFor(const std::string& symbol, int64_t target,
                                  std::map<std::string, int64_t> bindings) const;

  enum class Operation : uint8_t {
    kNumber,
    kSymbol,
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    kFloorDivide,
    kModulo,
    kNegate,
    kFloor,
    kCeil,
    kMin,
    kMax,
    kAbs,
    kPower
  };
  struct Node {
    Operation operation = Operation::kNumber;
    int64_t value = 0;  // kNumber; kSymbol: index into symbols()
  };

 private:
  friend class DimParser;
  std::vector<Node> nodes_;
  std::vector<std::string> symbols_;
};

// Integer expressions over symbols, "past_seq + 1", "2*(a - 1)", "floor(h/2)": evaluates when all symbols are bound.
Result<int64_t> EvaluateDim(std::string_view expression, const std::map<std::string, int64_t>& bindings);
std::vector<std::string> SymbolsOf(std::string_view expression);

}  // namespace sbp
