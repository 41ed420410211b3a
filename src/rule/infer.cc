// Layouts become suggestions per factor; suggestions are merged class by class; the layouts are read back from the
// factors. Everything works on sets of mesh axes (bits), since a dimension may be split by several.
#include "rule/infer.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/text.h"
#include "graph/tensor_type.h"
#include "rule/factor_use.h"

namespace sbp {
namespace {

using AxisSet = uint32_t;  // bit a: mesh axis a

// "Tensor t says that factor f lies on these axes", in order of appearance.
struct Suggestion {
  FactorId factor;
  AxisSet axes;
  int tensor;  // index on the source side
  int dim;
};

class Inferrer {
 public:
  explicit Inferrer(const InferRequest& request)
      : request_(request), instance_(*request.instance), map_(instance_.map), mesh_(request.mesh) {
    for (const Factor& factor : map_.factors) sizes_.push_back(factor.size);
    splittable_.resize(map_.factors.size(), false);
    for (FactorId f : SplittableFactors(instance_)) {
      const auto& halo = map_.factors[f].halo;
      splittable_[f] = !halo || halo->low + halo->high == 0;  // a split at the price of a halo is not proposed
    }
    for (FactorId f = 0; f < static_cast<FactorId>(splittable_.size()); ++f)
      splittable_[f] = splittable_[f] && Leads(f);
    assigned_.resize(map_.factors.size(), 0);
    inputs_ = Normalised(request.inputs, map_.operands.size());
    outputs_ = Normalised(request.outputs, map_.results.size());
  }

  InferAnswer Run() {
    if (IsView()) {
      SuggestThroughGroups();
    } else {
      for (size_t t = 0; t < source().size(); ++t) {
        for (size_t d = 0; d < source()[t].size(); ++d) Suggest(static_cast<int>(t), static_cast<int>(d));
      }
    }
    MergeClasses();
    ReadBack();
    return std::move(answer_);
  }

 private:
  const std::vector<TensorFactors>& source() const { return request_.backward ? map_.results : map_.operands; }
  const std::vector<TensorFactors>& target() const { return request_.backward ? map_.operands : map_.results; }
  const std::vector<NdSbp>& given() const { return request_.backward ? outputs_ : inputs_; }
  const std::string& SourceName(int t) const {
    return request_.backward ? instance_.result_names[t] : instance_.operand_names[t];
  }

  std::vector<NdSbp> Normalised(const std::vector<NdSbp>& layouts, size_t count) const {
    std::vector<NdSbp> all(count, NdSbp(mesh_.num_axes()));
    for (size_t i = 0; i < std::min(count, layouts.size()); ++i) {
      if (layouts[i].size() == mesh_.num_axes()) all[i] = layouts[i];
    }
    return all;
  }

  // Is the factor the major one of every dimension that carries it? Else it cannot be split while the others are whole.
  bool Leads(FactorId f) const {
    for (const auto* side : {&map_.operands, &map_.results}) {
      for (const TensorFactors& tensor : *side) {
        for (const DimFactors& dim : tensor) {
          if (std::find(dim.begin(), dim.end(), f) != dim.end() && MajorFactor(dim, sizes_) != f) return false;
        }
      }
    }
    return true;
  }

  // Axes ----------------------------------------------------------------------------------------------------------

  static AxisSet AxesOf(const NdSbp& layout, int dim) {
    AxisSet axes = 0;
    for (int a = 0; a < layout.size(); ++a) {
      if (layout[a].is_split(dim)) axes |= AxisSet{1} << a;
    }
    return axes;
  }

  int64_t Ranks(AxisSet axes) const {
    int64_t ranks = 1;
    for (int a = 0; a < mesh_.num_axes(); ++a) {
      if ((axes >> a & 1) != 0) ranks *= mesh_.size(a);
    }
    return ranks;
  }

  bool Divides(AxisSet axes, FactorId f) const {
    const Factor& factor = map_.factors[f];
    return factor.size % factor.granularity == 0 && factor.size / factor.granularity % Ranks(axes) == 0;
  }

  std::string AxisNames(AxisSet axes) const {
    std::vector<std::string> names;
    for (int a = 0; a < mesh_.num_axes(); ++a) {
      if ((axes >> a & 1) != 0) names.push_back(mesh_.axes[a].name);
    }
    return Join(names, ",");
  }

