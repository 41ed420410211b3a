#include "naming/module_index.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <set>

#include "base/ids.h"
#include "base/text.h"
#include "naming/own_name.h"

namespace sbp {
namespace {

bool IsGlob(std::string_view text) { return text.find('*') != std::string_view::npos; }

std::string_view LastLevel(std::string_view dotted) {
  const size_t dot = dotted.rfind('.');
  return dot == std::string_view::npos ? dotted : dotted.substr(dot + 1);
}

// A dotted path without its last level; a view of nothing (no data) after the first one.
std::string_view AllButLast(std::string_view path) {
  const size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
}

// Both dotted. From the last level on; when levels differ, the last "**" takes one level more.
bool NamesDotted(std::string_view pattern, std::string_view path) {
  std::string_view after_stars, stars_end;
  bool stars = false;
  while (pattern.data() != nullptr) {
    const std::string_view level = LastLevel(pattern);
    if (level == "**") {
      pattern = AllButLast(pattern);
      stars = true;
      after_stars = pattern;
      stars_end = path;
    } else if (path.data() != nullptr &&
               (level == LastLevel(path) || (IsGlob(level) && GlobMatch(level, LastLevel(path))))) {
      pattern = AllButLast(pattern);
      path = AllButLast(path);
    } else if (stars && stars_end.data() != nullptr) {
      stars_end = AllButLast(stars_end);
      path = stars_end;
      pattern = after_stars;
    } else {
      return false;
    }
  }
  return true;
}

std::string Pattern(std::string_view scope) {
  std::string dotted = DottedPath(Trim(scope));
  const size_t begin = dotted.find_first_not_of('.');
  const size_t end = dotted.find_last_not_of('.');
  return begin == std::string::npos ? "" : dotted.substr(begin, end - begin + 1);
}

// The scope and all around it, longest first.
template <typename Visit>
void ForEachAround(std::string_view scope, const Visit& visit) {
  while (!scope.empty()) {
    visit(scope);
    const size_t slash = scope.rfind('/');
    scope = slash == std::string_view::npos ? std::string_view() : scope.substr(0, slash);
  }
}

bool Within(std::string_view outer, std::string_view inner) {
  return inner.starts_with(outer) && (inner.size() == outer.size() || inner[outer.size()] == '/');
}

// The last `levels` levels of a path, with numbers as '*' if asked.
std::string Tail(std::string_view path, size_t levels, bool stars) {
  size_t begin = path.size();
  for (size_t i = 0; i < levels && begin > 0; ++i) {
    const size_t at = path.find_last_of("/.", begin - 1);
    begin = at == std::string_view::npos ? 0 : at;
  }
  if (begin > 0) ++begin;
  std::string tail(path.substr(begin));
  if (!stars) return tail;
  std::string out;
  for (size_t i = 0; i < tail.size();) {
    const size_t end = std::min(tail.find_first_of("/.", i), tail.size());
    const std::string_view level = std::string_view(tail).substr(i, end - i);
    out += ParseInt(level) ? "*" : std::string(level);
    if (end < tail.size()) out += tail[end];
    i = end + 1;
  }
  return out;
}

}  // namespace

std::optional<ScopedName> ReadScopedName(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || text[colon - 1] == ':') return std::nullopt;
  const std::string_view role = Trim(text.substr(colon + 1));
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '*'; };
  const bool number = !role.empty() && std::ranges::all_of(role, [](char c) { return c >= '0' && c <= '9'; });
  if (role.empty() || number || !std::ranges::all_of(role, is_word)) return std::nullopt;
  std::string scope = Pattern(text.substr(0, colon));
  if (scope.empty()) return std::nullopt;
  if (IsGlob(role)) return ScopedName{std::move(scope), std::string(role)};
  // ":in_proj_weight" is the module's in_proj:weight, as in names of parameters.
  const OwnName own = ReadOwnName(StrCat("m.", role));
  if (!own.anonymous && own.scope.starts_with("m/")) scope += StrCat(".", DottedPath(own.scope.substr(2)));
  return ScopedName{std::move(scope), own.role.empty() ? std::string(role) : own.role};
}

bool NamesScope(std::string_view pattern, std::string_view path) {
  return NamesDotted(Pattern(pattern), DottedPath(path));
}

std::string_view NamedAbove(std::string_view pattern, std::string_view scope) {
  for (size_t end = scope.find('/');; end = scope.find('/', end + 1)) {
    const std::string_view path = scope.substr(0, end);
    if (!path.empty() && NamesScope(pattern, path)) return path;
    if (end == std::string_view::npos) return "";
  }
}

