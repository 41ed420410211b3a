#include "rule/factor_use.h"

#include <algorithm>
#include <cstdint>

namespace sbp {
namespace {

void AddPlaces(const std::vector<TensorFactors>& tensors, bool is_result,
               std::vector<std::vector<FactorPlace>>& places) {
  for (size_t t = 0; t < tensors.size(); ++t) {
    for (size_t d = 0; d < tensors[t].size(); ++d) {
      for (FactorId f : tensors[t][d]) places[f].push_back({is_result, static_cast<int>(t), static_cast<int>(d)});
    }
  }
}

void Meet(const std::vector<TensorFactors>& tensors, std::vector<bool>& met, std::vector<FactorId>& order) {
  for (const TensorFactors& tensor : tensors) {
    for (const DimFactors& dim : tensor) {
      for (FactorId f : dim) {
        if (met[f]) continue;
        met[f] = true;
        order.push_back(f);
      }
    }
  }
}

// More than one dimension of one tensor: a diagonal.
bool RepeatsInATensor(const std::vector<FactorPlace>& places) {
  for (size_t i = 1; i < places.size(); ++i) {
    // Places of one tensor are neighbours in the list.
    if (places[i].is_result == places[i - 1].is_result && places[i].tensor == places[i - 1].tensor) return true;
  }
  return false;
}

bool MaySplit(const RuleInstance& instance, FactorId f, const std::vector<FactorPlace>& places) {
  const Factor& factor = instance.map.factors[f];
  if (factor.whole || factor.size < 2 || RepeatsInATensor(places)) return false;
  const bool in_operand = !places.empty() && !places.front().is_result;
  if (!in_operand && !factor.aware && !factor.masked) return false;
  std::vector<bool> carries(instance.results.size(), false);
  for (const FactorPlace& place : places) {
    if (place.is_result) carries[place.tensor] = true;
  }
  for (size_t r = 0; r < carries.size(); ++r) {
    if (carries[r] || !IsUsed(instance.results[r])) continue;
    if (OutcomeOf(instance.map, f, static_cast<int>(r)).answer == ReduceAnswer::kForbidden) return false;
  }
  return true;
}

}  // namespace

std::vector<std::vector<FactorPlace>> FactorPlaces(const RuleInstance& instance) {
  std::vector<std::vector<FactorPlace>> places(instance.map.factors.size());
  AddPlaces(instance.map.operands, false, places);
  AddPlaces(instance.map.results, true, places);
  return places;
}

ReduceOutcome OutcomeOf(const FactorMap& map, FactorId factor, int result) {
  for (const ReduceClause& reduce : map.reduces) {
    if (reduce.factor != factor) continue;
    const auto& results = reduce.results;
    if (!results.empty() && std::find(results.begin(), results.end(), result) == results.end()) continue;
    if (reduce.kind == ReduceClause::Kind::kNone) return {ReduceAnswer::kWhole};
    return {ReduceAnswer::kPartial, reduce.reduce};
  }
  return {};
}

std::vector<FactorId> SplittableFactors(const RuleInstance& instance) {
  std::vector<FactorId> order, splittable;
  std::vector<bool> met(instance.map.factors.size(), false);
  Meet(instance.map.results, met, order);
  Meet(instance.map.operands, met, order);
  const auto places = FactorPlaces(instance);
  for (FactorId f : order) {
    if (MaySplit(instance, f, places[f])) splittable.push_back(f);
  }
  return splittable;
}

FactorId MajorFactor(const DimFactors& dim, const std::vector<int64_t>& sizes) {
  for (FactorId f : dim) {
    if (sizes[f] > 1) return f;
  }
  return -1;
}

}  // namespace sbp
