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

// Of three axes and more: the outermost, those between, the innermost. Those that most large models are trained by are
// first, as of large graphs a few are tried only.
struct Nested {
  std::string_view outer, middle, inner;
};
constexpr Nested kNested[] = {
    {"zero1", "zero1", "tp"}, {"dp", "dp", "tp"},          {"zero3", "zero3", "tp"}, {"zero1", "zero1", "sp"},
    {"zero3", "zero3", "sp"}, {"zero1", "cp", "tp"},       {"zero3", "cp", "tp"},    {"zero1", "ep", "tp"},
    {"zero3", "ep", "tp"},    {"dp", "zero3", "tp"},       {"zero1", "tp", "tp"},    {"zero3", "tp", "tp"},
    {"zero1", "zero1", "cp"}, {"zero3", "zero3", "cp"},    {"zero1", "zero1", "ep"}, {"zero3", "zero3", "ep"},
    {"dp", "dp", "dp"},       {"zero1", "zero1", "zero1"}, {"dp", "zero3", "zero3"}, {"zero3", "zero3", "zero3"},
    {"tp", "tp", "tp"},       {"sp", "sp", "sp"},
};
constexpr size_t kMostAxes = 4;

}  // namespace

std::vector<std::vector<Recipe>> KnownRecipes(const Mesh& mesh) {
  std::vector<int> axes;
  for (int axis = 0; axis < mesh.num_axes(); ++axis) {
    if (mesh.size(axis) > 1) axes.push_back(axis);
  }
  std::vector<std::vector<Recipe>> known;
  const auto add = [&](std::string_view outer, std::string_view middle, std::string_view inner) {
    std::vector<Recipe> recipes(mesh.num_axes());
    for (const int axis : axes) {
      Result<Recipe> recipe = BuiltinRecipe(axis == axes.front() ? outer : axis == axes.back() ? inner : middle);
      if (!recipe.ok()) return;
      recipes[axis] = *std::move(recipe);
    }
    known.push_back(std::move(recipes));
  };
  if (axes.empty() || axes.size() > kMostAxes) return known;
  if (axes.size() > 2) {
    for (const Nested& row : kNested) add(row.outer, row.middle, row.inner);
    return known;
  }
  for (const std::string_view name : kOneAxis) add(name, name, name);
  if (axes.size() == 1) return known;
  for (const std::string_view outer : kOuter) {
    for (const std::string_view inner : kInner) {
      if (outer != inner) add(outer, inner, inner);  // else it is there
    }
  }
  return known;
}

}  // namespace sbp
