#include "parallelism/words.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "sbp/mesh.h"

namespace sbp {

std::string_view AxisUseName(AxisUse use) {
  switch (use) {
    case AxisUse::kIdle:
      return "idle";
    case AxisUse::kData:
      return "data";
    case AxisUse::kContext:
      return "context";
    case AxisUse::kTensor:
      return "tensor";
    case AxisUse::kExpert:
      return "expert";
  }
  return "";
}

std::string_view ParameterStyleName(ParameterStyle style) {
  switch (style) {
    case ParameterStyle::kWhole:
      return "whole";
    case ParameterStyle::kColumn:
      return "column";
    case ParameterStyle::kRow:
      return "row";
    case ParameterStyle::kVocabulary:
      return "vocabulary";
    case ParameterStyle::kExpert:
      return "expert";
    case ParameterStyle::kOther:
      return "other";
  }
  return "";
}

std::string_view RecomputationName(Recomputation recomputation) {
  switch (recomputation) {
    case Recomputation::kNone:
      return "none";
    case Recomputation::kLight:
      return "light";
    case Recomputation::kSelective:
      return "selective";
    case Recomputation::kAlternate:
      return "alternate";
    case Recomputation::kFull:
      return "full";
  }
  return "";
}

namespace {

std::string_view ResidualName(ResidualUse use) {
  return use == ResidualUse::kWhole ? "whole" : use == ResidualUse::kSequence ? "sequence" : "other";
}

std::string_view NearestRecipeOf(const FoldedAxis& axis) {
  constexpr std::string_view kStages[] = {"dp", "zero1", "zero2", "zero3"};
  switch (axis.use) {
    case AxisUse::kTensor:
      return axis.residual == ResidualUse::kWhole ? "tp" : "sp";
    case AxisUse::kContext:
      return axis.zero == 0 ? "cp" : "cp-fsdp";
    case AxisUse::kExpert:
      return "ep";
    case AxisUse::kIdle:
    case AxisUse::kData:
      return axis.zero == 3 && axis.regathers ? "fsdp" : kStages[axis.zero_of_copies];
  }
  return "dp";
}

}  // namespace

std::string Dump(const Fold& fold, const Mesh& mesh) {
  std::string text;
  const auto axis_name = [&](size_t a) -> const std::string& { return mesh.axes[a].name; };
  for (size_t a = 0; a < fold.axes.size(); ++a) {
    const FoldedAxis& axis = fold.axes[a];
    text += StrCat("axis ", axis_name(a), ": ", AxisUseName(axis.use));
    if (axis.zero > 0)
      text += StrCat(", stage ", axis.zero, axis.regathers ? ", gathered anew" : "",
                     axis.zero_of_copies != axis.zero ? StrCat(", of copies ", axis.zero_of_copies) : "");
    if (axis.use == AxisUse::kTensor) text += StrCat(", between layers ", ResidualName(axis.residual));
    text += "\n";
  }
  for (const FoldedParameter& parameter : fold.parameters) {
    std::vector<std::string> styles;
    for (size_t a = 0; a < parameter.styles.size(); ++a) {
      if (parameter.styles[a] == ParameterStyle::kWhole) continue;
      styles.push_back(StrCat(ParameterStyleName(parameter.styles[a]), " over ", axis_name(a)));
    }
    if (!styles.empty()) text += StrCat(parameter.module, " ", parameter.role, ": ", Join(styles, ", "), "\n");
  }
  for (size_t i = 0; i < fold.layers.size(); ++i) {
    if (fold.layers[i] == Recomputation::kNone) continue;
    text += StrCat("layer ", fold.layer_paths[i], " recomputes ", RecomputationName(fold.layers[i]), "\n");
  }
  for (const Unfolded& whole : fold.whole) text += StrCat("whole ", whole.name, ": ", whole.reason, "\n");
  for (const Unfolded& left : fold.unfolded) text += StrCat("not ", left.name, ": ", left.reason, "\n");
  return text;
}

std::string NearestRecipe(const Fold& fold, const Mesh& mesh) {
  std::vector<std::string> parts;
  for (size_t a = 0; a < fold.axes.size(); ++a) {
    parts.push_back(StrCat(mesh.axes[a].name, "=", NearestRecipeOf(fold.axes[a])));
  }
  return Join(parts, ",");
}

int LayerOfPath(std::string_view path) {
  constexpr int64_t kMostLayers = 1 << 20;
  while (!path.empty()) {
    const size_t end = std::min(path.find_first_of("/."), path.size());
    const std::string_view level = path.substr(0, end);
    const bool digits = !level.empty() && std::ranges::all_of(level, [](unsigned char c) { return std::isdigit(c); });
    if (digits) {
      const std::optional<int64_t> number = ParseInt(level);
      return number && *number < kMostLayers ? static_cast<int>(*number) : -1;
    }
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return -1;
}

std::string StackOfPath(std::string_view path) {
  std::string stack;
  for (size_t at = 0; at < path.size();) {
    const size_t end = std::min(path.find_first_of("/.", at), path.size());
    if (LayerOfPath(path.substr(at, end - at)) >= 0) break;
    stack += StrCat(stack.empty() ? "" : ".", path.substr(at, end - at));
    at = end + 1;
  }
  return stack;
}

int64_t RanksOf(const Fold& fold, const Mesh& mesh, AxisUse use) {
  int64_t ranks = 1;
  for (size_t a = 0; a < fold.axes.size(); ++a) {
    if (fold.axes[a].use == use) ranks *= mesh.size(static_cast<int>(a));
  }
  return ranks;
}

}  // namespace sbp
