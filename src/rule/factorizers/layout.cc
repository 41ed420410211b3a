#include "rule/factorizers/layout.h"

#include <cstdint>
#include <string>
#include <utility>

#include "base/checked_math.h"
#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "rule/factor_map.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

int64_t ProductOf(const FactorMap& map, std::initializer_list<FactorId> factors) {
  int64_t product = 1;
  for (FactorId f : factors) {
    if (f >= 0) product = SaturatingMul(product, map.factors[f].size);
  }
  return product;
}

bool IsThere(const Shape& shape, int dim, int64_t size) {
  return dim >= 0 && dim < static_cast<int>(shape.size()) && shape[dim] == size;
}

}  // namespace

void SetDim(TensorFactors& tensor, int dim, std::initializer_list<FactorId> factors) {
  tensor[dim].clear();
  for (FactorId f : factors) {
    if (f >= 0) tensor[dim].push_back(f);
  }
}

void SetOperandDim(FactorizerContext& context, size_t operand, int dim, std::initializer_list<FactorId> factors) {
  if (!context.has(operand) || !IsThere(context.shape(operand), dim, ProductOf(context.map(), factors))) return;
  SetDim(context.map().operands[operand], dim, factors);
}

void SetResultDim(FactorizerContext& context, size_t result, int dim, std::initializer_list<FactorId> factors) {
  if (!IsThere(context.out().results[result].shape, dim, ProductOf(context.map(), factors))) return;
  SetDim(context.map().results[result], dim, factors);
}

std::vector<FactorId> LeadingFactors(FactorizerContext& context, size_t operand, int end,
                                     std::span<const size_t> results) {
  std::vector<FactorId> factors;
  for (int i = 0; i < end; ++i) {
    const FactorId f = context.map().AddFactor(LetterName(i), context.shape(operand)[i]);
    factors.push_back(f);
    SetOperandDim(context, operand, i, {f});
    for (size_t r : results) SetResultDim(context, r, i, {f});
  }
  return factors;
}

std::string OperandName(FactorizerContext& context, size_t operand) {
  const auto& names = context.out().operand_names;
  if (operand < names.size() && !names[operand].empty()) return StrCat("operand ", operand, " ", Quote(names[operand]));
  return StrCat("operand ", operand);
}

Status ExpectRank(FactorizerContext& context, size_t operand, int rank) {
  if (!context.has(operand) || context.rank(operand) == rank) return OkStatus();
  return context.Error(StrCat(OperandName(context, operand), " must have ", rank, " dimensions, but is ",
                              ToString(context.type(operand))));
}

Status ExpectDim(FactorizerContext& context, size_t operand, int dim, int64_t size, std::string_view meaning) {
  if (!context.has(operand) || context.shape(operand)[dim] == size) return OkStatus();
  return context.Error(StrCat("dimension ", dim, " of ", OperandName(context, operand), " must be ", size, " (",
                              meaning, "), but it is ", ToString(context.type(operand))));
}

void ReduceBySum(FactorizerContext& context, FactorId f) {
  context.map().reduces.push_back({ReduceClause::Kind::kCombine, ReduceKind::kSum, f, {}});
}

void ComputedWhole(FactorizerContext& context, FactorId f, std::vector<int> results) {
  context.map().reduces.push_back({ReduceClause::Kind::kNone, ReduceKind::kSum, f, std::move(results)});
}

std::optional<double> KnownScalar(const FactorizerContext& context, size_t operand) {
  const Literal* value = context.has(operand) ? context.value(operand) : nullptr;
  if (value == nullptr) return std::nullopt;
  if (value->ints.size() == 1) return static_cast<double>(value->ints[0]);
  if (value->floats.size() == 1) return value->floats[0];
  return std::nullopt;
}

const TensorType* Stated(const FactorizerContext& context, size_t result) {
  const auto& stated = context.query().stated;
  if (result >= stated.size() || stated[result].dtype == DType::kUndefined || !stated[result].is_static())
    return nullptr;
  return &stated[result];
}

std::string LetterName(size_t index) {
  std::string name(1, static_cast<char>('a' + index % 26));
  if (index >= 26) name += std::to_string(index / 26);
  return name;
}

}  // namespace sbp
