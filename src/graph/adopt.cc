#include "graph/adopt.h"

#include <algorithm>
#include <optional>

#include "base/ids.h"
#include "graph/phases.h"

namespace sbp {
namespace {

// The longest scope that holds both: "a/b" of "a/b/c" and "a/b/d".
std::string_view CommonScope(std::string_view a, std::string_view b) {
  const auto [at_a, at_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  const auto same = static_cast<size_t>(at_a - a.begin());
  const auto ends = [same](std::string_view text) { return same == text.size() || text[same] == '/'; };
  if (ends(a) && ends(b)) return a.substr(0, same);
  const size_t slash = a.substr(0, same).rfind('/');
  return slash == std::string_view::npos ? std::string_view() : a.substr(0, slash);
}

class Adopter {
 public:
  explicit Adopter(const Graph& graph) : graph_(graph), uses_(BuildUses(graph)), scopes_(graph.ops.size()) {
    for (size_t o = 0; o < graph.ops.size(); ++o) scopes_[o] = graph.scope_of(graph.ops[o]);
    known_.resize(graph.ops.size());
    for (size_t o = 0; o < graph.ops.size(); ++o) {
      phases_.push_back(PhaseOfScope(scopes_[o]));
      known_[o] = !scopes_[o].empty() && scopes_[o] != kBackwardScope;
    }
  }

  // Forward, so that chains follow their producers; then backward for those that begin with inputs and constants.
  std::vector<std::string_view> Run() {
    for (size_t o = 0; o < graph_.ops.size(); ++o) Adopt(o);
    for (size_t o = graph_.ops.size(); o-- > 0;) Adopt(o);
    return std::move(scopes_);
  }

 private:
  void Adopt(size_t o) {
    if (known_[o]) return;
    std::optional<std::string_view> common;
    const auto join = [&](OpId neighbour) {
      if (!known_[neighbour.index()] || phases_[neighbour.index()] != phases_[o]) return;
      const std::string_view scope = scopes_[neighbour.index()];
      if (scope == kLossScope) return;  // what the model gives is no part of its loss
      common = common ? CommonScope(*common, scope) : scope;
    };
    for (const TensorId id : graph_.ops[o].inputs) {
      if (id.valid() && graph_.tensor(id).producer.valid()) join(graph_.tensor(id).producer);
    }
    for (const TensorId id : graph_.ops[o].outputs) {
      if (!id.valid()) continue;
      const auto [begin, end] = uses_.of(id);
      for (const Use* use = begin; use != end; ++use) join(use->op);
    }
    if (!common) return;
    scopes_[o] = *common;
    known_[o] = true;
  }

  const Graph& graph_;
  const UseTable uses_;
  std::vector<std::string_view> scopes_;
  std::vector<bool> known_;
  std::vector<Phase> phases_;  // of a training graph: ops adopt within theirs
};

}  // namespace

std::vector<std::string_view> AdoptScopes(const Graph& graph) {
  if (graph.scopes.size() < 2) return std::vector<std::string_view>(graph.ops.size());
  return Adopter(graph).Run();
}

}  // namespace sbp
