// From recipes and roles to pins as text.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/families.h"
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

constexpr RecipeLine kAsParameter{.role = RecipeRole::kRefetched, .layout = RecipeLayout::kSame};

const RecipeLine* LineOf(const Recipe& recipe, RecipeRole role) {
  const auto found = std::ranges::find(recipe.lines, role, &RecipeLine::role);
  if (found != recipe.lines.end()) return &*found;
  return role == RecipeRole::kMasters ? LineOf(recipe, RecipeRole::kParameters) : nullptr;
}

class PinMaker {
 public:
  PinMaker(const std::vector<Recipe>& recipes, const Graph& graph, const Mesh& mesh)
      : recipes_(recipes), graph_(graph), mesh_(mesh), placed_(recipes.size()) {}

  void Add(const Roles& roles) {
    for (const auto& [ids, role] :
         {std::pair(&roles.batch, RecipeRole::kBatch), {&roles.residual, RecipeRole::kResidual}}) {
      for (const TensorId id : *ids) Pin(id, role, Layout(id, role, nullptr, nullptr), nullptr);
    }
    for (const Roles::Parameter& parameter : roles.parameters) AddParameter(parameter);
  }

  RecipePinning Take() {
    RecipePinning made{.pins = std::move(pins_)};
    for (int axis = 0; axis < mesh_.num_axes(); ++axis) {
      if (mesh_.size(axis) > 1 && !recipes_[axis].lines.empty()) made.notes.push_back(NoteOn(axis));
    }
    return made;
  }

 private:
  // What one line of a recipe came to.
  struct Placed {
    int64_t tensors = 0, whole = 0;  // whole: of those that the line splits
    std::string first_whole;
  };

  std::string NoteOn(int axis) const {
    std::vector<std::string> parts, without;
    for (const RecipeLine& line : recipes_[axis].lines) {
      const auto found = placed_[axis].find(line.role);
      const std::string_view role = RoleNameOf(line.role);
      if (found == placed_[axis].end()) {
        // A step has gradients or, where it accumulates, their sums.
        const RecipeRole other = graph_.micro_batches > 1 ? RecipeRole::kGradients : RecipeRole::kAccumulators;
        const bool may_lack = line.role == RecipeRole::kWidened || line.role == RecipeRole::kMasters ||
                              (line.role == RecipeRole::kParameters && placed_[axis].contains(RecipeRole::kMasters));
        if (line.role != other && !may_lack) without.emplace_back(role);
        continue;
      }
      const Placed& placed = found->second;
      std::string part = StrCat(role, " ", LayoutTextOf(line), " of ", FormatCount(placed.tensors));
      if (parts.empty()) part += placed.tensors == 1 ? " tensor" : " tensors";
      if (placed.whole > 0) {
        part += StrCat(" (whole: ", FormatCount(placed.whole), placed.whole == 1 ? ", " : ", first ",
                       Quote(placed.first_whole), ")");
      }
      parts.push_back(std::move(part));
    }
    std::string note =
        StrCat("--recipe ", recipes_[axis].name, " over ", mesh_.axes[axis].name, ": ", Join(parts, ", "));
    if (!without.empty()) note += StrCat(parts.empty() ? "" : "; ", "the graph has no ", Join(without, ", "));
    return note;
  }

  // `own`: how the parameter lies.
  void Count(TensorId id, RecipeRole role, const NdSbp& layout, const NdSbp* own) {
    for (int axis = 0; axis < mesh_.num_axes(); ++axis) {
      const RecipeLine* line = LineOf(recipes_[axis], role);
      if (line == nullptr || mesh_.size(axis) == 1) continue;
      Placed& placed = placed_[axis][line->role];
      ++placed.tensors;
      const bool is_to_split = line->layout == RecipeLayout::kSame ? own != nullptr && (*own)[axis].is_split()
                                                                   : line->layout != RecipeLayout::kWhole;
      if (!is_to_split || !layout[axis].is_broadcast()) continue;
      if (++placed.whole == 1) placed.first_whole = graph_.tensor(id).name;
    }
  }

