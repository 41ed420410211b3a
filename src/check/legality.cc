#include "check/legality.h"

#include <algorithm>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "base/checked_math.h"
#include "base/dtype.h"
#include "base/text.h"
#include "graph/tensor_type.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

// One operand or result, with the factors of its dimensions.
struct Slot {
  std::string name;
  const TensorType* type = nullptr;
  const TensorFactors* factors = nullptr;
  const NdSbp* layout = nullptr;
  bool result = false;
  int position = 0;
};

// The part of a factor that the ranks with most and with fewest elements hold.
struct Part {
  int64_t most = 1, least = 1;
};

class SignatureChecker {
 public:
  SignatureChecker(const RuleInstance& instance, const Signature& signature, const Mesh& mesh, bool even_only)
      : map_(instance.map), present_(instance.present), signature_(signature), mesh_(mesh), even_only_(even_only) {
    for (size_t i = 0; i < map_.operands.size() && i < signature.inputs.size(); ++i) {
      if (instance.present[i])
        AddSlot(instance.operand_names, i, instance.operands[i], map_.operands[i], signature.inputs[i], false);
    }
    for (size_t r = 0; r < map_.results.size() && r < signature.outputs.size(); ++r) {
      if (instance.results[r].dtype == DType::kUndefined) continue;
      AddSlot(instance.result_names, r, instance.results[r], map_.results[r], signature.outputs[r], true);
    }
    for (const Factor& factor : map_.factors) parts_.push_back({factor.size, factor.size});
    unused_.insert(map_.unused.begin(), map_.unused.end());
    addends_.insert(map_.addends.begin(), map_.addends.end());
  }

  LegalityAnswer Run() {
    LegalityAnswer answer;
    for (int axis = 0; axis < mesh_.num_axes(); ++axis) {
      if (mesh_.size(axis) == 1) continue;  // one device: every layout is the whole tensor
      std::string fault = AxisFault(axis);
      if (fault.empty()) continue;
      answer.expected = StrCat("over ", Quote(mesh_.axes[axis].name), ": ", fault);
      return answer;
    }
    answer.legal = true;
    answer.as_candidate.signature = signature_;
    answer.as_candidate.work_share = share_;
    for (FactorId f : halo_factors_) answer.as_candidate.halo_bytes += HaloBytes(f);
    return answer;
  }

 private:
  void AddSlot(const std::vector<std::string>& names, size_t position, const TensorType& type,
               const TensorFactors& factors, const NdSbp& layout, bool result) {
    std::string name = position < names.size() ? names[position] : StrCat(result ? "result " : "operand ", position);
    slots_.push_back({std::move(name), &type, &factors, &layout, result, static_cast<int>(position)});
  }

  bool IsUnused(const Slot& slot) const { return !slot.result && unused_.contains(slot.position); }
  // P of an operand that nobody reads stands for B.
  Sbp At(const Slot& slot, int axis) const {
    const Sbp sbp = (*slot.layout)[axis];
    return sbp.is_partial() && IsUnused(slot) ? Sbp::Broadcast() : sbp;
  }

  // "" when something explains the layouts along this axis.
  std::string AxisFault(int axis) {
    const auto is_broadcast = [&](const Slot& slot) { return At(slot, axis).is_broadcast(); };
    if (std::all_of(slots_.begin(), slots_.end(), is_broadcast)) return "";
    const auto split =
        std::find_if(slots_.begin(), slots_.end(), [&](const Slot& s) { return At(s, axis).is_split(); });
    std::string fault;
    if (split == slots_.end()) {
      if (IsPartialAlternative(axis)) return "";
      fault = FaultWithoutSplit();
    } else {
      fault = FactorFault(axis, *split);
      if (fault.empty()) return "";
    }
    return TakeExplicit(axis) ? "" : fault;
  }

  std::string FaultWithoutSplit() const {
    return map_.partials.empty() ? "nothing, or a factor, is split; the op passes no partial value through"
                                 : "the partial values are none of its linear, monotone and antitone alternatives";
  }

  // Exactly the operands of one alternative are partial of its kind, exactly its results, and all else is B.
  bool IsPartialAlternative(int axis) const {
    for (const PartialClause& clause : map_.partials) {
      if (clause.kind == PartialClause::Kind::kLinear) {
        if (Matches(clause, axis, ReduceKind::kSum, ReduceKind::kSum)) return true;
        continue;
      }
      const bool swaps = clause.kind == PartialClause::Kind::kAntitone;
      if (Matches(clause, axis, ReduceKind::kMax, swaps ? ReduceKind::kMin : ReduceKind::kMax)) return true;
      if (Matches(clause, axis, ReduceKind::kMin, swaps ? ReduceKind::kMax : ReduceKind::kMin)) return true;
    }
    return false;
  }

