// Options of one mesh axis are made once (axis_options.h), because their layouts do not depend on sizes; which of them
// are legal on an axis depends on the local sizes that the outer axes leave, so the product is a walk over the axes
// that keeps those. The walk knows rows of slots that lie alike, not slots.
#include "rule/candidates.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/checked_math.h"
#include "graph/tensor_type.h"
#include "rule/axis_options.h"
#include "rule/factor_use.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

// Sizes of a factor on the ranks with most and with fewest elements, under the splits of the outer axes.
struct LocalSize {
  int64_t largest = 1;
  int64_t smallest = 1;
};

// Where a factor stands; places that ask the same are one.
struct PlaceKind {
  const DimFactors* dim;
  int64_t dim_size = 0;
  bool halo = false;  // its neighbours' elements are needed here
};

// An explicit split, of which every part must get an element.
struct RowSplit {
  uint32_t row = 0;
  int dim = 0;
  int64_t size = 0;
  FactorId leads = -1;  // known while walking
  const DimFactors* factors = nullptr;
  auto key() const { return std::tuple(row, dim, size, *factors); }
};

class CandidateMaker {
 public:
  CandidateMaker(const RuleInstanceRef& instance, const Mesh& mesh, const CandidateOptions& options,
                 const LayoutFilter* only)
      : instance_(*instance), map_(instance->map), mesh_(mesh), options_(options), places_(FactorPlaces(*instance)) {
    list_.instance = instance;
    MakeKinds();
    AxisOptions made = MakeAxisOptions(instance_, only);
    axis_options_ = std::move(made.options);
    list_.truncated = made.truncated;
    wanted_ = WantedBySlot(instance_, only);
    for (int axis = 0; axis < mesh_.num_axes(); ++axis) live_.push_back(LiveOn(axis));
  }

  CandidateList Run() {
    if (TryAll(live_)) return std::move(list_);
    list_.truncated = true;
    size_t longest = 0;
    for (const auto& live : live_) longest = std::max(longest, live.size() + 1);
    for (size_t length = std::min(longest, options_.max_candidates); length > 1; length -= (length + 7) / 8) {
      if (double product = ProductAt(length); product > static_cast<double>(options_.max_candidates)) continue;
      std::vector<std::vector<uint32_t>> cut;
      for (const auto& live : live_) cut.push_back(MostUseful(instance_, axis_options_, live, length - 1));
      if (TryAll(cut)) return std::move(list_);
    }
    TryAll(std::vector<std::vector<uint32_t>>(live_.size()));
    return std::move(list_);
  }

 private:
  size_t num_slots() const { return map_.operands.size() + map_.results.size(); }
  const TensorType& TypeOf(size_t slot) const {
    return slot < map_.operands.size() ? instance_.operands[slot] : instance_.results[slot - map_.operands.size()];
  }
  const TensorFactors& FactorsOf(size_t slot) const {
    return slot < map_.operands.size() ? map_.operands[slot] : map_.results[slot - map_.operands.size()];
  }
  size_t SlotOf(const FactorPlace& place) const { return place.tensor + (place.is_result ? map_.operands.size() : 0); }

  void MakeKinds() {
    kinds_.resize(map_.factors.size());
    for (size_t f = 0; f < places_.size(); ++f) {
      const auto& halo = map_.factors[f].halo;
      for (const FactorPlace& place : places_[f]) {
        const size_t slot = SlotOf(place);
        kinds_[f].push_back({&FactorsOf(slot)[place.dim], TypeOf(slot).shape[place.dim],
                             !place.is_result && halo && halo->AppliesTo(place.tensor)});
      }
      const auto key = [](const PlaceKind& kind) { return std::tie(*kind.dim, kind.dim_size, kind.halo); };
      std::sort(kinds_[f].begin(), kinds_[f].end(),
                [&](const PlaceKind& a, const PlaceKind& b) { return key(a) < key(b); });
      const auto same = [&](const PlaceKind& a, const PlaceKind& b) { return key(a) == key(b); };
      kinds_[f].erase(std::unique(kinds_[f].begin(), kinds_[f].end(), same), kinds_[f].end());
    }
  }

  // Options that agree with the filter and are not too small on this axis whatever the outer axes do.
  std::vector<uint32_t> LiveOn(int axis) const {
    size_t wanted = 0;
    for (const NdSbp* layout : wanted_) wanted += layout != nullptr && !(*layout)[axis].is_broadcast() ? 1 : 0;
    std::vector<uint32_t> live;
    for (uint32_t i = 0; i < axis_options_.size(); ++i) {
      const AxisOption& option = axis_options_[i];
      size_t met = 0;
      bool agrees = true;
      for (const SlotSbp& entry : option.layouts) {
        const NdSbp* layout = wanted_[entry.slot];
        if (layout == nullptr) continue;
        agrees = (*layout)[axis] == entry.sbp;
        if (!agrees) break;
        ++met;
      }
      if (!agrees || met != wanted) continue;
      if (option.choice.kind == AxisChoice::Kind::kFactor) {
        const Factor& factor = map_.factors[option.choice.index];
        if (factor.size / factor.granularity < mesh_.size(axis)) continue;
      }
      live.push_back(i);
    }
    return live;
  }

