#include "runtime/exchange/halo.h"

#include <algorithm>
#include <optional>

#include "rule/factor_map.h"
#include "sbp/mesh.h"
#include "sbp/signature.h"

namespace sbp {

HaloWidths HaloOf(const FactorMap& map, const Candidate& candidate, size_t operand) {
  HaloWidths halo;
  bool needed = false;
  for (const DimFactors& dim : map.operands[operand]) {
    halo.emplace_back(0, 0);
    for (const AxisChoice& choice : candidate.axes) {
      if (choice.kind != AxisChoice::Kind::kFactor) continue;
      const std::optional<Factor::Halo>& widths = map.factors[choice.index].halo;
      const bool carried = std::find(dim.begin(), dim.end(), choice.index) != dim.end();
      if (!carried || !widths || !widths->AppliesTo(static_cast<int>(operand))) continue;
      halo.back() = {std::max<int64_t>(widths->low, 0), std::max<int64_t>(widths->high, 0)};
      needed = needed || widths->low > 0 || widths->high > 0;
    }
  }
  if (!needed) halo.clear();
  return halo;
}

std::vector<HaloWidths> HalosOf(const RuleInstanceRef& instance, const Signature& signature, const Mesh& mesh) {
  const FactorMap& map = instance->map;
  std::vector<HaloWidths> halos(map.operands.size());
  const auto has_halo = [](const Factor& factor) { return factor.halo.has_value(); };
  if (std::none_of(map.factors.begin(), map.factors.end(), has_halo)) return halos;
  const std::optional<Candidate> candidate = FindCandidate(instance, signature, mesh);
  if (!candidate || candidate->halo_bytes <= 0) return halos;
  for (size_t i = 0; i < halos.size(); ++i) halos[i] = HaloOf(map, *candidate, i);
  return halos;
}

std::vector<Range> Reached(std::vector<Range> box, const HaloWidths& halo, const Shape& whole) {
  for (size_t d = 0; d < halo.size(); ++d) {
    box[d].begin = std::max<int64_t>(0, box[d].begin - halo[d].first);
    box[d].end = std::min(whole[d], box[d].end + halo[d].second);
  }
  return box;
}

}  // namespace sbp
