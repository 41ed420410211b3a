#include "parallelism/fold.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "boxing/boxing.h"
#include "graph/graph.h"
#include "graph/kept.h"
#include "graph/tensor_type.h"
#include "naming/module_names.h"
#include "naming/own_name.h"
#include "parallelism/activations.h"
#include "parallelism/parameter_uses.h"
#include "plan/ends.h"
#include "plan/patterns.h"
#include "plan/plan.h"
#include "recipe/recipe.h"
#include "recipe/roles.h"
#include "rule/rule_set.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

Result<RuleSet> RulesOf(const Plan& plan) {
  SBP_ASSIGN_OR_RETURN(RuleSet rules, RuleSet::Builtin());
  for (const auto& [name, text] : plan.options.rule_files) SBP_RETURN_IF_ERROR(rules.Add(text, name));
  return rules;
}

// Are all pins of a recipe among the plan's?
Result<bool> HasPinsOf(const std::string& recipe, const Plan& plan, const RuleSet& rules) {
  SBP_ASSIGN_OR_RETURN(const std::vector<Recipe> recipes, ReadRecipes(recipe, plan.mesh));
  SBP_ASSIGN_OR_RETURN(const RecipePinning made, RecipePins(recipes, plan.graph, plan.mesh, rules));
  const std::set<std::string> pins(plan.options.pins.begin(), plan.options.pins.end());
  return !made.pins.empty() &&
         std::ranges::all_of(made.pins, [&](const auto& pin) { return pins.contains(pin.first); });
}

class Folder {
 public:
  Folder(const Plan& plan, Fold& fold) : plan_(plan), fold_(fold), names_(plan.graph), patterns_(plan) {}

  Status Run(const RuleSet& rules) {
    fold_.trains = HasBackward(plan_.graph);
    fold_.micro_batches = plan_.graph.micro_batches;
    fold_.axes.assign(static_cast<size_t>(plan_.mesh.num_axes()), {});
    SBP_ASSIGN_OR_RETURN(roles_, FindRoles(plan_.graph, rules, 2));
    FindStyles();
    FindBatch();
    FindPartials();
    for (int axis = 0; axis < plan_.mesh.num_axes(); ++axis) FindUse(axis);
    for (int axis = 0; axis < plan_.mesh.num_axes(); ++axis) {
      const AxisUse use = fold_.axes[static_cast<size_t>(axis)].use;
      if (plan_.mesh.size(axis) == 1) continue;
      if (use == AxisUse::kTensor) {
        FindProducts(axis);
        SBP_RETURN_IF_ERROR(HoldToTensor(axis, rules));
      } else {
        FindStage(axis);
      }
    }
    FoldResiduals(plan_, roles_, fold_);
    FoldTransitions(plan_, fold_);
    FoldRecomputation(plan_, roles_, fold_);
    return OkStatus();
  }

 private:
  void Reject(size_t p, std::string reason) { fold_.unfolded.push_back({fold_.parameters[p].name, std::move(reason)}); }

  void FindStyles() {
    const UseTable uses = BuildUses(plan_.graph);
    for (const Roles::Parameter& parameter : roles_.parameters) {
      FoldedParameter& folded = fold_.parameters.emplace_back();
      folded.id = parameter.id;
      folded.rank = plan_.graph.tensor(parameter.id).type.rank();
      folded.name = names_.Label(plan_.graph, parameter.id);
      if (const ModuleName* name = names_.Find(parameter.id)) {
        folded.module = DottedPath(name->scope);
        folded.role = name->role;
        folded.is_part = !name->whole.empty();
      }
      const std::vector<ParameterRead> reads = ReadsOf(plan_.graph, uses, parameter.id);
      folded.looked_up = IsLookedUp(plan_.graph, reads);
      std::vector<StyleFound>& found = found_.emplace_back();
      for (int axis = 0; axis < plan_.mesh.num_axes(); ++axis) {
        found.push_back(StyleOf(plan_, parameter.id, reads, axis, parameter.expert_dim == 0));
        folded.styles.push_back(found.back().style);
      }
    }
  }

