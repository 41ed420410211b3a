// Which recipes are used together.
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "recipe/recipe.h"
#include "sbp/mesh.h"

namespace sbp {
namespace {

// Cheapest first, as a rule: what is tried later has less left to find.
constexpr std::array<std::string_view, 8> kOneAxis = {"dp", "zero1", "zero2", "zero3", "tp", "sp", "ep", "cp"};
constexpr std::array<std::string_view, 4> kOuter = {"dp", "zero1", "zero2", "zero3"};
constexpr std::array<std::string_view, 5> kInner = {"tp", "sp", "ep", "cp", "zero3"};

}  // namespace

std::vector<std::vector<Recipe>> KnownRecipes(const Mesh& mesh) {
  std::vector<int> axes;
  for (int axis = 0; axis < mesh.num_axes(); ++axis) {
    if (mesh.size(axis) > 1) axes.push_back(axis);
  }
  std::vector<std::vector<Recipe>> known;
  const auto add = [&](std::string_view outer, std::string_view inner) {
    std::vector<Recipe> recipes(mesh.num_axes());
    for (const int axis : axes) {
      Result<Recipe> recipe = BuiltinRecipe(axis == axes.front() ? outer : inner);
      if (!recipe.ok()) return;
      recipes[axis] = *std::move(recipe);
    }
    known.push_back(std::move(recipes));
  };
  if (axes.empty() || axes.size() > 2) return known;
  for (const std::string_view name : kOneAxis) add(name, name);
  if (axes.size() == 1) return known;
  for (const std::string_view outer : kOuter) {
    for (const std::string_view inner : kInner) add(outer, inner);
  }
  return known;
}

}  // namespace sbp
