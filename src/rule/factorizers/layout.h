// Small steps that the factorizers of fused operators share.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "graph/tensor_type.h"
#include "rule/factor_map.h"
#include "rule/factorizer.h"

namespace sbp {

// Puts a compound (major first) into a dimension; factors of -1 are left out.
void SetDim(TensorFactors& tensor, int dim, std::initializer_list<FactorId> factors);

// As SetDim on an operand, unless it or the dimension is absent or the dimension's size is not the product of the
// factors' (a broadcast dimension stays whole).
void SetOperandDim(FactorizerContext& context, size_t operand, int dim, std::initializer_list<FactorId> factors);
void SetResultDim(FactorizerContext& context, size_t result, int dim, std::initializer_list<FactorId> factors);

// A factor per dimension [begin, end) of an operand, put there and into the same dimension of the given results.
std::vector<FactorId> LeadingFactors(FactorizerContext& context, size_t operand, int end,
                                     std::span<const size_t> results);

// An error unless operand `operand` is absent or has this rank, or dimension `dim` has this size.
Status ExpectRank(FactorizerContext& context, size_t operand, int rank);
Status ExpectDim(FactorizerContext& context, size_t operand, int dim, int64_t size, std::string_view meaning);

// The name of an operand for messages: "operand 2 \"scale\"".
std::string OperandName(FactorizerContext& context, size_t operand);

// Sums over factor f where a result lacks it; or such results (all, or the given) are computed whole.
void ReduceBySum(FactorizerContext& context, FactorId f);
void ComputedWhole(FactorizerContext& context, FactorId f, std::vector<int> results = {});

// The only value of a known tensor of one element, integral or not.
std::optional<double> KnownScalar(const FactorizerContext& context, size_t operand);

// Result r as the model file states it, if it does and knows every dimension.
const TensorType* Stated(const FactorizerContext& context, size_t result);

// "f", "i" ... for the n-th of many equal factors: a, b, ..., z, a1, b1, ...
std::string LetterName(size_t index);

}  // namespace sbp