  void FindProducts(int axis) {
    const UseTable uses = BuildUses(plan_.graph);
    for (FoldedParameter& folded : fold_.parameters) {
      const std::vector<ParameterRead> reads = ReadsOf(plan_.graph, uses, folded.id);
      const bool column = folded.styles[static_cast<size_t>(axis)] == ParameterStyle::kColumn;
      folded.gathered = folded.gathered || (column && GathersProduct(plan_, uses, reads, axis));
      folded.along_sequence = folded.along_sequence || ReadsAlongSequence(plan_, reads, axis);
    }
  }

  // Of inputs that agree in it.
  void FindBatch() {
    std::set<int64_t> batches, sequences;
    for (const TensorId id : roles_.batch) {
      const TensorType& type = plan_.graph.tensor(id).type;
      if (type.rank() > 0) batches.insert(type.shape[0]);
      if (type.rank() > 1) sequences.insert(type.shape[1]);
    }
    if (batches.size() == 1) fold_.batch = *batches.begin();
    if (sequences.size() == 1) fold_.sequence = *sequences.begin();
  }

  // What starts partial has no word, and costs nothing to be whole instead. An output that ends so is the framework's.
  void FindPartials() {
    std::set<TensorId> states;  // and sums of gradients: the framework's own
    for (const Tie& tie : plan_.graph.ties) states.insert({tie.input, tie.output});
    std::vector<TensorId> starts;
    std::ranges::copy_if(plan_.graph.inputs, std::back_inserter(starts),
                         [&](TensorId id) { return !states.contains(id); });
    for (const FoldedParameter& parameter : fold_.parameters) starts.push_back(parameter.id);
    for (const TensorId id : starts) {
      const NdSbp& lies = plan_.source_layouts[id.index()];
      if (!lies.has_partial()) continue;
      double saved = 0;
      for (const Transition& transition : plan_.transitions) {
        if (transition.tensor != id) continue;
        for (const BoxingStep& step : transition.steps)
          saved += step.from[step.axis].is_partial() && lies[step.axis].is_partial() ? step.seconds : 0;
      }
      fold_.unfolded.push_back({plan_.graph.tensor(id).name,
                                StrCat("starts ", ToString(lies), ", to be reduced, where frameworks hold and feed ",
                                       "tensors whole or split: whole it takes 0 B more on a device, and ",
                                       FormatSeconds(saved), " less of sending")});
    }
    const std::vector<NdSbp> ends = OutputLayoutsOf(plan_);
    for (size_t i = 0; i < ends.size(); ++i) {
      if (ends[i].has_partial() && !states.contains(plan_.graph.outputs[i]))
        fold_.derived.push_back({plan_.graph.tensor(plan_.graph.outputs[i]).name, StrCat("ends ", ToString(ends[i]))});
    }
  }

  // How the inputs lie over an axis tells what it is for, and where they are whole what parameters do.
  void FindUse(int axis) {
    if (plan_.mesh.size(axis) == 1) return;
    std::map<AxisUse, std::vector<TensorId>> inputs;
    for (const TensorId id : roles_.batch) {
      const Tensor& tensor = plan_.graph.tensor(id);
      const Sbp lies = plan_.source_layouts[id.index()][axis];
      if (lies.is_broadcast() && tensor.type.shape[0] < plan_.mesh.size(axis)) continue;  // it cannot be split
      const AxisUse use = lies.is_split(0) ? AxisUse::kData : lies.is_split(1) ? AxisUse::kContext : AxisUse::kIdle;
      inputs[use].push_back(id);
    }
    AxisUse& use = fold_.axes[static_cast<size_t>(axis)].use;
    size_t most = 0;
    for (const auto& [candidate, ids] : inputs) {
      if (ids.size() > most) use = candidate, most = ids.size();
    }
    for (const auto& [candidate, ids] : inputs) {
      for (const TensorId id : ids) {
        if (candidate == use) continue;
        fold_.unfolded.push_back(
            {plan_.graph.tensor(id).name, StrCat("starts ", ToString(plan_.source_layouts[id.index()][axis]), " over ",
                                                 plan_.mesh.axes[axis].name, ", other than most inputs")});
      }
    }
    const auto any = [&](auto&& is) {
      return std::ranges::any_of(fold_.parameters, [&](const FoldedParameter& p) { return is(p.styles[axis]); });
    };
    const bool experts = any([](ParameterStyle style) { return style == ParameterStyle::kExpert; });
    const bool splits = any([](ParameterStyle style) { return style != ParameterStyle::kWhole; });
    if (use == AxisUse::kIdle && ComputesBatches(axis)) use = AxisUse::kData;
    if (use == AxisUse::kData && experts) use = AxisUse::kExpert;
    if (use == AxisUse::kIdle && splits) use = AxisUse::kTensor;
  }