  std::string Side(const Suggestion& s) const {
    const TensorType& type = request_.backward ? instance_.results[s.tensor] : instance_.operands[s.tensor];
    return StrCat("dimension ", s.dim, " of ", SourceName(s.tensor), " ", ToString(type), " (", AxisNames(s.axes), ")");
  }

  // Suggestions ---------------------------------------------------------------------------------------------------

  void Suggest(int tensor, int dim) {
    const Suggestion s{MajorFactor(source()[tensor][dim], sizes_), AxesOf(given()[tensor], dim), tensor, dim};
    if (s.axes == 0) return;
    if (s.factor < 0 || !splittable_[s.factor]) {
      answer_.conflicts.push_back(StrCat(Side(s), ": the rule keeps this dimension whole"));
      return;
    }
    suggestions_.push_back(s);
  }

  // Reshape-like: one operand with factors, one result, the same factors on both sides, some dimension compound.
  bool IsView() const {
    const auto carries = [](const TensorFactors& tensor) {
      return std::any_of(tensor.begin(), tensor.end(), [](const DimFactors& dim) { return !dim.empty(); });
    };
    const auto compound = [&](const TensorFactors& tensor) {
      return std::any_of(tensor.begin(), tensor.end(), [&](const DimFactors& dim) {
        return std::count_if(dim.begin(), dim.end(), [&](FactorId f) { return sizes_[f] > 1; }) > 1;
      });
    };
    return std::count_if(map_.operands.begin(), map_.operands.end(), carries) == 1 &&
           std::count_if(map_.results.begin(), map_.results.end(), carries) == 1 && map_.reduces.empty() &&
           (std::any_of(map_.operands.begin(), map_.operands.end(), compound) ||
            std::any_of(map_.results.begin(), map_.results.end(), compound));
  }

  struct View {
    int source = -1, target = -1;                 // tensor positions
    std::vector<int> source_group, target_group;  // per dimension: a group of merged or split dims, -1: no factor
    int groups = 0;
  };

  // Dimensions that share a factor are of one group.
  View MakeView() const {
    View view;
    const auto carrier = [](const std::vector<TensorFactors>& tensors) {
      for (size_t t = 0; t < tensors.size(); ++t) {
        for (const DimFactors& dim : tensors[t]) {
          if (!dim.empty()) return static_cast<int>(t);
        }
      }
      return -1;
    };
    view.source = carrier(source());
    view.target = carrier(target());
    std::vector<int> group_of(map_.factors.size(), -1);
    // Both sides list the factors in the same order, so a group is a run on either side.
    std::vector<int> parent;
    const auto find = [&](int g) {
      while (parent[g] != g) g = parent[g] = parent[parent[g]];
      return g;
    };
    for (const TensorFactors* tensor : {&source()[view.source], &target()[view.target]}) {
      for (const DimFactors& dim : *tensor) {
        int group = -1;
        for (FactorId f : dim) {
          if (sizes_[f] < 2) continue;
          if (group_of[f] < 0) {
            parent.push_back(static_cast<int>(parent.size()));
            group_of[f] = parent.back();
          }
          if (group >= 0) parent[find(group_of[f])] = find(group);
          group = find(group_of[f]);
        }
      }
    }
    const auto fill = [&](const TensorFactors& tensor, std::vector<int>& groups) {
      for (const DimFactors& dim : tensor) {
        const FactorId f = MajorFactor(dim, sizes_);
        groups.push_back(f < 0 ? -1 : find(group_of[f]));
      }
    };
    fill(source()[view.source], view.source_group);
    fill(target()[view.target], view.target_group);
    view.groups = static_cast<int>(parent.size());
    return view;
  }

  void SuggestThroughGroups() {
    const View view = MakeView();
    std::vector<std::vector<int>> from(view.groups);
    std::vector<int> targets(view.groups, 0);
    for (size_t d = 0; d < view.source_group.size(); ++d) {
      if (view.source_group[d] >= 0) {
        from[view.source_group[d]].push_back(static_cast<int>(d));
      } else {
        Suggest(view.source, static_cast<int>(d));  // only to note what is lost
      }
    }
    for (int group : view.target_group) {
      if (group >= 0) ++targets[group];
    }
    for (int g = 0; g < view.groups; ++g) {
      if (from[g].size() == 1 && targets[g] == 1) {
        Suggest(view.source, from[g][0]);
      } else if (!from[g].empty()) {
        SuggestRun(view.source, from[g]);
      }
    }
  }

