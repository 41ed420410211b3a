#include "rule/axis_options.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "base/dtype.h"
#include "base/hash.h"
#include "graph/tensor_type.h"
#include "rule/factor_map.h"
#include "rule/factor_use.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

class OptionMaker {
 public:
  OptionMaker(const RuleInstance& instance, const LayoutFilter* only)
      : instance_(instance), map_(instance.map), places_(FactorPlaces(instance)) {
    if (only == nullptr) return;
    wanted_ = WantedBySlot(instance, only);
    for (size_t slot = 0; slot < wanted_.size(); ++slot) {
      if (wanted_[slot] == nullptr) continue;
      num_axes_ = wanted_[slot]->size();
      for (int axis = 0; axis < num_axes_; ++axis) {
        if (!(*wanted_[slot])[axis].is_broadcast()) ++wanted_count_[axis];
      }
    }
  }

  AxisOptions Run() {
    const std::vector<FactorId> factors = SplittableFactors(instance_);
    for (FactorId f : factors) {
      if (!NeedsHalo(f)) AddFactor(f);
    }
    for (size_t i = 0; i < map_.partials.size(); ++i) AddPartial(static_cast<int>(i));
    for (size_t i = 0; i < map_.signatures.size(); ++i) AddExplicit(static_cast<int>(i));
    AddUnused();
    for (FactorId f : factors) {
      if (NeedsHalo(f)) AddFactor(f);
    }
    return std::move(made_);
  }

 private:
  size_t num_operands() const { return map_.operands.size(); }
  uint32_t ResultSlot(size_t result) const { return static_cast<uint32_t>(num_operands() + result); }
  bool NeedsHalo(FactorId f) const {
    return map_.factors[f].halo && (map_.factors[f].halo->low > 0 || map_.factors[f].halo->high > 0);
  }

  const TensorType& TypeOf(size_t slot) const {
    return slot < num_operands() ? instance_.operands[slot] : instance_.results[slot - num_operands()];
  }

  bool Agrees(const std::vector<SlotSbp>& layouts, int axis) const {
    size_t met = 0;
    for (const SlotSbp& entry : layouts) {
      const NdSbp* wanted = wanted_[entry.slot];
      if (wanted == nullptr) continue;
      if ((*wanted)[axis] != entry.sbp) return false;
      ++met;
    }
    return met == wanted_count_[axis];
  }

  bool AgreesSomewhere(const std::vector<SlotSbp>& layouts) const {
    if (num_axes_ == 0) return true;
    for (int axis = 0; axis < num_axes_; ++axis) {
      if (Agrees(layouts, axis)) return true;
    }
    return false;
  }