  bool Matches(const PartialClause& clause, int axis, ReduceKind in, ReduceKind out) const {
    // Told first and cheaply: an op may have an alternative for each of very many operands.
    const auto is_partial = [&](int operand) {
      return !present_[operand] || static_cast<size_t>(operand) >= signature_.inputs.size() ||
             signature_.inputs[operand][axis] == Sbp::Partial(in);
    };
    if (!std::all_of(clause.operands.begin(), clause.operands.end(), is_partial)) return false;
    const std::unordered_set<int> operands(clause.operands.begin(), clause.operands.end());
    const std::unordered_set<int> results(clause.results.begin(), clause.results.end());
    return std::all_of(slots_.begin(), slots_.end(), [&](const Slot& slot) {
      const bool all = slot.result && results.empty();
      const bool takes_part = all || (slot.result ? results : operands).contains(slot.position);
      if (!takes_part) return At(slot, axis).is_broadcast();
      return (*slot.layout)[axis] == Sbp::Partial(slot.result ? out : in);
    });
  }

  // The factor that leads a dimension: its first one of which a rank still holds more than one unit.
  FactorId Leader(const DimFactors& dim) const {
    const auto found = std::find_if(dim.begin(), dim.end(), [&](FactorId f) { return parts_[f].most > 1; });
    return found == dim.end() ? -1 : *found;
  }

  // Where a tensor carries a factor: dimensions, one an occurrence.
  static std::vector<int> DimsWith(const Slot& slot, FactorId f) {
    std::vector<int> dims;
    for (size_t d = 0; d < slot.factors->size(); ++d) {
      for (FactorId g : (*slot.factors)[d]) {
        if (g == f) dims.push_back(static_cast<int>(d));
      }
    }
    return dims;
  }

  std::string FactorFault(int axis, const Slot& split) {
    const int dim = At(split, axis).dim();
    const FactorId f = static_cast<size_t>(dim) < split.factors->size() ? Leader((*split.factors)[dim]) : -1;
    if (f < 0) return StrCat("dimension ", dim, " of ", split.name, " cannot be split: it carries no factor");
    const std::string name = StrCat("factor ", map_.factors[f].name);
    if (std::string why = WhyWhole(f); !why.empty()) return StrCat(name, " ", why);
    bool sums = false;
    for (const Slot& slot : slots_) {
      if (!slot.result || !DimsWith(slot, f).empty()) continue;
      const ReduceClause* reduce = ReduceOf(f, slot.position);
      if (reduce == nullptr)
        return StrCat(name, " is not split: result ", slot.name, " lacks it and nothing reduces it");
      sums |= reduce->kind == ReduceClause::Kind::kCombine && reduce->reduce == ReduceKind::kSum;
    }
    for (const Slot& slot : slots_) {
      const Sbp expected = ExpectedFor(slot, f, sums);
      if (!(At(slot, axis) == expected)) {
        return StrCat(name, " is split, so ", slot.name, " must be ", ToString(expected));
      }
    }
    if (std::string why = SizeFault(f, mesh_.size(axis)); !why.empty()) return StrCat(name, " ", why);
    Split(f, mesh_.size(axis));
    if (map_.factors[f].halo) halo_factors_.push_back(f);
    return "";
  }

  std::string WhyWhole(FactorId f) const {
    const Factor& factor = map_.factors[f];
    if (factor.whole) return "is never split";
    bool in_operand = false;
    for (const Slot& slot : slots_) {
      const size_t times = DimsWith(slot, f).size();
      if (times > 1) return StrCat("occurs twice in ", slot.name, " (a diagonal)");
      in_operand |= times == 1 && !slot.result;
    }
    if (!in_operand && !factor.aware && !factor.masked)
      return "occurs in results only and the kernel is not told its place";
    return "";
  }

  const ReduceClause* ReduceOf(FactorId f, int result) const {
    for (const ReduceClause& reduce : map_.reduces) {
      const std::vector<int>& to = reduce.results;
      if (reduce.factor == f && (to.empty() || std::find(to.begin(), to.end(), result) != to.end())) return &reduce;
    }
    return nullptr;
  }

