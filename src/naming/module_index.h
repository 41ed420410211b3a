// Finds what users name by scope and role: parameters ("layers.*/mlp/gate_proj:weight"), activations
// ("layers.*/mlp:output"), parts of fused weights, and scopes themselves. '/' and '.' both divide levels, '*' stands
// for any run of characters within a level, a level "**" for any number of levels, and a pattern may name the end of a
// path: "mlp/fc1" is found in "m/layers.0/mlp/fc1". A path that is named whole wins over those that only end so.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "naming/fused_parts.h"
#include "naming/module_names.h"

namespace sbp {

struct ScopedName {
  std::string scope, role;  // both may hold '*'; the role is canonical
};
// "layers.0/mlp/fc1:weight", divided at the last ':' that is no part of "::". Nothing where there is no role.
std::optional<ScopedName> ReadScopedName(std::string_view text);

// Does a pattern name a path, or its end? "a/b" names "x/a/b", not "xa/b".
bool NamesScope(std::string_view pattern, std::string_view path);
// The outermost of the scope and those above it that the pattern names; "" where none is.
std::string_view NamedAbove(std::string_view pattern, std::string_view scope);
// The end of an error about a pattern that names none of the scopes, nor any above them: ' (did you mean "layers.1"?)'.
std::string DidYouMeanScope(std::string_view pattern, std::span<const std::string_view> scopes);

struct ScopedMatch {
  std::vector<TensorId> tensors;  // in the graph's order
  std::vector<ModulePart> parts;  // only where no parameter has such a name
  bool empty() const { return tensors.empty() && parts.empty(); }
};

class ModuleIndex {
 public:
  // The graph must outlive it and stay as it is.
  explicit ModuleIndex(const Graph& graph);

  const ModuleNames& names() const { return names_; }
  // ":input" is what a scope's ops read of what other scopes' ops write, and of the graph's inputs; ":output" what they
  // write for others, or as the graph's outputs. Any other role is a parameter's, or else a part's of a fused one.
  ScopedMatch Match(const ScopedName& name) const;
  const std::vector<ModulePart>& parts() const;  // all of the graph, made on the first call

  // Scopes that a pattern names, in the order of their first ops: paths of ops and all above them.
  std::vector<std::string> Scopes(std::string_view pattern) const;
  // Ops of a scope, those below it included.
  std::vector<OpId> OpsOf(std::string_view scope) const;

  // A name for a parameter and those like it in other layers: "layers.*/mlp/gate_proj:weight". "" where it has none.
  std::string NameForAll(TensorId parameter) const;

  // Names with as many levels as `name`, numbers as '*' where `name` has one: what a user may have meant by it.
  std::vector<std::string> Nearest(std::string_view name) const;
  // That as the end of an error: ' (did you mean "layers.*/mlp/fc1:weight"?)', or what names the tensors of a scope
  // that stands without a role; where nothing is spelled alike, parameters of the innermost scope of `name` that there
  // is, else of the model: ' ("layers.*.mlp" has "layers.*/mlp/fc1:weight")'. "" where no parameter has such a name.
  std::string DidYouMean(std::string_view name) const;

 private:
  std::string Around(std::string_view name) const;
  std::vector<TensorId> Activations(const ScopedName& name, bool inputs) const;

  const Graph& graph_;
  ModuleNames names_;
  // Per name: its scope; then that with its place, and the scope of the whole, "" where there is none.
  std::vector<std::string> dotted_, placed_, whole_;
  std::unordered_map<std::string, std::vector<uint32_t>> by_last_level_;  // of all three
  mutable std::optional<std::vector<ModulePart>> parts_;
};

}  // namespace sbp