  // `layouts` may be in any order, one entry a slot.
  void Add(AxisChoice choice, std::vector<SlotSbp> layouts) {
    std::erase_if(layouts, [](const SlotSbp& entry) { return entry.sbp.is_broadcast(); });
    if (layouts.empty()) return;            // all-B is always the last candidate
    for (const SlotSbp& entry : layouts) {  // nothing combines partial values of such types
      if (entry.sbp.is_partial() && IsStorageOnly(TypeOf(entry.slot).dtype)) return;
    }
    if (!AgreesSomewhere(layouts)) return;
    if (made_.options.size() >= kMostOptions || entries_ + layouts.size() > kMostEntries) {
      made_.truncated = true;
      return;
    }
    entries_ += layouts.size();
    std::sort(layouts.begin(), layouts.end(), [](const SlotSbp& a, const SlotSbp& b) { return a.slot < b.slot; });
    AxisOption option{choice, std::move(layouts), {}};
    size_t hash = option.layouts.size();
    for (const SlotSbp& entry : option.layouts) hash = HashCombine(HashCombine(hash, entry.slot), HashOf(entry.sbp));
    const auto [begin, end] = by_hash_.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
      if (made_.options[it->second].layouts == option.layouts) option.same_as.push_back(it->second);
    }
    by_hash_.emplace(hash, static_cast<uint32_t>(made_.options.size()));
    made_.options.push_back(std::move(option));
  }

  void AddFactor(FactorId f) {
    std::vector<SlotSbp> layouts;
    std::vector<bool> split(num_operands() + map_.results.size(), false);
    for (const FactorPlace& place : places_[f]) {
      const uint32_t slot = place.is_result ? ResultSlot(place.tensor) : static_cast<uint32_t>(place.tensor);
      split[slot] = true;
      layouts.push_back({slot, Sbp::Split(place.dim)});
    }
    bool sums = false;
    for (size_t r = 0; r < map_.results.size(); ++r) {
      if (split[ResultSlot(r)] || !IsUsed(instance_.results[r])) continue;
      const ReduceOutcome outcome = OutcomeOf(map_, f, static_cast<int>(r));
      if (outcome.answer != ReduceAnswer::kPartial) continue;
      layouts.push_back({ResultSlot(r), Sbp::Partial(outcome.kind)});
      sums |= outcome.kind == ReduceKind::kSum;
    }
    for (int addend : map_.addends) {
      if (!sums || split[addend]) continue;
      split[addend] = true;
      layouts.push_back({static_cast<uint32_t>(addend), Sbp::Partial()});
    }
    Add({AxisChoice::Kind::kFactor, f}, std::move(layouts));
  }

  void AddPartial(int index) {
    const PartialClause& partial = map_.partials[index];
    if (partial.kind == PartialClause::Kind::kLinear) {
      AddPartial(index, ReduceKind::kSum, ReduceKind::kSum);
      return;
    }
    const bool swaps = partial.kind == PartialClause::Kind::kAntitone;
    AddPartial(index, ReduceKind::kMax, swaps ? ReduceKind::kMin : ReduceKind::kMax);
    AddPartial(index, ReduceKind::kMin, swaps ? ReduceKind::kMax : ReduceKind::kMin);
  }

  void AddPartial(int index, ReduceKind in, ReduceKind out) {
    const PartialClause& partial = map_.partials[index];
    std::vector<int> operands = partial.operands;
    std::sort(operands.begin(), operands.end());
    operands.erase(std::unique(operands.begin(), operands.end()), operands.end());
    std::vector<SlotSbp> layouts;
    for (int operand : operands) layouts.push_back({static_cast<uint32_t>(operand), Sbp::Partial(in)});
    for (size_t r = 0; r < map_.results.size(); ++r) {
      const auto& named = partial.results;
      bool takes = named.empty() || std::find(named.begin(), named.end(), static_cast<int>(r)) != named.end();
      if (takes && IsUsed(instance_.results[r])) layouts.push_back({ResultSlot(r), Sbp::Partial(out)});
    }
    Add({AxisChoice::Kind::kPartial, index, in}, std::move(layouts));
  }

  void AddExplicit(int index) {
    const ExplicitSignature& signature = map_.signatures[index];
    std::vector<SlotSbp> layouts;
    for (size_t i = 0; i < signature.operands.size(); ++i) {
      layouts.push_back({static_cast<uint32_t>(i), signature.operands[i]});
    }
    for (size_t r = 0; r < signature.results.size(); ++r) layouts.push_back({ResultSlot(r), signature.results[r]});
    Add({AxisChoice::Kind::kExplicit, index}, std::move(layouts));
  }

  // Any P of an operand whose values nobody reads: with everything else replicated, beside each split of a factor that
  // the operand does not carry, and beside partial values of the others.
  void AddUnused() {
    const size_t ordinary = made_.options.size();
    for (int operand : map_.unused) {
      const DType type = instance_.operands[operand].dtype;
      if (type == DType::kString || instance_.operands[operand].kind != ValueKind::kTensor) continue;
      for (ReduceKind kind : {ReduceKind::kSum, ReduceKind::kMax, ReduceKind::kMin, ReduceKind::kProd}) {
        if (type == DType::kBool && (kind == ReduceKind::kSum || kind == ReduceKind::kProd)) continue;
        if (!MayBe(operand, Sbp::Partial(kind))) continue;
        Add({AxisChoice::Kind::kUnused, operand, kind}, {{static_cast<uint32_t>(operand), Sbp::Partial(kind)}});
        for (size_t i = 0; i < ordinary && !made_.truncated; ++i) AddUnusedBeside(i, operand, kind);
      }
    }
  }

  bool MayBe(int operand, Sbp sbp) const {
    const NdSbp* wanted = num_axes_ == 0 ? nullptr : wanted_[operand];
    return wanted == nullptr || std::find(wanted->begin(), wanted->end(), sbp) != wanted->end();
  }

  void AddUnusedBeside(size_t option, int operand, ReduceKind kind) {
    const AxisChoice choice = made_.options[option].choice;
    if (choice.kind != AxisChoice::Kind::kFactor && choice.kind != AxisChoice::Kind::kPartial) return;
    const std::vector<SlotSbp>& before = made_.options[option].layouts;
    const auto slot = static_cast<uint32_t>(operand);
    const auto at = std::lower_bound(before.begin(), before.end(), slot,
                                     [](const SlotSbp& entry, uint32_t wanted) { return entry.slot < wanted; });
    if (at != before.end() && at->slot == slot) return;
    if (entries_ + before.size() >= kMostEntries) {  // told before the copy: many operands may be unused
      made_.truncated = true;
      return;
    }
    std::vector<SlotSbp> layouts = before;
    layouts.push_back({slot, Sbp::Partial(kind)});
    Add(choice, std::move(layouts));
  }

  const RuleInstance& instance_;
  const FactorMap& map_;
  const std::vector<std::vector<FactorPlace>> places_;
  std::vector<const NdSbp*> wanted_;        // per slot; empty without a filter
  int num_axes_ = 0;                        // of the filter; 0: no filter
  size_t wanted_count_[kMaxMeshAxes] = {};  // per axis: slots wanted other than B
  size_t entries_ = 0;
  std::unordered_multimap<size_t, uint32_t> by_hash_;
  AxisOptions made_;
};

}  // namespace

AxisOptions MakeAxisOptions(const RuleInstance& instance, const LayoutFilter* only) {
  return OptionMaker(instance, only).Run();
}

