// Recipes: the known ways to spread a training step (data, ZeRO, tensor, sequence, expert, context parallelism), each a
// file of pins over roles. rules/recipes/*.recipe are compiled in; users write their own.
//
// A file has a line a role, `ROLE LAYOUT`, and `doc "..."`; '#' begins a comment. A recipe is of one mesh axis. What it
// does not name is not pinned, but for roles that another axis' recipe names: they lie whole over this one.
//   batch         inputs that are no state, a rate or a counter
//   parameters    what the step updates; of a graph without updates, its weights (grad/trainable.h)
//   masters       parameters that both passes only read cast to a narrower type; as parameters, where it is not named
//   used          how both passes read them, behind casts
//   refetched     what the backward pass reads anew of them, before it is gathered for use; over axes whose recipe does
//                 not name it, as the parameter lies
//   states        of optimizers
//   reduced       gradients of one pass as they are written; over axes whose recipe does not name it, as the parameter
//   widened       gradients behind the cast to their parameter's type, as the cast writes them: P(sum) has them reduced
//   in
//                 that type; else they are reduced in the one that is computed in. Over axes that split the batch
//   gradients     as the update reads them
//   accumulators  sums of gradients over micro-batches
//   residual      sums that one layer hands to the next: an Add of two activations of equal type, rank 3 or more
// Layouts: B; S(N); P(sum), of accumulators; S(any), the largest dimension that the axis divides and no other axis
// splits, else the largest that is large enough; S(tensor), as roles.h finds it; S(expert), dimension 0 of stacked
// matrices; same, as the parameter lies. What a tensor's shape does not allow is B.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "graph/graph.h"
#include "rule/rule_set.h"
#include "sbp/mesh.h"

namespace sbp {

enum class RecipeRole : uint8_t {
  kBatch,
  kParameters,
  kMasters,
  kUsed,
  kRefetched,
  kStates,
  kReduced,
  kWidened,
  kGradients,
  kAccumulators,
  kResidual
};
enum class RecipeLayout : uint8_t { kWhole, kDim, kPartial, kAnyDim, kTensorDim, kExpertDim, kSame };

struct RecipeLine {
  RecipeRole role = RecipeRole::kBatch;
  RecipeLayout layout = RecipeLayout::kWhole;
  int dim = 0;  // kDim
};
struct Recipe {
  std::string name, doc;
  std::vector<RecipeLine> lines;
};

// Errors (kBadInput) say file:line:col, what was expected, and the nearest known word.
Result<Recipe> ParseRecipe(std::string_view text, std::string_view file);

struct BuiltinRecipeFile {
  std::string_view name;  // "zero3.recipe"
  std::string_view text;
};
std::span<const BuiltinRecipeFile> BuiltinRecipeFiles();  // sorted by name
std::vector<std::string> RecipeNames();                   // of the built-in ones
Result<Recipe> BuiltinRecipe(std::string_view name);      // error: there is none of that name

std::string_view RoleNameOf(RecipeRole role);      // "batch"
std::string LayoutTextOf(const RecipeLine& line);  // "S(any)"

// The value of --recipe: "zero3", for every axis, or "data=zero3,model=tp", each a built-in recipe or a file; axes that
// are not named split nothing. One entry per mesh axis. Errors: an unknown axis, recipe or file, with the nearest.
Result<std::vector<Recipe>> ReadRecipes(std::string_view flag, const Mesh& mesh);

// What the field combines over meshes of one to four axes of more than one rank. Of one and two: the built-in recipes,
// each over all axes, and data parallelism of some form over the outer one with tensor, sequence, expert, context or
// ZeRO-3 over the inner one. Of three and four, some twenty: data parallelism outermost, tensor or sequence innermost,
// and between them more data parallelism, context, expert or tensor. Each has one entry per mesh axis, as ReadRecipes.
// None for other meshes.
std::vector<std::vector<Recipe>> KnownRecipes(const Mesh& mesh);

inline constexpr std::string_view kFromRecipe = "--recipe";

struct RecipePinning {
  std::vector<std::pair<std::string, std::string>> pins;  // text, and where it is from: kFromRecipe
  // For people, a line per mesh axis: "zero1 over data: batch S(0) of 2 tensors, parameters B of 145, ..."; what could
  // not be split, and roles that the graph has not.
  std::vector<std::string> notes;
};
// What the recipes (one per mesh axis) stand for in this graph (resolved).
Result<RecipePinning> RecipePins(const std::vector<Recipe>& recipes, const Graph& graph, const Mesh& mesh,
                                 const RuleSet& rules);

}  // namespace sbp
