#include "recipe/recipe.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "io/file.h"
#include "sbp/mesh.h"

namespace sbp {
namespace {

struct RoleName {
  std::string_view name;
  RecipeRole role;
};
constexpr std::array<RoleName, 11> kRoles = {{{"batch", RecipeRole::kBatch},
                                              {"parameters", RecipeRole::kParameters},
                                              {"masters", RecipeRole::kMasters},
                                              {"used", RecipeRole::kUsed},
                                              {"refetched", RecipeRole::kRefetched},
                                              {"states", RecipeRole::kStates},
                                              {"reduced", RecipeRole::kReduced},
                                              {"widened", RecipeRole::kWidened},
                                              {"gradients", RecipeRole::kGradients},
                                              {"accumulators", RecipeRole::kAccumulators},
                                              {"residual", RecipeRole::kResidual}}};

struct LayoutName {
  std::string_view name;
  RecipeLayout layout;
};
constexpr std::array<LayoutName, 6> kLayouts = {{{"B", RecipeLayout::kWhole},
                                                 {"P(sum)", RecipeLayout::kPartial},
                                                 {"S(any)", RecipeLayout::kAnyDim},
                                                 {"S(tensor)", RecipeLayout::kTensorDim},
                                                 {"S(expert)", RecipeLayout::kExpertDim},
                                                 {"same", RecipeLayout::kSame}}};

// Words of a line and their columns, from 1 on.
struct Word {
  std::string_view text;
  size_t column = 1;
};
std::vector<Word> WordsOf(std::string_view line) {
  std::vector<Word> words;
  for (size_t i = 0; i < line.size();) {
    if (line[i] == ' ' || line[i] == '\t' || line[i] == '\r') {
      ++i;
      continue;
    }
    if (line[i] == '#') break;
    const size_t begin = i;
    while (i < line.size() && line[i] != ' ' && line[i] != '\t' && line[i] != '\r' && line[i] != '#') ++i;
    words.push_back({line.substr(begin, i - begin), begin + 1});
  }
  return words;
}

class RecipeParser {
 public:
  RecipeParser(std::string_view file, Recipe& recipe) : file_(file), recipe_(recipe) {}

  Status Line(std::string_view line, int number) {
    number_ = number;
    const std::vector<Word> words = WordsOf(line);
    if (words.empty()) return OkStatus();
    if (words[0].text == "doc") return Doc(line, words[0]);
    SBP_ASSIGN_OR_RETURN(const RecipeRole role, Role(words[0]));
    if (words.size() != 2) {
      const size_t column = words.size() > 2 ? words[2].column : words[0].column + words[0].text.size();
      return At(column, StrCat("expected one layout behind ", Quote(words[0].text)));
    }
    for (const RecipeLine& known : recipe_.lines) {
      if (known.role == role) return At(words[0].column, StrCat(Quote(words[0].text), " has a line already"));
    }
    return Layout(role, words[1]);
  }

 private:
  Status At(size_t column, std::string_view what) const {
    return BadInput(StrCat(file_, ":", number_, ":", column, ": ", what));
  }

  Status Doc(std::string_view line, const Word& word) {
    const size_t open = line.find('"', word.column - 1), close = line.rfind('"');
    if (open == std::string_view::npos || close == open) return At(word.column, "expected doc \"...\"");
    recipe_.doc = line.substr(open + 1, close - open - 1);
    return OkStatus();
  }

  Result<RecipeRole> Role(const Word& word) const {
    std::vector<std::string> names;
    for (const RoleName& row : kRoles) {
      if (row.name == word.text) return row.role;
      names.emplace_back(row.name);
    }
    return At(word.column, StrCat("expected a role (", Join(names, ", "), "), found ", Quote(word.text),
                                  DidYouMean(word.text, names)));
  }

