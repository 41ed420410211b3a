// Options of one mesh axis are made once, because their layouts do not depend on sizes; which of them are legal on an
// axis depends on the local sizes that the outer axes leave, so the product is a walk over the axes that keeps those.
#include "rule/candidates.h"

#include <algorithm>

#include "base/checked_math.h"
#include "rule/factor_use.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

// What one mesh axis may do: a layout for each operand, then each result.
struct AxisOption {
  AxisChoice choice;
  std::vector<Sbp> layouts;
  std::vector<size_t> same_as;  // earlier options with equal layouts: if one of them is legal, this one is a duplicate
};

class OptionMaker {
 public:
  explicit OptionMaker(const RuleInstance& instance)
      : instance_(instance), map_(instance.map), places_(FactorPlaces(instance)) {}

  std::vector<AxisOption> Run() {
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
    return std::move(options_);
  }

 private:
  size_t num_operands() const { return map_.operands.size(); }
  bool NeedsHalo(FactorId f) const {
    return map_.factors[f].halo && (map_.factors[f].halo->low > 0 || map_.factors[f].halo->high > 0);
  }

  const TensorType& TypeOf(size_t tensor) const {
    return tensor < num_operands() ? instance_.operands[tensor] : instance_.results[tensor - num_operands()];
  }
  std::vector<Sbp> AllBroadcast() const { return std::vector<Sbp>(num_operands() + map_.results.size()); }

  void Add(AxisChoice choice, std::vector<Sbp> layouts) {
    AxisOption option{choice, std::move(layouts), {}};
    if (option.layouts == AllBroadcast()) return;         // all-B is always the last candidate
    for (size_t t = 0; t < option.layouts.size(); ++t) {  // nothing combines partial values of such types
      if (option.layouts[t].is_partial() && IsStorageOnly(TypeOf(t).dtype)) return;
    }
    for (size_t i = 0; i < options_.size(); ++i) {
      if (options_[i].layouts == option.layouts) option.same_as.push_back(i);
    }
    options_.push_back(std::move(option));
  }

  void AddFactor(FactorId f) {
    std::vector<Sbp> layouts = AllBroadcast();
    for (const FactorPlace& place : places_[f]) {
      layouts[place.is_result ? num_operands() + place.tensor : place.tensor] = Sbp::Split(place.dim);
    }
    bool sums = false;
    for (size_t r = 0; r < map_.results.size(); ++r) {
      Sbp& layout = layouts[num_operands() + r];
      if (layout.is_split() || !IsUsed(instance_.results[r])) continue;
      const ReduceOutcome outcome = OutcomeOf(map_, f, static_cast<int>(r));
      if (outcome.answer != ReduceAnswer::kPartial) continue;
      layout = Sbp::Partial(outcome.kind);
      sums |= outcome.kind == ReduceKind::kSum;
    }
    for (int addend : map_.addends) {
      if (sums && !layouts[addend].is_split()) layouts[addend] = Sbp::Partial();
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
    std::vector<Sbp> layouts = AllBroadcast();
    for (int operand : partial.operands) layouts[operand] = Sbp::Partial(in);
    for (size_t r = 0; r < map_.results.size(); ++r) {
      const auto& named = partial.results;
      bool takes = named.empty() || std::find(named.begin(), named.end(), static_cast<int>(r)) != named.end();
      if (takes && IsUsed(instance_.results[r])) layouts[num_operands() + r] = Sbp::Partial(out);
    }
    Add({AxisChoice::Kind::kPartial, index, in}, std::move(layouts));
  }

  void AddExplicit(int index) {
    const ExplicitSignature& signature = map_.signatures[index];
    std::vector<Sbp> layouts = signature.operands;
    layouts.insert(layouts.end(), signature.results.begin(), signature.results.end());
    Add({AxisChoice::Kind::kExplicit, index}, std::move(layouts));
  }

  // Any P of an operand whose values nobody reads: with everything else replicated, beside each split of a factor that
  // the operand does not carry, and beside partial values of the others.
  void AddUnused() {
    const size_t ordinary = options_.size();
    for (int operand : map_.unused) {
      const DType type = instance_.operands[operand].dtype;
      if (type == DType::kString || instance_.operands[operand].kind != ValueKind::kTensor) continue;
      for (ReduceKind kind : {ReduceKind::kSum, ReduceKind::kMax, ReduceKind::kMin, ReduceKind::kProd}) {
        if (type == DType::kBool && (kind == ReduceKind::kSum || kind == ReduceKind::kProd)) continue;
        std::vector<Sbp> layouts = AllBroadcast();
        layouts[operand] = Sbp::Partial(kind);
        Add({AxisChoice::Kind::kUnused, operand, kind}, std::move(layouts));
        for (size_t i = 0; i < ordinary; ++i) AddUnusedBeside(i, operand, kind);
      }
    }
  }

  void AddUnusedBeside(size_t option, int operand, ReduceKind kind) {
    const AxisChoice choice = options_[option].choice;
    if (choice.kind != AxisChoice::Kind::kFactor && choice.kind != AxisChoice::Kind::kPartial) return;
    if (!options_[option].layouts[operand].is_broadcast()) return;
    std::vector<Sbp> layouts = options_[option].layouts;
    layouts[operand] = Sbp::Partial(kind);
    Add(choice, std::move(layouts));
  }

  const RuleInstance& instance_;
  const FactorMap& map_;
  const std::vector<std::vector<FactorPlace>> places_;
  std::vector<AxisOption> options_;
};

// Sizes of a factor on the ranks with most and with fewest elements, under the splits of the outer axes.
struct LocalSize {
  int64_t largest = 1;
  int64_t smallest = 1;
};

class CandidateMaker {
 public:
  CandidateMaker(const RuleInstanceRef& instance, const Mesh& mesh, const CandidateOptions& options)
      : instance_(*instance), map_(instance->map), mesh_(mesh), options_(options), places_(FactorPlaces(*instance)) {
    list_.instance = instance;
    for (const Factor& factor : map_.factors) local_.push_back({factor.size, factor.size});
    layouts_.resize(map_.operands.size() + map_.results.size());
    axis_options_ = OptionMaker(instance_).Run();
    limit_ = LengthLimit();
  }

