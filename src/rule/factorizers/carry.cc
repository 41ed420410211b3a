#include "rule/factorizers/carry.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/checked_math.h"
#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "rule/factor_map.h"
#include "rule/rule_set.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

// The next name that no factor has: "a" to "z", then "a1" to "z1", and so on.
std::string FreeLetter(const FactorMap& map) {
  for (size_t index = map.factors.size();; ++index) {
    std::string name(1, static_cast<char>('a' + index % 26));
    if (index >= 26) name += std::to_string(index / 26);
    const bool taken =
        std::any_of(map.factors.begin(), map.factors.end(), [&](const Factor& f) { return f.name == name; });
    if (!taken) return name;
  }
}

bool AllSummable(const FactorizerContext& context, const std::vector<int>& operands, const RuleInstance& out) {
  return std::all_of(operands.begin(), operands.end(), [&](int i) { return IsSummable(context.type(i).dtype); }) &&
         std::all_of(out.results.begin(), out.results.end(), [](const TensorType& t) {
           return t.dtype == DType::kUndefined || IsSummable(t.dtype);  // undefined: nobody uses it
         });
}

std::vector<int> Present(const FactorizerContext& context, const std::vector<size_t>& operands) {
  std::vector<int> present;
  for (size_t i : operands) {
    if (context.has(i)) present.push_back(static_cast<int>(i));
  }
  return present;
}

void AddPartial(FactorizerContext& context, PartialClause::Kind kind, const std::vector<size_t>& operands) {
  PartialClause clause;
  clause.kind = kind;
  clause.operands = Present(context, operands);
  if (clause.operands.empty()) return;
  if (kind == PartialClause::Kind::kLinear && !AllSummable(context, clause.operands, context.out())) return;
  context.map().partials.push_back(std::move(clause));
}

}  // namespace

FactorId NewFactor(FactorizerContext& context, int64_t size) {
  if (size == 1) return kNoFactor;
  return context.map().AddFactor(FreeLetter(context.map()), size);
}

FactorId NewFactor(FactorizerContext& context, std::string name, int64_t size) {
  if (size == 1) return kNoFactor;
  return context.map().AddFactor(std::move(name), size);
}

void Carry(DimFactors& dim, std::initializer_list<FactorId> factors) {
  for (FactorId f : factors) {
    if (f != kNoFactor) dim.push_back(f);
  }
}

FactorId ShareDim(FactorizerContext& context, size_t operand, size_t operand_dim, size_t result, size_t result_dim) {
  const FactorId f = NewFactor(context, context.shape(operand)[operand_dim]);
  Carry(context.map().operands[operand][operand_dim], {f});
  Carry(context.map().results[result][result_dim], {f});
  return f;
}

void ShareAllDims(FactorizerContext& context, size_t operand, size_t result) {
  for (int d = 0; d < context.rank(operand); ++d) ShareDim(context, operand, d, result, d);
}

void CopyDim(const DimFactors& from, DimFactors& to) { to.insert(to.end(), from.begin(), from.end()); }

FactorId NewAwareFactor(FactorizerContext& context, int64_t size) {
  const FactorId f = NewFactor(context, size);
  if (f != kNoFactor) context.map().factors[f].aware = true;
  return f;
}

bool IsSummable(DType type) { return IsFloat(type) || IsInteger(type) || IsComplex(type); }

std::optional<ReduceKind> MaskedReduce(DType type) {
  if (type == DType::kBool) return ReduceKind::kMax;
  if (!IsSummable(type)) return std::nullopt;
  return ReduceKind::kSum;
}

void ReduceFactor(FactorizerContext& context, ReduceKind kind, FactorId factor) {
  if (factor == kNoFactor) return;
  context.map().reduces.push_back({ReduceClause::Kind::kCombine, kind, factor, {}});
}

void ReduceNone(FactorizerContext& context, FactorId factor, size_t result) {
  if (factor == kNoFactor) return;
  context.map().reduces.push_back({ReduceClause::Kind::kNone, ReduceKind::kSum, factor, {static_cast<int>(result)}});
}

void AddLinear(FactorizerContext& context, const std::vector<size_t>& operands) {
  AddPartial(context, PartialClause::Kind::kLinear, operands);
}
void AddLinear(FactorizerContext& context, std::initializer_list<size_t> operands) {
  AddLinear(context, std::vector<size_t>(operands));
}
void AddMonotone(FactorizerContext& context, const std::vector<size_t>& operands) {
  AddPartial(context, PartialClause::Kind::kMonotone, operands);
}
void AddMonotone(FactorizerContext& context, std::initializer_list<size_t> operands) {
  AddMonotone(context, std::vector<size_t>(operands));
}