  // The run of split dimensions from the leftmost one moves to the leftmost, as far as that can be divided.
  void SuggestRun(int tensor, const std::vector<int>& dims) {
    size_t run = 0;
    AxisSet axes = 0;
    const FactorId f = MajorFactor(source()[tensor][dims[0]], sizes_);
    while (run < dims.size() && AxesOf(given()[tensor], dims[run]) != 0) axes |= AxesOf(given()[tensor], dims[run++]);
    while (run > 0 && !(splittable_[f] && Divides(axes, f))) axes &= ~AxesOf(given()[tensor], dims[--run]);
    if (axes != 0) suggestions_.push_back({f, axes, tensor, dims[0]});
    for (size_t i = run; i < dims.size(); ++i) {
      const Suggestion lost{f, AxesOf(given()[tensor], dims[i]), tensor, dims[i]};
      if (lost.axes == 0) continue;
      answer_.conflicts.push_back(StrCat(Side(lost),
                                         ": merged or split dimensions keep only axes of the leftmost one, and "
                                         "only where they divide it"));
    }
  }

  // Merging -------------------------------------------------------------------------------------------------------

  void MergeClasses() {
    const std::vector<FactorClass> classes = ClassifyFactors(instance_);
    AxisSet taken = 0;
    for (FactorClass c : {FactorClass::kBatch, FactorClass::kFree, FactorClass::kReduced}) {
      std::vector<FactorId> letters;
      for (const Suggestion& s : suggestions_) {
        if (classes[s.factor] != c || std::find(letters.begin(), letters.end(), s.factor) != letters.end()) continue;
        letters.push_back(s.factor);
      }
      for (FactorId f : letters) MergeLetter(f, taken);
      ShareAxes(letters, instance_.contraction && c == FactorClass::kFree);
      for (FactorId f : letters) taken |= assigned_[f];
    }
  }

  // The union of what is suggested for one letter; the last axis goes while the size is not divisible.
  void MergeLetter(FactorId f, AxisSet taken) {
    std::vector<Suggestion> distinct;
    for (Suggestion s : suggestions_) {
      if (s.factor != f) continue;
      if ((s.axes & taken) != 0) {
        answer_.conflicts.push_back(
            StrCat(Side(s), ": ", AxisNames(s.axes & taken), " is taken by a ", "letter of an earlier class"));
      }
      s.axes &= ~taken;
      auto same = [&](const Suggestion& other) { return other.axes == s.axes; };
      if (s.axes != 0 && std::none_of(distinct.begin(), distinct.end(), same)) distinct.push_back(s);
    }
    std::stable_sort(distinct.begin(), distinct.end(), [&](const Suggestion& a, const Suggestion& b) {
      const int count_a = std::popcount(a.axes), count_b = std::popcount(b.axes);
      return count_a != count_b ? count_a > count_b : Ranks(a.axes) > Ranks(b.axes);
    });
    std::vector<int> order;
    AxisSet all = 0;
    for (const Suggestion& s : distinct) {
      for (int a = 0; a < mesh_.num_axes(); ++a) {
        if ((s.axes >> a & 1) == 0 || (all >> a & 1) != 0) continue;
        order.push_back(a);
        all |= AxisSet{1} << a;
      }
    }
    while (!order.empty() && !Divides(all, f)) {
      const AxisSet last = AxisSet{1} << order.back();
      answer_.conflicts.push_back(StrCat("factor ", map_.factors[f].name, " of size ", map_.factors[f].size,
                                         " is not divisible over ", AxisNames(all), ": ", AxisNames(last),
                                         " is dropped"));
      all &= ~last;
      order.pop_back();
    }
    assigned_[f] = all;
  }

  // The first suggestion of a letter that holds an axis.
  size_t FirstMet(FactorId f, int axis) const {
    for (size_t i = 0; i < suggestions_.size(); ++i) {
      if (suggestions_[i].factor == f && (suggestions_[i].axes >> axis & 1) != 0) return i;
    }
    return suggestions_.size();
  }