  void AddParameter(const Roles::Parameter& parameter) {
    const RecipeRole role = parameter.is_master ? RecipeRole::kMasters : RecipeRole::kParameters;
    const std::optional<NdSbp> lies = Layout(parameter.id, role, &parameter, nullptr);
    const NdSbp* own = lies ? &*lies : nullptr;
    Pin(parameter.id, role, lies, own);
    const auto pin = [&](TensorId id, RecipeRole role) { Pin(id, role, Layout(id, role, &parameter, own), own); };
    // The update reads states as they lie: to gather them for it, even hidden behind the forward pass, undoes the
    // split.
    for (const TensorId state : parameter.states) {
      Pin(state, RecipeRole::kStates, Layout(state, RecipeRole::kStates, &parameter, own), own, "==");
    }
    for (const TensorId id : parameter.refetched) PinWritten(id, RecipeRole::kRefetched, parameter, own);
    if (parameter.gradient.valid() && !PinWidened(parameter, own))
      PinWritten(parameter.gradient, RecipeRole::kReduced, parameter, own);
    if (parameter.accumulator.valid()) {
      pin(parameter.accumulator, RecipeRole::kAccumulators);
    } else if (parameter.gradient.valid()) {
      pin(parameter.gradient, RecipeRole::kGradients);
    }
    const std::optional<NdSbp> used = Layout(parameter.id, RecipeRole::kUsed, &parameter, own);
    if (!used || parameter.uses.empty()) return;
    Count(parameter.id, RecipeRole::kUsed, *used, own);
    for (const Use& use : parameter.uses) {
      pins_.emplace_back(StrCat(graph_.op(use.op).name, ".", use.operand, "=", ToString(*used)), kFromRecipe);
    }
    for (const TurnedUse& turned : parameter.turned) {
      NdSbp layout = *used;
      for (int axis = 0; axis < mesh_.num_axes(); ++axis) {
        if (!layout[axis].is_split()) continue;
        const auto dim = std::ranges::find(turned.order, layout[axis].dim()) - turned.order.begin();
        layout[axis] = Sbp::Split(static_cast<int>(dim));
      }
      const Use& use = turned.use;
      pins_.emplace_back(StrCat(graph_.op(use.op).name, ".", use.operand, "=", ToString(layout)), kFromRecipe);
    }
  }

  void PinWritten(TensorId id, RecipeRole role, const Roles::Parameter& parameter, const NdSbp* own) {
    const std::optional<NdSbp> layout = Layout(id, role, &parameter, own);
    if (!layout) return;
    // What makes a gradient writes partial sums, unless it is the cast behind that.
    pins_.emplace_back(StrCat(graph_.tensor(id).name, IsHandedOn(id) ? "<-" : "=", ToString(*layout)), kFromRecipe);
    Count(id, role, *layout, own);
  }

  bool IsHandedOn(TensorId id) const {
    const OpId producer = graph_.tensor(id).producer;
    return producer.valid() && HandsOn(graph_, graph_.op(producer));
  }

  // Behind a cast from a narrower type?
  bool IsWidened(TensorId id) const {
    if (!IsHandedOn(id)) return false;
    const TensorId operand = graph_.op(graph_.tensor(id).producer).inputs[0];
    return DTypeBits(graph_.tensor(operand).type.dtype) < DTypeBits(graph_.tensor(id).type.dtype);
  }

  bool SplitsBatch(int axis) const {
    const auto found = placed_[axis].find(RecipeRole::kBatch);
    return found != placed_[axis].end() && found->second.whole < found->second.tensors;
  }

  // A gradient whose cast leaves it partial for its readers to reduce. False: it has no cast, or no recipe says so.
  bool PinWidened(const Roles::Parameter& parameter, const NdSbp* own) {
    const std::optional<NdSbp> reduced = Layout(parameter.gradient, RecipeRole::kReduced, &parameter, own);
    if (!reduced || !IsWidened(parameter.gradient)) return false;
    NdSbp written = *reduced;
    bool named = false;
    for (int axis = 0; axis < mesh_.num_axes(); ++axis) {
      const RecipeLine* line = LineOf(recipes_[axis], RecipeRole::kWidened);
      if (line == nullptr || mesh_.size(axis) == 1 || !SplitsBatch(axis)) continue;
      written[axis] = On(axis, *line, graph_.tensor(parameter.gradient).type, &parameter, own, written);
      named = true;
    }
    if (!named) return false;
    pins_.emplace_back(StrCat(graph_.tensor(parameter.gradient).name, "<-", ToString(written)), kFromRecipe);
    Count(parameter.gradient, RecipeRole::kWidened, written, own);
    Pin(parameter.gradient, RecipeRole::kReduced, reduced, own);
    return true;
  }

  void Pin(TensorId id, RecipeRole role, const std::optional<NdSbp>& layout, const NdSbp* own,
           std::string_view pin_operator = "=") {
    if (!layout) return;
    pins_.emplace_back(StrCat(graph_.tensor(id).name, pin_operator, ToString(*layout)), kFromRecipe);
    Count(id, role, *layout, own);
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
        // What is read anew of a parameter, and its gradient, as it is.
        const bool follows = role == RecipeRole::kRefetched || role == RecipeRole::kReduced;
        // Copies of masters are whole where both passes use them so.
        const bool of_copies =
            role == RecipeRole::kRefetched && parameter != nullptr && parameter->is_master &&
            LineOf(recipes_[axis], RecipeRole::kMasters) != LineOf(recipes_[axis], RecipeRole::kParameters);
        if (line == nullptr && of_copies) line = LineOf(recipes_[axis], RecipeRole::kUsed);
        if (line == nullptr && follows) line = &kAsParameter;
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
  std::vector<std::map<RecipeRole, Placed>> placed_;  // per mesh axis
};

}  // namespace

Result<RecipePinning> RecipePins(const std::vector<Recipe>& recipes, const Graph& graph, const Mesh& mesh,
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