  // May the filter's slots all be B on this axis?
  bool MayReplicate(int axis) const {
    return std::all_of(wanted_.begin(), wanted_.end(),
                       [axis](const NdSbp* layout) { return layout == nullptr || (*layout)[axis].is_broadcast(); });
  }

  double ProductAt(size_t length) const {
    double product = 1;
    for (const auto& live : live_) product *= static_cast<double>(std::min(live.size() + 1, length));
    return product;
  }

  // Makes the list of these options; false: it would be too long, and is empty.
  bool TryAll(const std::vector<std::vector<uint32_t>>& chosen) {
    chosen_ = &chosen;
    std::vector<bool> kept(axis_options_.size(), false);
    for (const auto& options : chosen) {
      for (uint32_t i : options) kept[i] = true;
    }
    rows_ = GroupSlots(instance_, axis_options_, kept);
    const bool nothing = std::all_of(chosen.begin(), chosen.end(), [](const auto& options) { return options.empty(); });
    most_ = nothing ? 1 : LengthBounds().MostCandidates(options_.max_candidates, rows_.count(), num_slots());
    row_layouts_.assign(axis_options_.size(), {});
    splits_.assign(axis_options_.size(), {});
    for (uint32_t i = 0; i < axis_options_.size(); ++i) {
      if (kept[i]) UseRows(i);
    }
    local_.clear();
    for (const Factor& factor : map_.factors) local_.push_back({factor.size, factor.size});
    layouts_.assign(rows_.count(), NdSbp());
    may_replicate_.clear();
    for (int axis = 0; axis < mesh_.num_axes(); ++axis) may_replicate_.push_back(MayReplicate(axis));
    overflow_ = false;
    Walk(0);
    if (overflow_) list_.candidates.clear();
    return !overflow_;
  }

  void UseRows(uint32_t index) {
    std::vector<SlotSbp>& by_row = row_layouts_[index];
    std::vector<RowSplit>& splits = splits_[index];
    for (const SlotSbp& entry : axis_options_[index].layouts) {
      by_row.push_back({rows_.row_of(entry.slot), entry.sbp});
      if (axis_options_[index].choice.kind != AxisChoice::Kind::kExplicit || !entry.sbp.is_split()) continue;
      const int dim = entry.sbp.dim();
      splits.push_back({rows_.row_of(entry.slot), dim, TypeOf(entry.slot).shape[dim], -1, &FactorsOf(entry.slot)[dim]});
    }
    std::sort(by_row.begin(), by_row.end(), [](const SlotSbp& a, const SlotSbp& b) { return a.slot < b.slot; });
    by_row.erase(std::unique(by_row.begin(), by_row.end()), by_row.end());
    std::stable_sort(splits.begin(), splits.end(),
                     [](const RowSplit& a, const RowSplit& b) { return a.key() < b.key(); });
    const auto same = [](const RowSplit& a, const RowSplit& b) { return a.key() == b.key(); };
    splits.erase(std::unique(splits.begin(), splits.end(), same), splits.end());
  }

  FactorId Major(const DimFactors& dim) const {
    for (FactorId f : dim) {
      if (local_[f].largest > 1) return f;
    }
    return -1;
  }

  bool IsLegalSplit(FactorId f, int64_t n) const {
    const Factor& factor = map_.factors[f];
    const LocalSize local = local_[f];
    bool even = options_.even_only;
    for (const PlaceKind& place : kinds_[f]) {
      if (Major(*place.dim) != f) return false;
      for (FactorId g : *place.dim) even |= g != f && local_[g].largest > 1;
      if (!FitsScaledDim(place, f, n, even)) return false;
    }
    if (local.smallest / factor.granularity < n) return false;
    if (factor.granularity > 1 &&
        (local.largest % factor.granularity != 0 || (local.largest / factor.granularity) % n != 0)) {
      return false;
    }
    return !even || (local.largest % n == 0 && local.smallest == local.largest);
  }

