// From recipes and roles to pins as text.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "recipe/recipe.h"
#include "recipe/roles.h"
#include "rule/rule_set.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

const RecipeLine* LineOf(const Recipe& recipe, RecipeRole role) {
  const auto found = std::ranges::find(recipe.lines, role, &RecipeLine::role);
  return found == recipe.lines.end() ? nullptr : &*found;
}

class PinMaker {
 public:
  PinMaker(const std::vector<Recipe>& recipes, const Graph& graph, const Mesh& mesh)
      : recipes_(recipes), graph_(graph), mesh_(mesh) {}

  void Add(const Roles& roles) {
    for (const TensorId id : roles.batch) Pin(id, Layout(id, RecipeRole::kBatch, nullptr, nullptr));
    for (const TensorId id : roles.residual) Pin(id, Layout(id, RecipeRole::kResidual, nullptr, nullptr));
    for (const Roles::Parameter& parameter : roles.parameters) AddParameter(parameter);
  }

  std::vector<std::pair<std::string, std::string>> Take() { return std::move(pins_); }

 private:
  void AddParameter(const Roles::Parameter& parameter) {
    const std::optional<NdSbp> lies = Layout(parameter.id, RecipeRole::kParameters, &parameter, nullptr);
    Pin(parameter.id, lies);
    const NdSbp* own = lies ? &*lies : nullptr;
    for (const TensorId state : parameter.states) Pin(state, Layout(state, RecipeRole::kStates, &parameter, own));
    if (parameter.accumulator.valid()) {
      Pin(parameter.accumulator, Layout(parameter.accumulator, RecipeRole::kAccumulators, &parameter, own));
    } else if (parameter.gradient.valid()) {
      Pin(parameter.gradient, Layout(parameter.gradient, RecipeRole::kGradients, &parameter, own));
    }
    const std::optional<NdSbp> used = Layout(parameter.id, RecipeRole::kUsed, &parameter, own);
    if (!used) return;
    for (const Use& use : parameter.uses) {
      pins_.emplace_back(StrCat(graph_.op(use.op).name, ".", use.operand, "=", ToString(*used)), "--recipe");
    }
  }

  void Pin(TensorId id, const std::optional<NdSbp>& layout) {
    if (layout) pins_.emplace_back(StrCat(graph_.tensor(id).name, "=", ToString(*layout)), "--recipe");
  }

  // Nothing where no axis' recipe names the role.
  std::optional<NdSbp> Layout(TensorId id, RecipeRole role, const Roles::Parameter* parameter, const NdSbp* own) const {
    const TensorType& type = graph_.tensor(id).type;
    NdSbp layout(mesh_.num_axes());
    bool named = false;
    // Any dimension is one that no other axis wants: two splits of one are undone together, at twice the price.
    for (const bool any : {false, true}) {
      for (int axis = 0; axis < mesh_.num_axes(); ++axis) {
        const RecipeLine* line = LineOf(recipes_[axis], role);
        named = named || line != nullptr;
        // What hands layers on is split as the batch is, over axes whose recipe says nothing of it.
        if (line == nullptr && role == RecipeRole::kResidual) line = LineOf(recipes_[axis], RecipeRole::kBatch);
        if (line == nullptr || mesh_.size(axis) == 1 || (line->layout == RecipeLayout::kAnyDim) != any) continue;
        layout[axis] = On(axis, *line, type, parameter, own, layout);
      }
    }
    return named ? std::optional(layout) : std::nullopt;
  }

  Sbp On(int axis, const RecipeLine& line, const TensorType& type, const Roles::Parameter* parameter, const NdSbp* own,
         const NdSbp& so_far) const {
    switch (line.layout) {
      case RecipeLayout::kWhole:
        return Sbp::Broadcast();
      case RecipeLayout::kPartial:
        return Sbp::Partial(ReduceKind::kSum);
      case RecipeLayout::kDim:
        return SplitIfFits(axis, line.dim, type, so_far);
      case RecipeLayout::kAnyDim:
        return LargestSplit(axis, type, so_far);
      case RecipeLayout::kTensorDim:
        return SplitIfFits(axis, parameter == nullptr ? -1 : parameter->tensor_dim, type, so_far);
      case RecipeLayout::kExpertDim:
        return SplitIfFits(axis, parameter == nullptr ? -1 : parameter->expert_dim, type, so_far);
      case RecipeLayout::kSame:
        if (own == nullptr || !(*own)[axis].is_split()) return Sbp::Broadcast();
        // A state may be of another shape: the row means of a factored moment.
        return parameter != nullptr && type.shape == graph_.tensor(parameter->id).type.shape
                   ? SplitIfFits(axis, (*own)[axis].dim(), type, so_far)
                   : Sbp::Broadcast();
    }
    return Sbp::Broadcast();
  }

  Sbp SplitIfFits(int axis, int dim, const TensorType& type, NdSbp layout) const {
    if (dim < 0 || dim >= type.rank()) return Sbp::Broadcast();
    layout[axis] = Sbp::Split(dim);
    return ValidateLayout(type.shape, layout, mesh_, false).ok() ? layout[axis] : Sbp::Broadcast();
  }

  Sbp LargestSplit(int axis, const TensorType& type, const NdSbp& so_far) const {
    const Shape local = LocalShape(type.shape, so_far, mesh_);
    const auto is_free = [&](int d) {
      return std::ranges::none_of(so_far, [&](Sbp sbp) { return sbp.is_split() && sbp.dim() == d; });
    };
    const auto rank_of = [&](int d) { return std::tuple(is_free(d), local[d] % mesh_.size(axis) == 0, local[d]); };
    int best = -1;
    for (int d = 0; d < type.rank(); ++d) {
      if (!SplitIfFits(axis, d, type, so_far).is_split()) continue;
      if (best < 0 || rank_of(d) > rank_of(best)) best = d;
    }
    return best < 0 ? Sbp::Broadcast() : Sbp::Split(best);
  }

  const std::vector<Recipe>& recipes_;
  const Graph& graph_;
  const Mesh& mesh_;
  std::vector<std::pair<std::string, std::string>> pins_;
};

}  // namespace

Result<std::vector<std::pair<std::string, std::string>>> RecipePins(const std::vector<Recipe>& recipes,
                                                                    const Graph& graph, const Mesh& mesh,
                                                                    const RuleSet& rules) {
  // Over which axis matrices are split decides what is large enough.
  int64_t ranks = 1;
  for (int axis = 0; axis < mesh.num_axes(); ++axis) {
    const bool splits = std::ranges::any_of(recipes[axis].lines, [](const RecipeLine& line) {
      return line.layout == RecipeLayout::kTensorDim || line.layout == RecipeLayout::kExpertDim;
    });
    if (splits) ranks *= mesh.size(axis);
  }
  SBP_ASSIGN_OR_RETURN(const Roles roles, FindRoles(graph, rules, ranks));
  PinMaker maker(recipes, graph, mesh);
  maker.Add(roles);
  return maker.Take();
}

}  // namespace sbp