std::vector<const NdSbp*> WantedBySlot(const RuleInstance& instance, const LayoutFilter* only) {
  const size_t num_operands = instance.map.operands.size();
  std::vector<const NdSbp*> wanted(num_operands + instance.map.results.size(), nullptr);
  const auto note = [&](const std::vector<std::optional<NdSbp>>& side, size_t first, size_t end) {
    for (size_t i = 0; i < side.size() && first + i < end; ++i) {
      if (side[i]) wanted[first + i] = &*side[i];
    }
  };
  if (only != nullptr) {
    note(only->inputs, 0, num_operands);
    note(only->outputs, num_operands, wanted.size());
  }
  return wanted;
}

size_t LengthBounds::MostCandidates(size_t most, size_t rows, size_t slots) const {
  most = std::min(most, most_cells / std::max<size_t>(rows, 1));
  most = std::min(most, most_visits / std::max<size_t>(slots, 1));
  return std::max<size_t>(most, 1);
}

std::vector<uint32_t> MostUseful(const RuleInstance& instance, const std::vector<AxisOption>& options,
                                 const std::vector<uint32_t>& legal, size_t count) {
  if (legal.size() <= count) return legal;
  std::vector<uint32_t> splits, sums, others;
  std::vector<bool> met(instance.map.factors.size(), false);
  for (uint32_t i : legal) {
    const AxisChoice& choice = options[i].choice;
    const bool split = choice.kind == AxisChoice::Kind::kFactor && !met[choice.index];
    if (split) met[choice.index] = true;  // its later options differ in operands that nobody reads
    const bool linear = choice.kind == AxisChoice::Kind::kPartial &&
                        instance.map.partials[choice.index].kind == PartialClause::Kind::kLinear;
    (split ? splits : linear || choice.kind == AxisChoice::Kind::kExplicit ? sums : others).push_back(i);
  }
  std::stable_sort(splits.begin(), splits.end(), [&](uint32_t a, uint32_t b) {
    const auto& factors = instance.map.factors;
    return factors[options[a].choice.index].size > factors[options[b].choice.index].size;
  });
  std::vector<uint32_t> order;
  for (size_t split = 0, sum = 0; split < splits.size() || sum < sums.size();) {
    for (int i = 0; i < 3 && split < splits.size(); ++i) order.push_back(splits[split++]);
    if (sum < sums.size()) order.push_back(sums[sum++]);
  }
  order.insert(order.end(), others.begin(), others.end());
  order.resize(count);
  std::sort(order.begin(), order.end());
  return order;
}

uint32_t SlotRows::row_of(uint32_t slot) const {
  return slot < operands->size() ? (*operands)[slot]
                                 : static_cast<uint32_t>(num_operands) + (*results)[slot - operands->size()];
}

SlotRows GroupSlots(const RuleInstance& instance, const std::vector<AxisOption>& options,
                    const std::vector<bool>& kept) {
  const size_t num_operands = instance.map.operands.size(), num_results = instance.map.results.size();
  std::vector<uint32_t> group(num_operands + num_results);
  // What tells slots apart on one device (problem.h, OneDeviceLayout).
  std::map<std::tuple<bool, bool, ValueKind, bool>, uint32_t> first_groups;
  for (size_t slot = 0; slot < group.size(); ++slot) {
    const bool is_result = slot >= num_operands;
    const TensorType& type = is_result ? instance.results[slot - num_operands] : instance.operands[slot];
    const bool present = is_result || instance.present[slot];
    const bool splits = type.rank() > 0 && type.shape[0] > 0;
    group[slot] = first_groups.try_emplace({is_result, present, type.kind, splits}, first_groups.size()).first->second;
  }
  uint32_t groups = static_cast<uint32_t>(first_groups.size());
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> refined;
  for (size_t i = 0; i < options.size(); ++i) {
    if (!kept[i]) continue;
    refined.clear();
    for (const SlotSbp& entry : options[i].layouts) {
      const uint32_t sbp = static_cast<uint32_t>(entry.sbp.kind) << 8 | entry.sbp.arg;
      const auto [known, is_new] = refined.try_emplace({group[entry.slot], sbp}, groups);
      if (is_new) ++groups;
      group[entry.slot] = known->second;
    }
  }
  SlotRows rows;
  const auto number = [&](size_t from, size_t to, size_t& count) {
    std::unordered_map<uint32_t, uint32_t> rows_by_group;
    std::vector<uint32_t> row_of;
    row_of.reserve(to - from);
    for (size_t slot = from; slot < to; ++slot) {
      row_of.push_back(
          rows_by_group.try_emplace(group[slot], static_cast<uint32_t>(rows_by_group.size())).first->second);
    }
    count = rows_by_group.size();
    return std::make_shared<const std::vector<uint32_t>>(std::move(row_of));
  };
  rows.operands = number(0, num_operands, rows.num_operands);
  rows.results = number(num_operands, group.size(), rows.num_results);
  return rows;
}

}  // namespace sbp