  // A window's operand has another size than its factor (stride, padding): both must then be cut at the same places.
  // And a halo must come from the direct neighbour.
  bool FitsScaledDim(const PlaceKind& place, FactorId f, int64_t n, bool& even) const {
    const bool scaled = place.dim->size() == 1 && place.dim_size != map_.factors[f].size;
    if (scaled) even = true;
    if (!scaled && !place.halo) return true;
    const int64_t parts = SaturatingMul(map_.factors[f].size / local_[f].largest, n);
    if (scaled && place.dim_size % parts != 0) return false;
    return !place.halo || place.dim_size / parts >= std::max(map_.factors[f].halo->low, map_.factors[f].halo->high);
  }

  static LocalSize Split(LocalSize local, int64_t n) { return {CeilDiv(local.largest, n), local.smallest / n}; }

  // An explicit split of a dimension: every part gets an element.
  bool IsLegalExplicit(uint32_t index, int axis) const {
    for (const RowSplit& split : splits_[index]) {
      int64_t smallest = split.size, largest = smallest;
      for (int a = 0; a < axis; ++a) {
        if (!layouts_[split.row][a].is_split(split.dim)) continue;
        smallest /= mesh_.size(a);
        largest = CeilDiv(largest, mesh_.size(a));
      }
      if (smallest < mesh_.size(axis)) return false;
      if (options_.even_only && (largest != smallest || largest % mesh_.size(axis) != 0)) return false;
    }
    return true;
  }

  bool IsLegal(uint32_t index, int axis) const {
    for (const SlotSbp& entry : row_layouts_[index]) {
      if (entry.sbp.is_partial() && HasOtherPartial(layouts_[entry.slot], entry.sbp)) return false;
    }
    const AxisChoice& choice = axis_options_[index].choice;
    switch (choice.kind) {
      case AxisChoice::Kind::kFactor:
        return IsLegalSplit(choice.index, mesh_.size(axis));
      case AxisChoice::Kind::kExplicit:
        return IsLegalExplicit(index, axis);
      default:
        return true;
    }
  }

  // An earlier option of the same layouts that is taken in its place.
  bool IsDuplicate(uint32_t index, int axis) const {
    const std::vector<uint32_t>& chosen = (*chosen_)[axis];
    const auto& same = axis_options_[index].same_as;
    return std::any_of(same.begin(), same.end(), [&](uint32_t earlier) {
      return std::binary_search(chosen.begin(), chosen.end(), earlier) && IsLegal(earlier, axis);
    });
  }

  static bool HasOtherPartial(const NdSbp& layout, Sbp partial) {
    return std::any_of(layout.begin(), layout.end(), [&](Sbp sbp) { return sbp.is_partial() && sbp != partial; });
  }

  void Walk(int axis) {
    if (overflow_) return;
    if (axis == mesh_.num_axes()) {
      Emit();
      return;
    }
    for (uint32_t i : (*chosen_)[axis]) {
      if (!IsLegal(i, axis) || IsDuplicate(i, axis)) continue;
      Take(i, axis);
      if (overflow_) return;
    }
    if (!may_replicate_[axis]) return;
    choices_.push_back({});
    for (NdSbp& layout : layouts_) layout.push_back(Sbp::Broadcast());
    Walk(axis + 1);
    Undo();
  }

  void Take(uint32_t index, int axis) {
    const AxisOption& option = axis_options_[index];
    choices_.push_back(option.choice);
    for (NdSbp& layout : layouts_) layout.push_back(Sbp::Broadcast());
    for (const SlotSbp& entry : row_layouts_[index]) layouts_[entry.slot][axis] = entry.sbp;
    const double share_before = share_;
    std::vector<std::pair<FactorId, LocalSize>> before;
    if (option.choice.kind == AxisChoice::Kind::kFactor) before.emplace_back(option.choice.index, LocalSize{});
    for (const RowSplit& split : splits_[index]) {  // the factors that an explicit signature's splits cut
      const FactorId f = Major(*split.factors);
      const auto known = [&](const auto& entry) { return entry.first == f; };
      if (f >= 0 && std::none_of(before.begin(), before.end(), known)) before.emplace_back(f, LocalSize{});
    }
    for (auto& [f, local] : before) {
      local = local_[f];
      local_[f] = Split(local, mesh_.size(axis));
      share_ *= static_cast<double>(local_[f].largest) / static_cast<double>(local.largest);
    }
    Walk(axis + 1);
    for (auto it = before.rbegin(); it != before.rend(); ++it) local_[it->first] = it->second;
    share_ = share_before;
    Undo();
  }

  void Undo() {
    choices_.pop_back();
    for (NdSbp& layout : layouts_) layout.pop_back();
  }