  // One axis on several letters of a class: one keeps it.
  void ShareAxes(const std::vector<FactorId>& letters, bool larger_keeps) {
    for (int a = 0; a < mesh_.num_axes(); ++a) {
      const AxisSet axis = AxisSet{1} << a;
      FactorId keeper = -1;
      for (FactorId f : letters) {
        if ((assigned_[f] & axis) == 0) continue;
        if (keeper < 0) {
          keeper = f;
          continue;
        }
        const bool earlier = FirstMet(f, a) < FirstMet(keeper, a);
        const bool wins = larger_keeps && sizes_[f] != sizes_[keeper] ? sizes_[f] > sizes_[keeper] : earlier;
        const FactorId loser = wins ? keeper : f;
        keeper = wins ? f : keeper;
        assigned_[loser] &= ~axis;
        answer_.conflicts.push_back(StrCat(Side(suggestions_[FirstMet(keeper, a)]), " and ",
                                           Side(suggestions_[FirstMet(loser, a)]), ": factor ",
                                           map_.factors[keeper].name, " keeps ", mesh_.axes[a].name, ", ",
                                           larger_keeps ? "the larger one" : "met first"));
      }
    }
  }

  // Layouts from factors ------------------------------------------------------------------------------------------

  NdSbp FromFactors(const TensorFactors& dims) const {
    NdSbp layout(mesh_.num_axes());
    for (size_t d = 0; d < dims.size(); ++d) {
      const FactorId f = MajorFactor(dims[d], sizes_);
      for (int a = 0; a < mesh_.num_axes() && f >= 0; ++a) {
        if ((assigned_[f] >> a & 1) != 0) layout[a] = Sbp::Split(static_cast<int>(d));
      }
    }
    return layout;
  }

  static bool Carries(const TensorFactors& dims, FactorId f) {
    return std::any_of(dims.begin(), dims.end(),
                       [f](const DimFactors& dim) { return std::find(dim.begin(), dim.end(), f) != dim.end(); });
  }

  void ReadBack() {
    for (const TensorFactors& dims : map_.operands) answer_.inputs.push_back(FromFactors(dims));
    for (const TensorFactors& dims : map_.results) answer_.outputs.push_back(FromFactors(dims));
    for (AxisSet axes : assigned_) used_ |= axes;
    if (request_.backward) {
      KeepPartials(outputs_, answer_.outputs, instance_.result_names);
    } else {
      ReduceResults();
      for (int a = 0; a < mesh_.num_axes(); ++a) {
        if ((used_ >> a & 1) == 0) PassPartials(a);
      }
      for (int operand : map_.unused) KeepUnused(operand);
      NoteResolved();
    }
    for (size_t i = 0; i < inputs_.size(); ++i) answer_.input_changed.push_back(answer_.inputs[i] != inputs_[i]);
    for (size_t r = 0; r < outputs_.size(); ++r) answer_.output_changed.push_back(answer_.outputs[r] != outputs_[r]);
  }

  // Results that lack a letter are partial on its axes, and so are what is added to them.
  void ReduceResults() {
    for (FactorId f = 0; f < static_cast<FactorId>(assigned_.size()); ++f) {
      for (int a = 0; a < mesh_.num_axes(); ++a) {
        if ((assigned_[f] >> a & 1) != 0) ReduceResults(f, a);
      }
    }
  }

  void ReduceResults(FactorId f, int axis) {
    bool sums = false;
    for (size_t r = 0; r < map_.results.size(); ++r) {
      if (!IsUsed(instance_.results[r]) || Carries(map_.results[r], f)) continue;
      const ReduceOutcome outcome = OutcomeOf(map_, f, static_cast<int>(r));
      if (outcome.answer != ReduceAnswer::kPartial) continue;
      answer_.outputs[r][axis] = Sbp::Partial(outcome.kind);
      sums |= outcome.kind == ReduceKind::kSum;
    }
    for (int addend : map_.addends) {
      if (sums && !Carries(map_.operands[addend], f)) answer_.inputs[addend][axis] = Sbp::Partial();
    }
  }

  static bool HoldsOtherKind(const NdSbp& layout, ReduceKind kind) {
    return std::any_of(layout.begin(), layout.end(),
                       [kind](Sbp sbp) { return sbp.is_partial() && sbp.reduce_kind() != kind; });
  }

  // Ops that only move elements are linear and monotone in the same operands: they hand on any kind but a product.
  bool Passes(const PartialClause& partial, ReduceKind kind) const {
    if (partial.kind != PartialClause::Kind::kLinear) return false;
    if (kind == ReduceKind::kSum) return true;
    if (kind == ReduceKind::kProd) return false;
    return std::any_of(map_.partials.begin(), map_.partials.end(), [&](const PartialClause& other) {
      return other.kind == PartialClause::Kind::kMonotone && other.operands == partial.operands &&
             other.results == partial.results;
    });
  }

