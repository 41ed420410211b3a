#include "rule/assumed_dims.h"

#include <algorithm>

namespace sbp {

bool KeepAssumedWhole(const std::vector<int64_t>& assumed, FactorMap& map) {
  std::vector<bool> in_assumed(map.factors.size(), false);
  for (size_t i = 0; i + 1 < assumed.size(); i += 2) {
    const auto operand = static_cast<size_t>(assumed[i]), dim = static_cast<size_t>(assumed[i + 1]);
    if (operand >= map.operands.size() || dim >= map.operands[operand].size()) continue;
    for (const FactorId f : map.operands[operand][dim]) in_assumed[static_cast<size_t>(f)] = true;
  }
  bool any = false;
  for (const std::vector<TensorFactors>* tensors : {&map.operands, &map.results}) {
    for (const TensorFactors& tensor : *tensors) {
      for (const DimFactors& dim : tensor) {
        const auto is_assumed = [&](FactorId f) { return in_assumed[static_cast<size_t>(f)]; };
        if (std::ranges::none_of(dim, is_assumed)) continue;
        if (dim.size() == 1 && map.factors[static_cast<size_t>(dim[0])].granularity == 1) continue;
        for (const FactorId f : dim) {
          Factor& factor = map.factors[static_cast<size_t>(f)];
          any = any || !factor.whole;
          factor.whole = true;
        }
      }
    }
  }
  if (any) map.notes.emplace_back("a size that only running decides is regrouped: its parts need not be whole rows");
  return any;
}

}  // namespace sbp