  // Inputs that lie whole may be cut at once. Of elements of matrices, are more read whole, by ops of the forward pass
  // whose results are split along the batch, than otherwise?
  bool ComputesBatches(int axis) const {
    const UseTable uses = BuildUses(plan_.graph);
    double batches = 0, others = 0;
    for (size_t p = 0; p < fold_.parameters.size(); ++p) {
      if (fold_.parameters[p].rank < 2) continue;
      const auto count = static_cast<double>(plan_.graph.tensor(fold_.parameters[p].id).type.num_elements());
      for (const ParameterRead& read : ReadsOf(plan_.graph, uses, fold_.parameters[p].id)) {
        if (read.backward) continue;
        const TensorId result = plan_.graph.op(read.use.op).outputs[0];
        const bool in_batch = result.valid() && plan_.source_layouts[result.index()][axis].is_split(0);
        (in_batch && found_[p][static_cast<size_t>(axis)].style == ParameterStyle::kWhole ? batches : others) += count;
      }
    }
    return batches > others;
  }

  // Each parameter must lie as tensor parallelism has it: split where roles.h says so, states and all.
  Status HoldToTensor(int axis, const RuleSet& rules) {
    SBP_ASSIGN_OR_RETURN(const Roles roles, FindRoles(plan_.graph, rules, plan_.mesh.size(axis)));
    const std::string& over = plan_.mesh.axes[axis].name;
    for (size_t p = 0; p < fold_.parameters.size(); ++p) {
      const StyleFound& found = found_[p][axis];
      const Sbp stored = plan_.source_layouts[fold_.parameters[p].id.index()][axis];
      const int wanted = roles.parameters[p].tensor_dim;
      if (found.style == ParameterStyle::kOther) {
        Reject(p, found.reason);
      } else if (found.style == ParameterStyle::kExpert) {
        continue;  // experts over the ranks of a tensor axis
      } else if (found.gathered) {
        Reject(p, StrCat("is split over ", over, " and gathered before use, while the batch is whole over it"));
      } else if (stored.is_split() && wanted < 0) {
        Reject(p, StrCat("is split along dimension ", stored.dim(), " over ", over,
                         ", where tensor parallelism has it whole"));
      } else if (!stored.is_split() && wanted >= 0) {
        fold_.whole.push_back(
            {fold_.parameters[p].name,
             StrCat("lies whole over ", over, ", where tensor parallelism splits its dimension ", wanted)});
      } else if (stored.is_split() && stored.dim() != wanted) {
        Reject(p, StrCat("is split along dimension ", stored.dim(), " over ", over, " (",
                         ParameterStyleName(found.style), "), where tensor parallelism splits dimension ", wanted));
      }
      if (!stored.is_split() && StatesAreSplit(p, axis)) {
        Reject(p, StrCat("has states that are split over ", over, ", where it lies whole itself"));
      }
    }
    return OkStatus();
  }

  bool StatesAreSplit(size_t p, int axis) const {
    return std::ranges::any_of(roles_.parameters[p].states,
                               [&](TensorId id) { return plan_.source_layouts[id.index()][axis].is_split(); });
  }

  // ZeRO's stage of one parameter; -1: none, and it is listed why.
  int StageOf(size_t p, int axis) {
    const StyleFound& found = found_[p][axis];
    const std::string& over = plan_.mesh.axes[axis].name;
    const bool experts = fold_.axes[static_cast<size_t>(axis)].use == AxisUse::kExpert;
    if (found.style == ParameterStyle::kExpert && experts) return -1;
    if (found.style != ParameterStyle::kWhole) {
      Reject(p, found.style == ParameterStyle::kOther
                    ? found.reason
                    : StrCat("is split over ", over, " and used so (", ParameterStyleName(found.style),
                             "), which splits the inputs, too"));
      return -1;
    }
    if (found.gathered) return 3;
    for (const AxisPattern& pattern : patterns_.Of(fold_.parameters[p].id)) {
      if (pattern.axis != axis) continue;
      if (pattern.pattern == SpreadPattern::kZero1) return 1;
      if (pattern.pattern == SpreadPattern::kZero2) return 2;
      if (pattern.pattern == SpreadPattern::kZero3) return 3;
      if (pattern.pattern == SpreadPattern::kReplicated &&
          fold_.axes[static_cast<size_t>(axis)].use != AxisUse::kIdle) {
        // Its gradient is whole in the end, which is stage 0: how it becomes so is the backward pass's affair.
        fold_.derived.push_back(
            {fold_.parameters[p].name, StrCat("has a gradient that each device of ", over, " computes whole")});
        return 0;
      }
    }
    return 0;
  }