  CandidateList Run() {
    Walk(0);
    return std::move(list_);
  }

 private:
  const TensorType& TypeOf(const FactorPlace& place) const {
    return place.is_result ? instance_.results[place.tensor] : instance_.operands[place.tensor];
  }
  const DimFactors& DimOf(const FactorPlace& place) const {
    return (place.is_result ? map_.results : map_.operands)[place.tensor][place.dim];
  }

  // The length at which each axis' list is cut so that the product of all stays within max_candidates.
  size_t LengthLimit() const {
    const size_t whole = axis_options_.size() + 1;
    for (size_t length = whole; length > 1; --length) {
      double product = 1;
      for (int a = 0; a < mesh_.num_axes(); ++a) product *= static_cast<double>(length);
      if (product <= static_cast<double>(options_.max_candidates)) return length;
    }
    return 1;
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
    for (const FactorPlace& place : places_[f]) {
      const DimFactors& dim = DimOf(place);
      if (Major(dim) != f) return false;
      for (FactorId g : dim) even |= g != f && local_[g].largest > 1;
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
  bool FitsScaledDim(const FactorPlace& place, FactorId f, int64_t n, bool& even) const {
    const int64_t dim_size = TypeOf(place).shape[place.dim];
    const bool needs = !place.is_result && map_.factors[f].halo && map_.factors[f].halo->AppliesTo(place.tensor);
    const bool scaled = DimOf(place).size() == 1 && dim_size != map_.factors[f].size;
    if (scaled) even = true;
    if (!scaled && !needs) return true;
    const int64_t parts = SaturatingMul(map_.factors[f].size / local_[f].largest, n);
    if (scaled && dim_size % parts != 0) return false;
    return !needs || dim_size / parts >= std::max(map_.factors[f].halo->low, map_.factors[f].halo->high);
  }

  static LocalSize Split(LocalSize local, int64_t n) { return {CeilDiv(local.largest, n), local.smallest / n}; }

  // An explicit split of a dimension: every part gets an element. Tensors are numbered as layouts_.
  bool IsLegalExplicit(const AxisOption& option, int axis) const {
    for (size_t t = 0; t < option.layouts.size(); ++t) {
      if (!option.layouts[t].is_split()) continue;
      const int dim = option.layouts[t].dim();
      const TensorType& type =
          t < map_.operands.size() ? instance_.operands[t] : instance_.results[t - map_.operands.size()];
      int64_t smallest = type.shape[dim], largest = smallest;
      for (int a = 0; a < axis; ++a) {
        if (!layouts_[t][a].is_split(dim)) continue;
        smallest /= mesh_.size(a);
        largest = CeilDiv(largest, mesh_.size(a));
      }
      if (smallest < mesh_.size(axis)) return false;
      if (options_.even_only && (largest != smallest || largest % mesh_.size(axis) != 0)) return false;
    }
    return true;
  }

  bool IsLegal(size_t index, int axis) const {
    const AxisOption& option = axis_options_[index];
    for (size_t t = 0; t < option.layouts.size(); ++t) {
      if (option.layouts[t].is_partial() && HasOtherPartial(layouts_[t], option.layouts[t])) return false;
    }
    switch (option.choice.kind) {
      case AxisChoice::Kind::kFactor:
        return IsLegalSplit(option.choice.index, mesh_.size(axis));
      case AxisChoice::Kind::kExplicit:
        return IsLegalExplicit(option, axis);
      default:
        return true;
    }
  }

  static bool HasOtherPartial(const NdSbp& layout, Sbp partial) {
    return std::any_of(layout.begin(), layout.end(), [&](Sbp sbp) { return sbp.is_partial() && sbp != partial; });
  }

  void Walk(int axis) {
    if (axis == mesh_.num_axes()) {
      Emit();
      return;
    }
    size_t length = 1;  // all-B is always kept
    std::vector<bool> legal(axis_options_.size(), false);
    for (size_t i = 0; i < axis_options_.size(); ++i) {
      legal[i] = IsLegal(i, axis);
      const auto& same = axis_options_[i].same_as;
      if (!legal[i] || std::any_of(same.begin(), same.end(), [&](size_t j) { return legal[j]; })) continue;
      if (length == limit_) {
        list_.truncated = true;
        break;
      }
      ++length;
      Take(axis_options_[i], axis);
    }
    choices_.push_back({});
    for (NdSbp& layout : layouts_) layout.push_back(Sbp::Broadcast());
    Walk(axis + 1);
    Undo();
  }

  void Take(const AxisOption& option, int axis) {
    choices_.push_back(option.choice);
    for (size_t t = 0; t < layouts_.size(); ++t) layouts_[t].push_back(option.layouts[t]);
    const double share_before = share_;
    std::vector<std::pair<FactorId, LocalSize>> before;
    if (option.choice.kind == AxisChoice::Kind::kFactor) before.emplace_back(option.choice.index, LocalSize{});
    if (option.choice.kind == AxisChoice::Kind::kExplicit) AddExplicitFactors(option, before);
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

  // The factors that an explicit signature's splits cut.
  void AddExplicitFactors(const AxisOption& option, std::vector<std::pair<FactorId, LocalSize>>& factors) const {
    for (size_t t = 0; t < option.layouts.size(); ++t) {
      if (!option.layouts[t].is_split()) continue;
      const TensorFactors& dims = t < map_.operands.size() ? map_.operands[t] : map_.results[t - map_.operands.size()];
      const FactorId f = Major(dims[option.layouts[t].dim()]);
      auto known = [&](const auto& entry) { return entry.first == f; };
      if (f >= 0 && std::none_of(factors.begin(), factors.end(), known)) factors.emplace_back(f, LocalSize{});
    }
  }

  void Undo() {
    choices_.pop_back();
    for (NdSbp& layout : layouts_) layout.pop_back();
  }

  void Emit() {
    Candidate& candidate = list_.candidates.emplace_back();
    const auto results = layouts_.begin() + static_cast<ptrdiff_t>(map_.operands.size());
    candidate.signature.inputs.assign(layouts_.begin(), results);
    candidate.signature.outputs.assign(results, layouts_.end());
    candidate.axes = choices_;
    candidate.work_share = share_;
    for (const AxisChoice& choice : choices_) {
      if (choice.kind == AxisChoice::Kind::kFactor && map_.factors[choice.index].halo) {
        candidate.halo_bytes += HaloBytes(choice.index, candidate.signature);
      }
    }
  }

  // The neighbours' elements that the rank with the largest part receives.
  double HaloBytes(FactorId f, const Signature& signature) const {
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
  std::vector<AxisOption> axis_options_;
  size_t limit_ = 0;
  // The present branch of the walk.
  std::vector<LocalSize> local_;
  std::vector<NdSbp> layouts_;
  std::vector<AxisChoice> choices_;
  double share_ = 1;
  CandidateList list_;
};

}  // namespace

CandidateList MakeCandidates(const RuleInstanceRef& instance, const Mesh& mesh, const CandidateOptions& options) {
  return CandidateMaker(instance, mesh, options).Run();
}

std::vector<int> PropagateBatchAxis(const RuleInstance& instance, const std::vector<int>& operand_batch) {
  const FactorMap& map = instance.map;
  auto lead = [&](const DimFactors& dim) {
    for (FactorId f : dim) {
      if (map.factors[f].size > 1) return f;
    }
    return dim.empty() ? FactorId{-1} : dim.front();
  };
  std::vector<int> result(map.results.size(), -1);
  for (size_t r = 0; r < map.results.size(); ++r) {
    for (size_t o = 0; o < map.operands.size() && result[r] < 0; ++o) {
      const int batch = o < operand_batch.size() ? operand_batch[o] : -1;
      if (batch < 0 || static_cast<size_t>(batch) >= map.operands[o].size()) continue;
      const FactorId f = lead(map.operands[o][batch]);
      for (size_t d = 0; d < map.results[r].size() && f >= 0 && result[r] < 0; ++d) {
        if (lead(map.results[r][d]) == f) result[r] = static_cast<int>(d);
      }
    }
  }
  return result;
}

}  // namespace sbp