  Status Layout(RecipeRole role, const Word& word) {
    RecipeLine line{.role = role};
    std::vector<std::string> names;
    bool found = false;
    for (const LayoutName& row : kLayouts) {
      names.emplace_back(row.name);
      if (row.name != word.text) continue;
      line.layout = row.layout;
      found = true;
    }
    if (!found && word.text.starts_with("S(") && word.text.ends_with(")")) {
      const std::optional<int64_t> dim = ParseInt(word.text.substr(2, word.text.size() - 3));
      found = dim && *dim >= 0 && *dim < 16;
      line.layout = RecipeLayout::kDim;
      line.dim = found ? static_cast<int>(*dim) : 0;
    }
    if (!found) {
      return At(word.column, StrCat("expected a layout (", Join(names, ", "), ", S(N)), found ", Quote(word.text),
                                    DidYouMean(word.text, names)));
    }
    const bool sums = role == RecipeRole::kAccumulators || role == RecipeRole::kWidened;
    if (line.layout == RecipeLayout::kPartial && !sums) {
      return At(word.column, "only accumulators and what is widened may be P(sum)");
    }
    recipe_.lines.push_back(line);
    return OkStatus();
  }

  std::string_view file_;
  Recipe& recipe_;
  int number_ = 0;
};

std::string NameOfFile(std::string_view file) { return std::filesystem::path(file).stem().string(); }

// A built-in recipe by name, else a file.
Result<Recipe> FindRecipe(std::string_view name) {
  const std::string path(name);
  if (name.find('/') == std::string_view::npos && name.find('.') == std::string_view::npos) return BuiltinRecipe(name);
  SBP_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  return ParseRecipe(text, path);
}

}  // namespace

std::string_view RoleNameOf(RecipeRole role) { return std::ranges::find(kRoles, role, &RoleName::role)->name; }

std::string LayoutTextOf(const RecipeLine& line) {
  if (line.layout == RecipeLayout::kDim) return StrCat("S(", line.dim, ")");
  return std::string(std::ranges::find(kLayouts, line.layout, &LayoutName::layout)->name);
}

Result<Recipe> ParseRecipe(std::string_view text, std::string_view file) {
  Recipe recipe{.name = NameOfFile(file)};
  RecipeParser parser(file, recipe);
  int number = 0;
  for (const std::string_view line : Split(text, '\n')) SBP_RETURN_IF_ERROR(parser.Line(line, ++number));
  if (recipe.lines.empty()) return BadInput(StrCat(file, ":1:1: expected a line ROLE LAYOUT; the file has none"));
  return recipe;
}

std::vector<std::string> RecipeNames() {
  std::vector<std::string> names;
  for (const BuiltinRecipeFile& file : BuiltinRecipeFiles()) names.push_back(NameOfFile(file.name));
  return names;
}

Result<Recipe> BuiltinRecipe(std::string_view name) {
  for (const BuiltinRecipeFile& file : BuiltinRecipeFiles()) {
    if (NameOfFile(file.name) == name) return ParseRecipe(file.text, file.name);
  }
  const std::vector<std::string> names = RecipeNames();
  return BadInput(StrCat("--recipe: there is no recipe ", Quote(name), DidYouMean(name, names),
                         "; known: ", Join(names, ", "), "; a file has a dot or a slash in its name"));
}

Result<std::vector<Recipe>> ReadRecipes(std::string_view flag, const Mesh& mesh) {
  std::vector<Recipe> recipes(mesh.num_axes());
  std::vector<bool> given(mesh.num_axes(), false);
  std::vector<std::string> axes;
  for (const auto& axis : mesh.axes) axes.push_back(axis.name);
  for (const std::string_view part : Split(flag, ',')) {
    const size_t equals = part.find('=');
    SBP_ASSIGN_OR_RETURN(const Recipe recipe,
                         FindRecipe(equals == std::string_view::npos ? part : part.substr(equals + 1)));
    bool found = false;
    for (int axis = 0; axis < mesh.num_axes(); ++axis) {
      const bool named = equals != std::string_view::npos;
      if (named && axes[axis] != part.substr(0, equals)) continue;
      if (given[axis]) return BadInput(StrCat("--recipe: axis ", axes[axis], " has two recipes"));
      recipes[axis] = recipe;
      given[axis] = found = true;
    }
    if (!found) {
      const std::string_view name = part.substr(0, equals);
      return BadInput(StrCat("--recipe: the mesh has no axis ", Quote(name), DidYouMean(name, axes),
                             "; its axes: ", Join(axes, ", ")));
    }
  }
  return recipes;
}

}  // namespace sbp
