// Where each factor stands, and which factors may be split at all: the part of the candidate definition that does not
// depend on the mesh. Shared by candidates and inference.
#pragma once

#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "graph/tensor_type.h"
#include "rule/factor_map.h"
#include "sbp/sbp.h"

namespace sbp {

// A dimension that carries a factor.
struct FactorPlace {
  bool is_result = false;
  int tensor = 0;
  int dim = 0;
};

// All places of every factor: operands first, then results. Dimensions of size-1 factors are listed too.
std::vector<std::vector<FactorPlace>> FactorPlaces(const RuleInstance& instance);

// What a used result that lacks `factor` becomes when the factor is split.
enum class ReduceAnswer : uint8_t { kForbidden, kWhole, kPartial };
struct ReduceOutcome {
  ReduceAnswer answer = ReduceAnswer::kForbidden;
  ReduceKind kind = ReduceKind::kSum;
};
ReduceOutcome OutcomeOf(const FactorMap& map, FactorId factor, int result);

// Factors in registration order (as met in the results, then as met in the operands) that may be split: not `a!`, at
// most once in a tensor, not carried by results only unless aware or masked, and every used result that lacks one is
// covered by a reduce clause. Those with a halo are included.
std::vector<FactorId> SplittableFactors(const RuleInstance& instance);

// The first factor of size above 1 of a dimension; -1 when there is none. `sizes`: per factor.
FactorId MajorFactor(const DimFactors& dim, const std::vector<int64_t>& sizes);

inline bool IsUsed(const TensorType& type) { return type.dtype != DType::kUndefined; }

}  // namespace sbp
