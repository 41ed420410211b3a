#include "rule/factorizer.h"

#include <algorithm>
#include <cstdint>
#include <variant>

#include "base/dtype.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "rule/syntax.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

const Parameter* FindParameter(const OpOverload& overload, std::string_view name) {
  for (const Parameter& p : overload.parameters) {
    if (p.name == name) return &p;
  }
  return nullptr;
}

// What the op says, else the schema's default, else nullptr.
const AttributeValue* Lookup(const OpQuery& query, const OpOverload& overload, std::string_view name) {
  if (const AttributeValue* value = query.attributes->Find(name)) return value;
  const Parameter* p = FindParameter(overload, name);
  return p != nullptr && p->default_value ? &*p->default_value : nullptr;
}

}  // namespace

size_t FactorizerContext::operand(std::string_view name) const {
  const auto found = std::ranges::find(out_.operand_names, name);
  return found == out_.operand_names.end() ? num_operands() : static_cast<size_t>(found - out_.operand_names.begin());
}

Result<size_t> FactorizerContext::Require(std::string_view name) const {
  const size_t place = operand(name);
  if (has(place)) return place;
  return Error(StrCat("needs the operand ", Quote(name)));
}

bool FactorizerContext::has(size_t operand) const {
  return operand < query_.operands.size() && query_.operands[operand].present;
}

const TensorType& FactorizerContext::type(size_t operand) const { return query_.operands[operand].type; }

const Literal* FactorizerContext::value(size_t operand) const {
  return has(operand) ? query_.operands[operand].known() : nullptr;
}

Result<std::vector<int64_t>> FactorizerContext::ints(size_t operand) const {
  const Literal* literal = value(operand);
  const std::string name = operand < out_.operand_names.size() ? out_.operand_names[operand] : "";
  if (literal == nullptr) {
    return Error(StrCat("the value of '", name, "' (operand ", operand, ") ", kMustBeKnown, ", and is not"));
  }
  if (!literal->is_integral() || literal->type.rank() > 1) {
    return Error(StrCat("'", name, "' must be a list of integers, not ", ToString(literal->type)));
  }
  return literal->ints;
}

int64_t FactorizerContext::Int(std::string_view name, int64_t fallback) const {
  const AttributeValue* value = Lookup(query_, overload_, name);
  const auto* i = value == nullptr ? nullptr : std::get_if<int64_t>(value);
  return i == nullptr ? fallback : *i;
}

double FactorizerContext::Float(std::string_view name, double fallback) const {
  const AttributeValue* value = Lookup(query_, overload_, name);
  if (value == nullptr) return fallback;
  if (const auto* i = std::get_if<int64_t>(value)) return static_cast<double>(*i);
  const auto* d = std::get_if<double>(value);
  return d == nullptr ? fallback : *d;
}

std::string FactorizerContext::String(std::string_view name, std::string_view fallback) const {
  const AttributeValue* value = Lookup(query_, overload_, name);
  const auto* s = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return s == nullptr ? std::string(fallback) : *s;
}

std::vector<int64_t> FactorizerContext::Ints(std::string_view name) const {
  const AttributeValue* value = Lookup(query_, overload_, name);
  const auto* list = value == nullptr ? nullptr : std::get_if<std::vector<int64_t>>(value);
  return list == nullptr ? std::vector<int64_t>{} : *list;
}

bool FactorizerContext::HasAttribute(std::string_view name) const { return query_.attributes->Find(name) != nullptr; }

void FactorizerContext::SetResult(size_t result, Shape shape) {
  map().results[result].assign(shape.size(), {});
  out_.results[result].shape = std::move(shape);
}

void FactorizerContext::SetResult(size_t result, DType dtype, Shape shape) {
  out_.results[result].dtype = dtype;
  SetResult(result, std::move(shape));
}

// RuleSet::Instantiate puts the op's name in front, as it does for every error of a rule.
Status FactorizerContext::Error(std::string_view what) const { return BadInput(std::string(what)); }

Result<int> NormalizeAxis(const FactorizerContext& context, int64_t axis, int rank, std::string_view what) {
  if (axis >= -rank && axis < rank) return static_cast<int>(axis < 0 ? axis + rank : axis);
  return context.Error(rank == 0 ? StrCat(what, " ", axis, " of a tensor of rank 0")
                                 : StrCat(what, " ", axis, " is not in [", -rank, ", ", rank - 1, "]"));
}

std::vector<FactorId> FactorPerDim(FactorizerContext& context, size_t operand) {
  std::vector<FactorId> factors;
  for (int dim = 0; dim < context.rank(operand); ++dim) {
    const size_t n = context.map().factors.size();
    std::string name(1, static_cast<char>('a' + n % 26));
    if (n >= 26) name += std::to_string(n / 26);
    factors.push_back(context.map().AddFactor(std::move(name), context.shape(operand)[dim]));
    context.map().operands[operand][dim] = {factors.back()};
  }
  return factors;
}

void PutOperand(FactorizerContext& context, size_t operand, int dim, FactorId f) {
  const int64_t size = context.shape(operand)[dim];
  DimFactors& factors = context.map().operands[operand][dim];
  factors.clear();
  if (size != 1 || context.map().factors[f].size == 1) factors.push_back(f);
}

void PutResult(FactorizerContext& context, size_t result, int dim, FactorId f) {
  const int64_t size = context.out().results[result].shape[dim];
  DimFactors& factors = context.map().results[result][dim];
  factors.clear();
  if (size != 1 || context.map().factors[f].size == 1) factors.push_back(f);
}

Result<Shape> BroadcastShapes(const FactorizerContext& context, std::span<const size_t> operands) {
  size_t rank = 0;
  for (size_t o : operands) rank = std::max(rank, context.shape(o).size());
  Shape result(rank, 1);
  std::vector<size_t> source(rank, 0);  // the operand that gave each size
  for (size_t o : operands) {
    const Shape& shape = context.shape(o);
    for (size_t i = 0; i < shape.size(); ++i) {
      const size_t at = rank - shape.size() + i;
      if (shape[i] == 1 || shape[i] == result[at]) continue;
      if (result[at] != 1) {
        return context.Error(
            StrCat("dimensions do not fit: ", ToString(context.type(source[at])), " and ", ToString(context.type(o))));
      }
      result[at] = shape[i];
      source[at] = o;
    }
  }
  return result;
}

}  // namespace sbp
