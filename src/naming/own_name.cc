#include "naming/own_name.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "base/text.h"
#include "naming/roles.h"

namespace sbp {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNumber(std::string_view text) { return !text.empty() && std::ranges::all_of(text, IsDigit); }

// What exporters and converters call tensors that nobody named, before a number.
constexpr std::string_view kMadeUp[] = {
    "",
    "val",
    "t",
    "tmp",
    "tensor",
    "const",
    "constant",
    "initializer",
    "const_fold_opt",
    "permute",
    "reshape",
    "view",
    "unsqueeze",
    "squeeze",
    "transpose",
    "expand",
    "full",
    "full_like",
    "arange",
    "cat",
    "mul",
    "add",
    "sub",
    "div",
    "cast",
    "convert_element_type_default",
    "identity",
    "input",
    "output",
    "buffer",
    "lifted_tensor",
    "clone",
    "detach",
    "split",
    "concat",
};

// What quantisers append to the name of what they quantised.
constexpr std::string_view kQuantised[] = {"_quantized", "_Q4", "_Q8", "_DQ", "_int8", "_QuantizeLinear"};

std::string_view WithoutQuantised(std::string_view name) {
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view suffix : kQuantised) {
      if (name.size() <= suffix.size() || !name.ends_with(suffix)) continue;
      name.remove_suffix(suffix.size());
      again = true;
    }
  }
  return name;
}

std::string_view WithoutNumber(std::string_view name) {
  while (!name.empty() && (IsDigit(name.back()) || name.back() == '_')) name.remove_suffix(1);
  return name;
}

bool IsMadeUp(std::string_view level) {
  std::string_view stem = WithoutNumber(level);
  if (stem.ends_with("_output") && stem.size() < level.size()) stem = WithoutNumber(stem.substr(0, stem.size() - 7));
  const bool numbered = stem.size() < level.size() || stem.empty();
  if (!numbered) return stem == "convert_element_type_default" || EqualIgnoringCase(stem, "const");
  std::string lower(stem);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::find(kMadeUp, lower) != std::end(kMadeUp) || IsOpLike(stem);
}

// "conv12_expand_weights" -> "conv12_expand" and "weight"; "weight_scale" -> "" and "scale".
struct Divided {
  std::string_view module;
  std::string role;
};
Divided DivideLast(std::string_view last) {
  if (IsRole(last)) return {"", CanonicalRole(last)};
  for (size_t at = last.find('_'); at != std::string_view::npos; at = last.find('_', at + 1)) {
    if (!IsRole(last.substr(at + 1)) || last.substr(at + 1).starts_with("embedding")) continue;
    const std::string_view module = WithoutQuantised(last.substr(0, at));
    return {IsRole(module) ? "" : module, CanonicalRole(last.substr(at + 1))};
  }
  return {last, ""};
}

std::string JoinLevels(const std::vector<std::string_view>& levels) {
  std::string scope;
  for (const std::string_view level : levels) {
    if (!scope.empty()) scope += IsNumber(level) ? '.' : '/';
    scope += level;
  }
  return scope;
}

std::vector<std::string_view> Levels(std::string_view name) {
  // In "model/layers.0/attention.q.weight" only the last level is divided further.
  const size_t slash = name.rfind('/');
  std::vector<std::string_view> levels;
  const auto add = [&](std::string_view text, char separator) {
    for (const std::string_view level : Split(text, separator)) {
      if (!level.empty()) levels.push_back(level);
    }
  };
  if (slash != std::string_view::npos) add(name.substr(0, slash), '/');
  add(slash == std::string_view::npos ? name : name.substr(slash + 1), '.');
  return levels;
}

// Variables of TensorFlow are read by an op that the name ends in.
void DropReading(std::vector<std::string_view>& levels) {
  const auto reads = [](std::string_view level) {
    return level == "resource" || level == "Read" || WithoutNumber(level) == "ReadVariableOp";
  };
  while (levels.size() > 1 && reads(levels.back())) levels.pop_back();
}

}  // namespace

OwnName ReadOwnName(std::string_view name) {
  if (name.starts_with("onnx::")) return {"", "", true};
  name = name.substr(0, name.find(';'));  // converters that fuse ops list the names of all
  if (const size_t colon = name.rfind(':'); colon != std::string_view::npos && IsNumber(name.substr(colon + 1))) {
    name = name.substr(0, colon);
  }
  std::vector<std::string_view> levels = Levels(WithoutQuantised(name));
  if (levels.empty()) return {"", "", true};
  DropReading(levels);
  const Divided last = DivideLast(levels.back());
  if (last.role.empty() && IsOpLike(WithoutNumber(levels.back())) && levels.size() > 1) {
    levels.pop_back();  // ".../dense/MatMul": the reader knows the role
    return {JoinLevels(levels), "", false};
  }
  if (IsMadeUp(last.module.empty() ? levels.back() : last.module) && !(last.module.empty() && !last.role.empty())) {
    return {"", last.role, true};
  }
  if (last.role.empty()) {
    if (levels.size() == 1) return {"", "", false};  // a name, but no path
    const std::string role(levels.back());
    levels.pop_back();
    return {JoinLevels(levels), role, false};
  }
  levels.pop_back();
  if (!last.module.empty()) levels.push_back(last.module);
  while (levels.size() > 1 && IsOpLike(levels.back())) levels.pop_back();  // "q_proj.MatMul.weight"
  return {JoinLevels(levels), last.role, false};
}

std::optional<CutName> ReadCutName(std::string_view name) {
  const size_t open = name.rfind('[');
  if (!name.ends_with(']') || open == std::string_view::npos || open == 0) return std::nullopt;
  std::string_view range = name.substr(open + 1, name.size() - open - 2);
  while (range.starts_with(":,")) range.remove_prefix(2);
  const size_t colon = range.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto begin = ParseInt(range.substr(0, colon)), end = ParseInt(range.substr(colon + 1));
  if (!begin || !end || *begin < 0 || *end <= *begin) return std::nullopt;
  return CutName{name.substr(0, open), *begin};
}

std::string DottedPath(std::string_view path) {
  std::string dotted(path);
  std::ranges::replace(dotted, '/', '.');
  return dotted;
}

}  // namespace sbp