  // On an axis that no letter uses: the first linear alternative whose operands are all partial alike passes it on.
  void PassPartials(int axis) {
    for (const PartialClause& partial : map_.partials) {
      const Sbp sbp = inputs_[partial.operands[0]][axis];
      if (!sbp.is_partial() || !Passes(partial, sbp.reduce_kind())) continue;
      const ReduceKind kind = sbp.reduce_kind();
      auto alike = [&](int o) { return inputs_[o][axis] == sbp && !HoldsOtherKind(answer_.inputs[o], kind); };
      if (!std::all_of(partial.operands.begin(), partial.operands.end(), alike)) continue;
      std::vector<int> results = partial.results;
      for (size_t r = 0; partial.results.empty() && r < map_.results.size(); ++r) {
        if (IsUsed(instance_.results[r])) results.push_back(static_cast<int>(r));
      }
      auto mixes = [&](int r) { return HoldsOtherKind(answer_.outputs[r], kind); };
      if (std::any_of(results.begin(), results.end(), mixes)) continue;
      for (int o : partial.operands) answer_.inputs[o][axis] = sbp;
      for (int r : results) answer_.outputs[r][axis] = sbp;
      return;
    }
  }

  void KeepUnused(int operand) {
    for (int a = 0; a < mesh_.num_axes(); ++a) {
      if (inputs_[operand][a].is_partial() && answer_.inputs[operand][a].is_broadcast()) {
        answer_.inputs[operand][a] = inputs_[operand][a];
      }
    }
  }

  void NoteResolved() {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      for (int a = 0; a < mesh_.num_axes(); ++a) {
        if (!inputs_[i][a].is_partial() || answer_.inputs[i][a] == inputs_[i][a]) continue;
        answer_.conflicts.push_back(StrCat(
            instance_.operand_names[i], " is ", ToString(inputs_[i][a]), " over ", mesh_.axes[a].name,
            ": resolved first, ", (used_ >> a & 1) != 0 ? "a letter takes the axis" : "the op is not linear in it"));
      }
    }
  }

  void KeepPartials(const std::vector<NdSbp>& before, std::vector<NdSbp>& after,
                    const std::vector<std::string>& names) {
    for (size_t i = 0; i < before.size(); ++i) {
      for (int a = 0; a < mesh_.num_axes(); ++a) {
        if (!before[i][a].is_partial()) continue;
        if ((used_ >> a & 1) == 0) {
          after[i][a] = before[i][a];
        } else {
          answer_.conflicts.push_back(StrCat(names[i], " is ", ToString(before[i][a]), " over ", mesh_.axes[a].name,
                                             ": a letter takes the axis"));
        }
      }
    }
  }

  const InferRequest& request_;
  const RuleInstance& instance_;
  const FactorMap& map_;
  const Mesh& mesh_;
  std::vector<int64_t> sizes_;           // per factor
  std::vector<bool> splittable_;         // per factor
  std::vector<NdSbp> inputs_, outputs_;  // as asked, absent ones all B
  std::vector<Suggestion> suggestions_;
  std::vector<AxisSet> assigned_;  // per factor
  AxisSet used_ = 0;               // by any letter
  InferAnswer answer_;
};

}  // namespace

InferAnswer InferLayouts(const InferRequest& request) { return Inferrer(request).Run(); }

std::vector<FactorClass> ClassifyFactors(const RuleInstance& instance) {
  const FactorMap& map = instance.map;
  std::vector<FactorClass> classes(map.factors.size(), FactorClass::kFree);
  if (!instance.contraction) return classes;
  const auto carries = [](const TensorFactors& dims, FactorId f) {
    return std::any_of(dims.begin(), dims.end(),
                       [f](const DimFactors& dim) { return std::find(dim.begin(), dim.end(), f) != dim.end(); });
  };
  for (FactorId f = 0; f < static_cast<FactorId>(classes.size()); ++f) {
    const bool in_result =
        std::any_of(map.results.begin(), map.results.end(), [&](const auto& t) { return carries(t, f); });
    bool in_all = true;
    for (const PartialClause& partial : map.partials) {
      // One operand of each alternative is the factor of the product; an addend joins several.
      in_all &= std::any_of(partial.operands.begin(), partial.operands.end(), [&](int o) {
        return std::find(map.addends.begin(), map.addends.end(), o) == map.addends.end() && carries(map.operands[o], f);
      });
    }
    if (!in_result) {
      classes[f] = FactorClass::kReduced;
    } else if (map.factors[f].from_ellipsis || in_all) {
      classes[f] = FactorClass::kBatch;
    }
  }
  return classes;
}

}  // namespace sbp