void AddPartialSignature(FactorizerContext& context, ReduceKind kind, std::initializer_list<size_t> operands) {
  ExplicitSignature signature;
  signature.operands.assign(context.num_operands(), Sbp::Broadcast());
  signature.results.assign(context.num_results(), Sbp::Partial(kind));
  for (size_t i : operands) {
    if (context.has(i)) signature.operands[i] = Sbp::Partial(kind);
  }
  context.map().signatures.push_back(std::move(signature));
}

bool Wants(const FactorizerContext& context, size_t result) {
  return result < context.query().wanted.size() && context.query().wanted[result];
}

void AddNote(FactorizerContext& context, std::string note) { context.map().notes.push_back(std::move(note)); }

void SetBounded(FactorizerContext& context, std::string reason) {
  context.out().bounded = true;
  context.out().reason = std::move(reason);
}

int64_t SizeWithin(FactorizerContext& context, std::initializer_list<BoundedDim> where, int64_t bound,
                   std::string_view what, std::string_view all) {
  const std::vector<TensorType>& stated = context.query().stated;
  ComputedSize computed;
  for (const auto& [r, rank, dim] : where) {
    computed.dims.emplace_back(static_cast<int>(r), dim);
    if (r >= stated.size() || !stated[r].has_rank || stated[r].rank() != rank) continue;
    const int64_t size = stated[r].shape[static_cast<size_t>(dim)];
    if (size == kUnknownDim || size >= bound) continue;
    SetBounded(context, StrCat(what, " is computed: taken as ", size, ", which is stated; at most ", bound));
    context.out().stated_bound = true;
    return size;
  }
  SetBounded(context, StrCat(what, " is computed: taken as ", all));
  context.out().computed_sizes.push_back(std::move(computed));
  return bound;
}

std::optional<std::vector<int64_t>> KnownInts(const FactorizerContext& context, size_t operand) {
  if (!context.has(operand) || context.value(operand) == nullptr) return std::nullopt;
  Result<std::vector<int64_t>> values = context.ints(operand);
  if (!values.ok()) return std::nullopt;
  return std::move(values).value();
}

Result<int64_t> KnownInt(const FactorizerContext& context, size_t operand) {
  SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> values, context.ints(operand));
  if (values.size() != 1) {
    return context.Error(StrCat("operand ", operand, " must hold one integer, but holds ", values.size()));
  }
  return values[0];
}

Result<double> KnownNumber(const FactorizerContext& context, size_t operand) {
  const Literal* literal = context.has(operand) ? context.value(operand) : nullptr;
  if (literal == nullptr) {
    return context.Error(StrCat("the value of operand ", operand, " ", kMustBeKnown, ", but it is computed"));
  }
  if (literal->ints.size() == 1) return static_cast<double>(literal->ints[0]);
  if (literal->floats.size() == 1) return literal->floats[0];
  return context.Error(StrCat("operand ", operand, " must hold one number"));
}

std::optional<Shape> StatedShape(const FactorizerContext& context, size_t result) {
  const std::vector<TensorType>& stated = context.query().stated;
  if (result >= stated.size() || !stated[result].is_static()) return std::nullopt;
  return stated[result].shape;
}

Result<int64_t> CountElements(const FactorizerContext& context, const Shape& shape) {
  int64_t count = 1;
  bool empty = false;
  for (int64_t size : shape) {
    if (size < 0) return context.Error(StrCat("a size of [", Join(shape, ","), "] is negative"));
    empty |= size == 0;
  }
  if (empty) return int64_t{0};
  for (int64_t size : shape) {
    const std::optional<int64_t> product = CheckedMul(count, size);
    if (!product) return context.Error(StrCat("[", Join(shape, ","), "] has more elements than 64 bits can count"));
    count = *product;
  }
  return count;
}

Status ExpectRank(const FactorizerContext& context, size_t operand, std::string_view name, int rank) {
  if (context.rank(operand) == rank) return OkStatus();
  return context.Error(StrCat(name, " must have ", rank, " dimensions, but is ", ToString(context.type(operand))));
}

}  // namespace sbp
