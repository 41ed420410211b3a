// Expressions over symbolic dimensions.
#include "fold/dim_expression.h"
#include "fold/resolve.h"
#include "fuzz/target.h"

namespace sbp::fuzz {

void RunDims(std::string_view bytes) {
  std::map<std::string, int64_t> bindings;
  int64_t size = 1;
  for (const std::string& symbol : SymbolsOf(bytes)) bindings[symbol] = size++;
  const Result<int64_t> value = EvaluateDim(bytes, bindings);
  if (!value.ok()) RequireRefusal(value.status());
  const DimExpression expression = DimExpression::Parse(bytes);
  if (!value.ok() || expression.symbols().empty()) return;
  // The expression has this value for the size that its first symbol has, so that some size must be found.
  const std::string& symbol = expression.symbols().front();
  const std::optional<int64_t> solved = expression.SolveFor(symbol, *value, bindings);
  if (!solved) return;
  bindings[symbol] = *solved;
  const Result<int64_t> again = expression.Evaluate(bindings);
  Require(again.ok() && *again == *value, "SolveFor gave a size for which the expression has another value");
}

}  // namespace sbp::fuzz
