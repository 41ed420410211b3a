// Small words in which factorizers write a factor map: carry a factor, reduce it, pass partial values through.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "rule/factor_map.h"
#include "rule/factorizer.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {

inline constexpr FactorId kNoFactor = -1;

// A new factor, named by the next free letter; kNoFactor for size 1, which carries nothing.
FactorId NewFactor(FactorizerContext& context, int64_t size);
// The same with a name, for factors that users read about.
FactorId NewFactor(FactorizerContext& context, std::string name, int64_t size);

// Appends factors (major first) to a dimension; kNoFactor is left out.
void Carry(DimFactors& dim, std::initializer_list<FactorId> factors);

// A new factor shared by one dimension of an operand and one of each (wanted) result.
FactorId ShareDim(FactorizerContext& context, size_t operand, size_t operand_dim, size_t result, size_t result_dim);
// Dimension by dimension, equal ranks.
void ShareAllDims(FactorizerContext& context, size_t operand, size_t result);
// Adds what the dimension `dim` of `operand` carries to a dimension of another operand or result.
void CopyDim(const DimFactors& from, DimFactors& to);

// A factor that only results carry and that the local kernel is told its part of (`aware`).
FactorId NewAwareFactor(FactorizerContext& context, int64_t size);

// P(sum) needs numbers: neither bool nor string.
bool IsSummable(DType type);
// How parts of which all but one are neutral (zeros) are combined: sum, "or" for bool, not at all for strings.
std::optional<ReduceKind> MaskedReduce(DType type);

void ReduceFactor(FactorizerContext& context, ReduceKind kind, FactorId factor);
// The result is computed whole on every rank whatever `factor` does.
void ReduceNone(FactorizerContext& context, FactorId factor, size_t result);

// One alternative each; absent operands are left out of the set, and a set that becomes empty adds nothing. Linear adds
// nothing when an operand or result cannot be summed.
void AddLinear(FactorizerContext& context, std::initializer_list<size_t> operands);
void AddLinear(FactorizerContext& context, const std::vector<size_t>& operands);
void AddMonotone(FactorizerContext& context, std::initializer_list<size_t> operands);
void AddMonotone(FactorizerContext& context, const std::vector<size_t>& operands);
// P(kind) in `operands` gives P(kind) in every result, for one kind only (a maximum keeps P(max), not P(min)).
void AddPartialSignature(FactorizerContext& context, ReduceKind kind, std::initializer_list<size_t> operands);

// Does somebody use the result?
bool Wants(const FactorizerContext& context, size_t result);

// Why a dimension stays whole.
void AddNote(FactorizerContext& context, std::string note);

// Results whose size depends on values: at its upper bound, with the reason.
void SetBounded(FactorizerContext& context, std::string reason);

// A dimension of a result whose size is computed.
struct BoundedDim {
  size_t result = 0;
  int rank = 1;  // of the result
  int dim = 0;
};
// The size of these dimensions to plan with, which is one and at most `bound`: what the model states of one of them,
// where that is no more than the bound; else the bound. `what` is
// computed, and the bound is `all` of it: the reason why the op is bounded.
int64_t SizeWithin(FactorizerContext& context, std::initializer_list<BoundedDim> where, int64_t bound,
                   std::string_view what, std::string_view all = "all");

// The integers of an operand, if it is given and known.
std::optional<std::vector<int64_t>> KnownInts(const FactorizerContext& context, size_t operand);
// The one integer of an operand (0-d, or 1-d of one element).
Result<int64_t> KnownInt(const FactorizerContext& context, size_t operand);
// The one number of an operand of any numeric type.
Result<double> KnownNumber(const FactorizerContext& context, size_t operand);
// What the model file states of a result, when that is a static shape.
std::optional<Shape> StatedShape(const FactorizerContext& context, size_t result);

// The elements of a shape; error when a dimension is negative or the product does not fit.
Result<int64_t> CountElements(const FactorizerContext& context, const Shape& shape);
// A rank is what the op needs, else an error that says so.
Status ExpectRank(const FactorizerContext& context, size_t operand, std::string_view name, int rank);

}  // namespace sbp
