#include "rule/in_place.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "base/dtype.h"
#include "graph/tensor_type.h"

namespace sbp {
namespace {

// In row-major order. Factors of one element say nothing.
std::vector<FactorId> FlatFactors(const FactorMap& map, const TensorFactors& dims) {
  std::vector<FactorId> flat;
  for (const DimFactors& dim : dims) {
    std::ranges::copy_if(dim, std::back_inserter(flat), [&](FactorId f) { return map.factors[f].size != 1; });
  }
  return flat;
}

// Do the factors say all of the shape? A dimension without factors is computed by code, unless it has one element.
bool AreWhole(const FactorMap& map, const std::vector<FactorId>& flat, const TensorType& type) {
  int64_t elements = 1;
  for (const FactorId f : flat) elements *= map.factors[f].size;
  return type.is_static() && elements == type.num_elements();
}

bool Splits(const Factor& factor) { return !factor.whole && factor.granularity == 1 && !factor.masked && !factor.halo; }

bool SameElements(const TensorType& a, const TensorType& b) {
  return a.kind == ValueKind::kTensor && b.kind == ValueKind::kTensor && DTypeBits(a.dtype) == DTypeBits(b.dtype) &&
         DTypeBits(a.dtype) >= 8;
}

}  // namespace

std::vector<InPlacePair> InPlacePairs(const RuleInstance& instance) {
  std::vector<InPlacePair> pairs;
  const FactorMap& map = instance.map;
  if (instance.missing_rule || instance.replicate_only || instance.bounded || !instance.computed_sizes.empty())
    return pairs;
  for (size_t r = 0; r < instance.results.size(); ++r) {
    if (r >= map.results.size()) break;
    const std::vector<FactorId> written = FlatFactors(map, map.results[r]);
    if (!AreWhole(map, written, instance.results[r])) continue;
    const bool proves = std::ranges::all_of(written, [&](FactorId f) { return Splits(map.factors[f]); });
    for (size_t i = 0; i < instance.operands.size() && i < map.operands.size(); ++i) {
      if (!instance.present[i] || !SameElements(instance.operands[i], instance.results[r])) continue;
      if (!instance.operands[i].is_static() ||
          instance.operands[i].num_elements() != instance.results[r].num_elements())
        continue;
      if (FlatFactors(map, map.operands[i]) != written) continue;
      const bool alike = instance.operands[i].shape == instance.results[r].shape;
      if (!alike && (!proves || !map.signatures.empty())) continue;  // a signature may split by other words
      pairs.push_back({static_cast<int>(r), static_cast<int>(i), proves});
    }
  }
  return pairs;
}

}  // namespace sbp