std::string DidYouMeanScope(std::string_view pattern, std::span<const std::string_view> scopes) {
  const std::set<std::string_view> distinct(scopes.begin(), scopes.end());
  std::set<std::string_view> paths;  // with those above
  for (const std::string_view scope : distinct) {
    for (size_t end = scope.find('/');; end = scope.find('/', end + 1)) {
      if (!scope.empty()) paths.insert(scope.substr(0, end));
      if (end == std::string_view::npos) break;
    }
  }
  // A pattern may name the end of a path: so may what is offered.
  const auto levels = static_cast<size_t>(std::ranges::count(pattern, '/')) + 1;
  std::set<std::string_view> ends;
  for (const std::string_view path : paths) {
    size_t at = path.size();
    for (size_t i = 0; i < levels && at != std::string_view::npos && at > 0; ++i) at = path.rfind('/', at - 1);
    ends.insert(at == std::string_view::npos ? path : path.substr(at + 1));
  }
  const std::vector<std::string> names(ends.begin(), ends.end());
  return DidYouMean(pattern, names);
}

ModuleIndex::ModuleIndex(const Graph& graph) : graph_(graph), names_(graph) {
  for (const ModuleName& name : names_.all()) {
    const auto index = static_cast<uint32_t>(dotted_.size());
    dotted_.push_back(DottedPath(name.scope));
    placed_.push_back(name.place.empty() ? "" : StrCat(dotted_.back(), ".", name.place));
    whole_.push_back(DottedPath(name.whole));
    std::set<std::string_view> levels = {LastLevel(dotted_.back())};
    if (!name.place.empty()) levels.insert(LastLevel(placed_.back()));
    if (!name.whole.empty()) levels.insert(LastLevel(whole_.back()));
    for (const std::string_view level : levels) by_last_level_[std::string(level)].push_back(index);
  }
}

ScopedMatch ModuleIndex::Match(const ScopedName& name) const {
  ScopedMatch match;
  std::vector<TensorId> whole;  // named by their whole paths, not by the ends of these
  const auto look = [&](uint32_t i) {
    const auto names = [&](const std::string& path) { return !path.empty() && NamesDotted(name.scope, path); };
    if (!names(dotted_[i]) && !names(placed_[i]) && !names(whole_[i])) return;
    if (!GlobMatch(name.role, names_.all()[i].role)) return;
    match.tensors.push_back(names_.all()[i].parameter);
    if (name.scope == dotted_[i] || name.scope == placed_[i] || name.scope == whole_[i])
      whole.push_back(names_.all()[i].parameter);
  };
  if (IsGlob(LastLevel(name.scope))) {
    for (uint32_t i = 0; i < dotted_.size(); ++i) look(i);
  } else if (const auto bucket = by_last_level_.find(std::string(LastLevel(name.scope)));
             bucket != by_last_level_.end()) {
    for (const uint32_t i : bucket->second) look(i);
  }
  if (!whole.empty()) match.tensors = std::move(whole);
  if (!match.tensors.empty()) return match;
  const bool inputs = name.role == "input";
  if (inputs || name.role == "output") match.tensors = Activations(name, inputs);
  if (!match.tensors.empty()) return match;
  for (const ModulePart& part : parts()) {
    if (!NamesDotted(name.scope, DottedPath(part.scope))) continue;
    if (GlobMatch(name.role, part.role)) match.parts.push_back(part);
    if (name.role == "output" && part.activation.valid() && !part.is_tensor) match.tensors.push_back(part.activation);
  }
  std::sort(match.tensors.begin(), match.tensors.end());
  match.tensors.erase(std::unique(match.tensors.begin(), match.tensors.end()), match.tensors.end());
  return match;
}

const std::vector<ModulePart>& ModuleIndex::parts() const {
  if (!parts_) parts_ = FindFusedParts(graph_, names_);
  return *parts_;
}

std::vector<TensorId> ModuleIndex::Activations(const ScopedName& name, bool inputs) const {
  // Scopes are few next to ops: the answer of each is kept.
  std::vector<std::vector<std::string_view>> named(graph_.scopes.size());
  for (size_t s = 0; s < graph_.scopes.size(); ++s) {
    ForEachAround(graph_.scopes[s], [&](std::string_view scope) {
      if (NamesDotted(name.scope, DottedPath(scope))) named[s].push_back(scope);
    });
  }
  const auto leaves = [&](uint32_t from, std::string_view to) {  // some named scope around `from`, but not `to`
    return std::ranges::any_of(named[from], [&](std::string_view scope) { return !Within(scope, to); });
  };
  std::set<TensorId> found;
  for (const Op& op : graph_.ops) {
    for (const TensorId id : op.inputs) {
      if (!id.valid() || graph_.tensor(id).role == TensorRole::kParameter) continue;
      const OpId producer = graph_.tensor(id).producer;
      const uint32_t made = producer.valid() ? graph_.op(producer).scope : 0;
      if (inputs ? leaves(op.scope, graph_.scopes[made]) : leaves(made, graph_.scope_of(op))) found.insert(id);
    }
  }
  if (!inputs) {
    for (const TensorId id : graph_.outputs) {
      const OpId producer = graph_.tensor(id).producer;
      if (producer.valid() && !named[graph_.op(producer).scope].empty()) found.insert(id);
    }
  }
  return {found.begin(), found.end()};
}

