#include "onnx/scope.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace sbp::onnx {
namespace {

// What torch's exporter writes for operators outside of every module.
constexpr std::string_view kNoModule = "_empty_nn_module_stack_from_metadata_hook";

// Cumulative names, the operator's own last: each level without what the level above it already says.
std::string JoinLevels(const std::vector<std::string>& names) {
  std::string scope;
  std::string_view above;
  for (size_t i = 0; i + 1 < names.size(); ++i) {
    std::string_view name = names[i];
    if (name.empty() || name == kNoModule) continue;
    std::string_view level = name;
    if (!above.empty() && level.starts_with(above) && level.size() > above.size() && level[above.size()] == '.') {
      level.remove_prefix(above.size() + 1);
    }
    above = name;
    if (!scope.empty()) scope += '/';
    scope += level;
  }
  return scope;
}

bool IsNumber(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::optional<std::string> ScopeFromNameScopes(std::string_view text) {
  text = Trim(text);
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
  std::vector<std::string> names;
  size_t i = 1;
  while (i + 1 < text.size()) {
    const char quote = text[i];
    if (quote == ' ' || quote == ',') {
      ++i;
      continue;
    }
    if (quote != '\'' && quote != '"') return std::nullopt;
    const size_t end = text.find(quote, i + 1);
    if (end == std::string_view::npos) return std::nullopt;
    names.emplace_back(text.substr(i + 1, end - i - 1));
    i = end + 1;
  }
  return JoinLevels(names);
}

std::string ScopeFromNamespace(std::string_view text) {
  std::vector<std::string> names;
  for (std::string_view level : Split(text, '/')) names.emplace_back(Trim(level.substr(0, level.find(':'))));
  return JoinLevels(names);
}

std::string ScopeFromNodeName(std::string_view name) {
  name = name.substr(0, name.find(';'));  // converters that fuse operators list the names of all
  const bool slashes = name.find('/') != std::string_view::npos;
  std::vector<std::string> levels;
  for (std::string_view part : Split(name, slashes ? '/' : '.')) {
    if (part.empty()) continue;
    if (!slashes && IsNumber(part) && !levels.empty()) {
      levels.back() += StrCat(".", part);  // "layers.0" is one level
    } else {
      levels.emplace_back(part);
    }
  }
  if (!levels.empty()) levels.pop_back();
  return Join(levels, "/");
}

}  // namespace sbp::onnx