  Sbp ExpectedFor(const Slot& slot, FactorId f, bool sums) const {
    const std::vector<int> dims = DimsWith(slot, f);
    if (!dims.empty()) return Sbp::Split(dims.front());
    if (slot.result) {
      const ReduceClause* reduce = ReduceOf(f, slot.position);
      return reduce->kind == ReduceClause::Kind::kCombine ? Sbp::Partial(reduce->reduce) : Sbp::Broadcast();
    }
    return sums && addends_.contains(slot.position) ? Sbp::Partial() : Sbp::Broadcast();
  }

  // Why the parts that the outer axes left cannot be cut in n.
  std::string SizeFault(FactorId f, int64_t n) const {
    const Factor& factor = map_.factors[f];
    const Part part = parts_[f];
    const int64_t unit = std::max<int64_t>(factor.granularity, 1);
    bool even = even_only_ || unit > 1;
    for (const Slot& slot : slots_) {
      for (int d : DimsWith(slot, f)) {
        const DimFactors& dim = (*slot.factors)[d];
        if (Leader(dim) != f) return StrCat("is not the major-most factor of dimension ", d, " of ", slot.name);
        even |= std::any_of(dim.begin(), dim.end(), [&](FactorId g) { return g != f && parts_[g].most > 1; });
        if (dim.size() != 1) continue;
        // The dimension of a window's operand is longer or shorter than its factor: both are cut at the same places.
        const int64_t size = slot.type->shape[d], cuts = SaturatingMul(factor.size / part.most, n);
        if (size != factor.size) {
          even = true;
          if (size % cuts != 0)
            return StrCat("needs dimension ", d, " of ", slot.name, " cut in ", cuts, " equal parts");
        }
        if (factor.halo && !slot.result && size / cuts < std::max(factor.halo->low, factor.halo->high)) {
          return StrCat("has a halo larger than a part of ", slot.name);
        }
      }
    }
    if (part.least / unit < n) return StrCat("has ", part.least / unit, " units for ", n, " ranks");
    if (even && (part.most != part.least || part.most % (unit * n) != 0))
      return StrCat("must be divisible by ", n, " here");
    return "";
  }

  void Split(FactorId f, int64_t n) {
    const int64_t before = parts_[f].most;
    parts_[f] = {CeilDiv(before, n), parts_[f].least / n};
    share_ *= static_cast<double>(parts_[f].most) / static_cast<double>(before);
  }

  // A signature written out in the rules; its splits need one element a rank.
  bool TakeExplicit(int axis) {
    const int64_t n = mesh_.size(axis);
    for (const ExplicitSignature& given : map_.signatures) {
      const bool equal = std::all_of(slots_.begin(), slots_.end(), [&](const Slot& slot) {
        const std::vector<Sbp>& list = slot.result ? given.results : given.operands;
        return static_cast<size_t>(slot.position) < list.size() && At(slot, axis) == list[slot.position];
      });
      if (!equal) continue;
      std::vector<FactorId> cut;
      for (const Slot& slot : slots_) {
        if (!At(slot, axis).is_split()) continue;
        const size_t d = static_cast<size_t>(At(slot, axis).dim());
        const FactorId f = d < slot.factors->size() ? Leader((*slot.factors)[d]) : -1;
        if (f >= 0 && std::find(cut.begin(), cut.end(), f) == cut.end()) cut.push_back(f);
      }
      for (FactorId f : cut) Split(f, n);
      return true;
    }
    return false;
  }

  // What the fullest rank receives from its neighbours along a factor.
  double HaloBytes(FactorId f) const {
    const Factor::Halo& halo = *map_.factors[f].halo;
    double bytes = 0;
    for (const Slot& slot : slots_) {
      if (slot.result) continue;
      for (int d : DimsWith(slot, f)) {
        Shape local = LocalShape(slot.type->shape, *slot.layout, mesh_);
        local[d] = SaturatingAdd(halo.low, halo.high);
        int64_t elements = 1;
        for (int64_t size : local) elements = SaturatingMul(elements, size);
        bytes += static_cast<double>(BytesOf(slot.type->dtype, elements));
      }
    }
    return bytes;
  }

  const FactorMap& map_;
  const std::vector<bool>& present_;
  const Signature& signature_;
  const Mesh& mesh_;
  const bool even_only_;
  std::vector<Slot> slots_;
  std::vector<Part> parts_;
  std::vector<FactorId> halo_factors_;
  std::unordered_set<int> unused_, addends_;
  double share_ = 1;
};

}  // namespace

LegalityAnswer CheckSignature(const RuleInstance& instance, const Signature& signature, const Mesh& mesh,
                              bool even_only) {
  return SignatureChecker(instance, signature, mesh, even_only).Run();
}

}  // namespace sbp