std::vector<std::string> ModuleIndex::Scopes(std::string_view pattern) const {
  const std::string dotted = Pattern(pattern);
  std::vector<std::string> scopes;
  if (dotted.empty()) return scopes;
  std::set<std::string_view> seen;
  for (const Op& op : graph_.ops) {
    const size_t before = scopes.size();
    ForEachAround(graph_.scope_of(op), [&](std::string_view scope) {
      if (seen.insert(scope).second && NamesDotted(dotted, DottedPath(scope))) scopes.emplace_back(scope);
    });
    std::reverse(scopes.begin() + static_cast<std::ptrdiff_t>(before), scopes.end());
  }
  return scopes;
}

std::vector<OpId> ModuleIndex::OpsOf(std::string_view scope) const {
  std::vector<OpId> ops;
  for (size_t o = 0; o < graph_.ops.size(); ++o) {
    if (Within(scope, graph_.scope_of(graph_.ops[o]))) ops.emplace_back(o);
  }
  return ops;
}

std::string ModuleIndex::NameForAll(TensorId parameter) const {
  const ModuleName* name = names_.Find(parameter);
  if (name == nullptr) return "";
  const std::string path = name->place.empty() ? name->scope : StrCat(name->scope, "/", name->place);
  // From the level before the first number on: "layers.*/mlp/fc1".
  const std::string dotted = DottedPath(path);
  size_t levels = 0, rest = static_cast<size_t>(1 + std::ranges::count(dotted, '.'));
  const size_t all = rest;
  for (const std::string_view level : Split(dotted, '.')) {
    if (ParseInt(level)) {
      levels = rest + 1;
      break;
    }
    --rest;
  }
  return StrCat(Tail(path, levels == 0 ? all : std::min(levels, all), levels > 0), ":", name->role);
}

std::vector<std::string> ModuleIndex::Nearest(std::string_view text) const {
  const std::optional<ScopedName> name = ReadScopedName(text);
  const std::string dotted = name ? name->scope : Pattern(text);
  const auto levels = static_cast<size_t>(1 + std::ranges::count(dotted, '.'));
  const bool stars = IsGlob(dotted);
  std::vector<std::string> known;
  std::set<std::string> seen;
  const auto add = [&](std::string_view scope, std::string_view role) {
    std::string tail = StrCat(Tail(scope, levels, stars), ":", role);
    if (seen.insert(tail).second) known.push_back(std::move(tail));
  };
  for (const ModuleName& one : names_.all()) {
    add(one.place.empty() ? one.scope : StrCat(one.scope, "/", one.place), one.role);
  }
  for (const ModulePart& part : parts()) add(part.scope, part.role);
  // A scope by itself, without a role or with one that it has not: its roles.
  std::vector<std::string> roles;
  for (const std::string& one : known) {
    if (NamesScope(dotted, std::string_view(one).substr(0, one.rfind(':'))) && roles.size() < 3) roles.push_back(one);
  }
  if (!roles.empty()) return roles;
  return NearestNames(name ? std::string(Trim(text)) : StrCat(Trim(text), ":weight"), known);
}

std::string ModuleIndex::DidYouMean(std::string_view name) const {
  const std::vector<std::string> nearest = Nearest(name);
  const bool has_roles = !nearest.empty() && NamesScope(name, nearest[0].substr(0, nearest[0].rfind(':')));
  if (!ReadScopedName(name) && !has_roles && !Scopes(name).empty()) {
    return StrCat(" (it is a scope: ", Quote(StrCat(name, ":weight")), ", ", Quote(StrCat(name, "/*:weight")), " or ",
                  Quote(StrCat(name, ":output")), " name tensors)");
  }
  std::vector<std::string> quoted;
  for (const std::string& one : nearest) quoted.push_back(Quote(one));
  return quoted.empty() ? Around(name) : StrCat(" (did you mean ", Join(quoted, " or "), "?)");
}

std::string ModuleIndex::Around(std::string_view name) const {
  constexpr size_t kNamed = 3;
  const std::optional<ScopedName> scoped = ReadScopedName(name);
  std::string around = scoped ? scoped->scope : Pattern(name);
  while (!around.empty() && Scopes(around).empty()) {
    const size_t end = around.rfind('.');
    around.resize(end == std::string::npos ? 0 : end);
  }
  std::vector<std::string> names;
  for (const ModuleName& one : names_.all()) {
    bool inside = around.empty();
    ForEachAround(one.scope, [&](std::string_view scope) { inside |= NamesDotted(around, DottedPath(scope)); });
    if (!inside) continue;
    std::string quoted = Quote(NameForAll(one.parameter));
    if (std::ranges::find(names, quoted) == names.end()) names.push_back(std::move(quoted));
    if (names.size() == kNamed) break;
  }
  return names.empty() ? ""
                       : StrCat(" (", around.empty() ? "the model" : Quote(around), " has ", Join(names, ", "), ")");
}

}  // namespace sbp
