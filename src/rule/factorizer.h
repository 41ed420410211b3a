// Factorizers: notations that depend on attributes, ranks or values, in code. One file each, one row in
// all_factorizers.cc; `rule @name(arguments)` calls them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "rule/factor_map.h"
#include "rule/rule_set.h"
#include "rule/syntax.h"
#include "sbp/shard_math.h"

namespace sbp {

// What a factorizer may look at, and where it writes.
class FactorizerContext {
 public:
  FactorizerContext(const OpQuery& query, const OpOverload& overload, RuleInstance& out)
      : query_(query), overload_(overload), out_(out) {}

  size_t num_operands() const { return query_.operands.size(); }
  size_t num_results() const { return query_.wanted.size(); }
  // The place of the operand that the op's schema calls `name`; num_operands(), which has() denies, where the schema
  // has no such operand or the op does not give it.
  size_t operand(std::string_view name) const;
  // The same of an operand that the factorizer cannot do without: an error that names it where it is absent.
  Result<size_t> Require(std::string_view name) const;
  bool has(size_t operand) const;                // present
  const TensorType& type(size_t operand) const;  // requires has()
  const Shape& shape(size_t operand) const { return type(operand).shape; }
  int rank(size_t operand) const { return type(operand).rank(); }
  const Literal* value(size_t operand) const;  // nullptr when unknown
  // The integers of a known 0-d or 1-d value; the error says which operand must be known and names it.
  Result<std::vector<int64_t>> ints(size_t operand) const;
  // The value of an attribute, with the schema's default where the op does not say it.
  int64_t Int(std::string_view name, int64_t fallback = 0) const;
  double Float(std::string_view name, double fallback = 0) const;
  std::string String(std::string_view name, std::string_view fallback = "") const;
  std::vector<int64_t> Ints(std::string_view name) const;  // empty when absent
  bool HasAttribute(std::string_view name) const;          // said by the op itself
  const OpQuery& query() const { return query_; }
  // Evaluated arguments of `@name(...)`: integers, or names and strings. Of one that is the name of an operand: its
  // place, as operand() has it.
  std::vector<int64_t> int_arguments;
  std::vector<std::string> name_arguments;  // one per argument; "" where it is not a name or string

  // Where to write: map.operands and map.results are already sized, with every dimension whole (no factors); results
  // have the declared dtype and no shape yet. SetResult gives the shape and sizes map.results[r] to its rank.
  RuleInstance& out() { return out_; }
  FactorMap& map() { return out_.map; }
  void SetResult(size_t result, Shape shape);
  void SetResult(size_t result, DType dtype, Shape shape);

  // An error that begins with the op's name: BadInput("MatMul: ...").
  Status Error(std::string_view what) const;

 private:
  const OpQuery& query_;
  const OpOverload& overload_;
  RuleInstance& out_;
};

using Factorizer = Status (*)(FactorizerContext& context);

struct FactorizerRow {
  std::string_view name;
  Factorizer run;
  // Names, parted by spaces, of the operands that it cannot do without ("inputs[]": a variadic one): an op whose schema
  // lacks one cannot use it, but may take the rule of an op that has them (`rule as`). "*": one, whatever it is called;
  // "": none, or those that its arguments name, of which the first two must not be optional.
  std::string_view operands;
  std::string_view values;       // names of the operands whose values it reads; schemas may lack them
  std::string_view doc;          // one line for `rules show`
  size_t arguments = 0;          // that it takes at least
  size_t operand_arguments = 0;  // of them: so many first ones are names of operands
  bool for_layouts = false;      // what it reads says where sums and orders of values pass; no size follows from it
};

// The table: all_factorizers.cc.
std::span<const FactorizerRow> AllFactorizers();
const FactorizerRow* FindFactorizer(std::string_view name);

// For factorizers that look at the first operand, whatever the op's schema calls it.
inline constexpr size_t kFirstOperand = 0;

// Building blocks shared by factorizers. --------------------------------------------------------------------------

// `axis` counted from the end when negative; error when out of [-rank, rank).
Result<int> NormalizeAxis(const FactorizerContext& context, int64_t axis, int rank, std::string_view what = "axis");

// Adds one factor per dimension of operand `operand` (named a, b, c, ... unless it is whole) and puts it there. Returns
// the ids per dimension; -1 for dimensions of size 1 when `skip_ones`.
std::vector<FactorId> FactorPerDim(FactorizerContext& context, size_t operand);

// Puts factor f as the only one of dimension `dim` of an operand or result, unless the dimension has size 1 while the
// factor is larger (a broadcast dimension stays whole).
void PutOperand(FactorizerContext& context, size_t operand, int dim, FactorId f);
void PutResult(FactorizerContext& context, size_t result, int dim, FactorId f);

// Numpy broadcasting of several shapes: result shape, or an error that names both operands.
Result<Shape> BroadcastShapes(const FactorizerContext& context, std::span<const size_t> operands);

}  // namespace sbp