  // As its pattern counts masters, of a parameter of stage 3.
  int StageOfCopies(size_t p, int axis) const {
    for (const AxisPattern& pattern : patterns_.Of(fold_.parameters[p].id)) {
      if (pattern.axis != axis) continue;
      if (pattern.pattern == SpreadPattern::kZero1) return 1;
      if (pattern.pattern == SpreadPattern::kZero2) return 2;
    }
    return 3;
  }

  // The stage of most elements; parameters of another one are listed.
  void FindStage(int axis) {
    std::vector<int> stages;
    std::map<int, double> elements;
    int64_t regathered = 0, gathered = 0;
    std::map<int, double> of_copies;  // of parameters of stage 3
    for (size_t p = 0; p < fold_.parameters.size(); ++p) {
      stages.push_back(StageOf(p, axis));
      if (stages.back() < 0) continue;
      double count = 1;
      for (const int64_t size : plan_.graph.tensor(fold_.parameters[p].id).type.shape)
        count *= static_cast<double>(size);
      elements[stages.back()] += count;
      gathered += stages.back() == 3 && fold_.parameters[p].rank > 1 ? 1 : 0;
      regathered += stages.back() == 3 && IsRegathered(p, axis) ? 1 : 0;
      if (stages.back() == 3) of_copies[StageOfCopies(p, axis)] += count;
    }
    FoldedAxis& folded = fold_.axes[static_cast<size_t>(axis)];
    double most = 0;
    for (const auto& [stage, count] : elements) {
      if (count > most) folded.zero = stage, most = count;
    }
    folded.regathers = regathered > 0 && 2 * regathered >= gathered;
    folded.zero_of_copies = folded.zero;
    if (folded.zero == 3)
      folded.zero_of_copies =
          std::ranges::max_element(of_copies, {}, [](const auto& entry) { return entry.second; })->first;
    for (size_t p = 0; p < stages.size(); ++p) {
      if (stages[p] < 0 || stages[p] == folded.zero) continue;
      if (stages[p] == 0 && IsTooSmall(p, axis)) {
        fold_.whole.push_back({fold_.parameters[p].name, StrCat("lies whole over ", plan_.mesh.axes[axis].name,
                                                                ", of which it has no dimension as long")});
        continue;
      }
      Reject(p, StrCat("follows ZeRO's stage ", stages[p], " over ", plan_.mesh.axes[axis].name, ", most parameters ",
                       folded.zero));
    }
    if (folded.use == AxisUse::kIdle && folded.zero > 0) {
      fold_.unfolded.push_back({plan_.mesh.axes[axis].name, "parameters are split over it, and no input is"});
    }
  }

  // No dimension gives each rank an element: frameworks split it as others, some ranks hold nothing.
  bool IsTooSmall(size_t p, int axis) const {
    return std::ranges::all_of(plan_.graph.tensor(fold_.parameters[p].id).type.shape,
                               [&](int64_t size) { return size < plan_.mesh.size(axis); });
  }

  bool IsRegathered(size_t p, int axis) const {
    return std::ranges::any_of(roles_.parameters[p].refetched,
                               [&](TensorId id) { return plan_.source_layouts[id.index()][axis].is_split(); });
  }

  const Plan& plan_;
  Fold& fold_;
  ModuleNames names_;
  PatternReader patterns_;
  Roles roles_;
  std::vector<std::vector<StyleFound>> found_;  // by parameter, then axis
};

}  // namespace

Result<Fold> FoldPlan(const Plan& plan) {
  Fold fold;
  SBP_ASSIGN_OR_RETURN(const RuleSet rules, RulesOf(plan));
  SBP_RETURN_IF_ERROR(Folder(plan, fold).Run(rules));
  SBP_ASSIGN_OR_RETURN(fold.follows_nearest, HasPinsOf(NearestRecipe(fold, plan.mesh), plan, rules));
  return fold;
}

}  // namespace sbp
