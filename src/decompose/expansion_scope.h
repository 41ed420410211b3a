// Names of an expansion and what they stand for.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "decompose/expansion_builder.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "rule/expression.h"
#include "rule/syntax.h"

namespace sbp {

// A value in an expansion: absent, a number or string, a list of such, a tensor, or several tensors (a variadic
// operand).
using NumberList = std::vector<ExpressionValue>;
using ExpansionValue = std::variant<std::monostate, ExpressionValue, NumberList, TensorId, std::vector<TensorId>>;

class ExpansionScope : public ExpressionScope {
 public:
  explicit ExpansionScope(const ExpansionBuilder& builder) : builder_(builder) {}

  // As ExpressionScope says; the functions also take names of tensors that lines above have set, and of results.
  Result<ExpressionValue> Name(const Expression& node) const override;
  Result<ExpressionValue> Call(const Expression& node, std::span<const ExpressionValue> arguments) const override;

  // What a kName or kIndex node stands for. Error: a result that no line has set yet, an index out of range.
  Result<ExpansionValue> Find(const Expression& node) const;
  // dims(x, from, to), values(x).
  Result<NumberList> ListFunction(const Expression& node) const;
  // Does the value of the term depend on more than numbers: is it a tensor?
  bool IsTensor(const Expression& node) const;

  // What a line has set; nullopt: none has.
  Result<std::optional<ExpansionValue>> Local(const std::string& name) const {
    const auto it = locals_.find(name);
    if (it == locals_.end()) return std::optional<ExpansionValue>();
    return std::optional<ExpansionValue>(it->second);
  }
  void Set(std::string name, ExpansionValue value) { locals_[std::move(name)] = std::move(value); }
  // `has(name)` is 0; what it stands for where it is used all the same.
  void SetAbsent(std::string name, TensorId id) {
    absent_.insert(name);
    Set(std::move(name), id);
  }
  static std::string Indexed(std::string_view name, int64_t index);

 private:
  // Operand `index` of a variadic parameter; invalid: there is none, or it is absent.
  TensorId VariadicOperand(std::string_view name, int64_t index) const;
  ExpansionValue Parameter(std::string_view name) const;
  Result<std::string> FullName(const Expression& node) const;  // "h[2]" of h[i]
  Result<ExpansionValue> FindIndexed(const Expression& node) const;
  // The type of an operand, result or tensor that a line set; nullptr: there is none.
  const TensorType* TypeOf(const Expression& node) const;
  const Literal* ValueOf(const Expression& node) const;
  Result<ExpressionValue> OfTensor(const Expression& node, const TensorType& type,
                                   std::span<const ExpressionValue> arguments) const;
  Result<ExpressionValue> OfList(const Expression& node, std::span<const ExpressionValue> arguments) const;

  const ExpansionBuilder& builder_;
  std::map<std::string, ExpansionValue, std::less<>> locals_;
  std::set<std::string, std::less<>> absent_;
};

}  // namespace sbp