  void Emit() {
    if (list_.candidates.size() >= most_) {
      overflow_ = true;
      return;
    }
    Candidate& candidate = list_.candidates.emplace_back();
    const auto results = layouts_.begin() + static_cast<ptrdiff_t>(rows_.num_operands);
    candidate.signature.inputs = LayoutRows(std::vector<NdSbp>(layouts_.begin(), results), rows_.operands);
    candidate.signature.outputs = LayoutRows(std::vector<NdSbp>(results, layouts_.end()), rows_.results);
    candidate.axes = choices_;
    candidate.work_share = share_;
    for (const AxisChoice& choice : choices_) {
      if (choice.kind == AxisChoice::Kind::kFactor && map_.factors[choice.index].halo) {
        candidate.halo_bytes += HaloBytes(choice.index, candidate.signature);
      }
    }
  }

  // The neighbours' elements that the rank with the largest part receives.
  double HaloBytes(FactorId f, const CandidateSignature& signature) const {
    const Factor::Halo& halo = *map_.factors[f].halo;
    double bytes = 0;
    for (const FactorPlace& place : places_[f]) {
      if (place.is_result || !halo.AppliesTo(place.tensor)) continue;
      const TensorType& type = instance_.operands[place.tensor];
      Shape local = LocalShape(type.shape, signature.inputs[place.tensor], mesh_);
      local[place.dim] = SaturatingAdd(halo.low, halo.high);
      int64_t elements = 1;
      for (int64_t size : local) elements = SaturatingMul(elements, size);
      bytes += static_cast<double>(BytesOf(type.dtype, elements));
    }
    return bytes;
  }

  const RuleInstance& instance_;
  const FactorMap& map_;
  const Mesh& mesh_;
  const CandidateOptions& options_;
  const std::vector<std::vector<FactorPlace>> places_;
  std::vector<std::vector<PlaceKind>> kinds_;  // per factor
  std::vector<AxisOption> axis_options_;
  std::vector<const NdSbp*> wanted_;         // per slot
  std::vector<std::vector<uint32_t>> live_;  // per axis
  // Of the present try.
  const std::vector<std::vector<uint32_t>>* chosen_ = nullptr;
  SlotRows rows_;
  std::vector<std::vector<SlotSbp>> row_layouts_;  // per option, with rows in the place of slots
  std::vector<std::vector<RowSplit>> splits_;      // per option: those of an explicit signature
  std::vector<bool> may_replicate_;                // per axis
  size_t most_ = 0;
  bool overflow_ = false;
  // The present branch of the walk.
  std::vector<LocalSize> local_;
  std::vector<NdSbp> layouts_;  // per row
  std::vector<AxisChoice> choices_;
  double share_ = 1;
  CandidateList list_;
};

}  // namespace

LayoutFilter FilterFor(const Signature& signature) {
  return {{signature.inputs.begin(), signature.inputs.end()}, {signature.outputs.begin(), signature.outputs.end()}};
}

CandidateList MakeCandidates(const RuleInstanceRef& instance, const Mesh& mesh, const CandidateOptions& options,
                             const LayoutFilter* only) {
  return CandidateMaker(instance, mesh, options, only).Run();
}

std::optional<Candidate> FindCandidate(const RuleInstanceRef& instance, const Signature& signature, const Mesh& mesh,
                                       const CandidateOptions& options) {
  const LayoutFilter filter = FilterFor(signature);
  CandidateList list = MakeCandidates(instance, mesh, options, &filter);
  for (Candidate& candidate : list.candidates) {
    if (candidate.signature == signature) return std::move(candidate);
  }
  return std::nullopt;
}

std::vector<int> PropagateBatchAxis(const RuleInstance& instance, const std::vector<int>& operand_batch) {
  const FactorMap& map = instance.map;
  auto lead = [&](const DimFactors& dim) {
    for (FactorId f : dim) {
      if (map.factors[f].size > 1) return f;
    }
    return dim.empty() ? FactorId{-1} : dim.front();
  };
  std::vector<FactorId> batches;  // of the operands, in their order, each once
  std::vector<bool> met(map.factors.size(), false);
  for (size_t o = 0; o < map.operands.size() && o < operand_batch.size(); ++o) {
    const int batch = operand_batch[o];
    if (batch < 0 || static_cast<size_t>(batch) >= map.operands[o].size()) continue;
    const FactorId f = lead(map.operands[o][batch]);
    if (f < 0 || met[f]) continue;
    met[f] = true;
    batches.push_back(f);
  }
  std::vector<int> result(map.results.size(), -1);
  for (size_t r = 0; r < map.results.size(); ++r) {
    for (size_t b = 0; b < batches.size() && result[r] < 0; ++b) {
      for (size_t d = 0; d < map.results[r].size() && result[r] < 0; ++d) {
        if (lead(map.results[r][d]) == batches[b]) result[r] = static_cast<int>(d);
      }
    }
  }
  return result;
}

}  // namespace sbp
