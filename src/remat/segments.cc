#include "remat/segments.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/ids.h"
#include "base/text.h"
#include "graph/adopt.h"
#include "graph/kept.h"
#include "graph/phases.h"
#include "naming/module_index.h"

namespace sbp {
namespace {

constexpr size_t kLayerOps = 8;  // on average: fewer save nothing, as all that crosses their borders is kept

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Where the level's number begins: "layers.12" 7, "block_3" 6, "12" 0; the level's size where it has none.
size_t NumberAt(std::string_view level) {
  size_t at = level.size();
  while (at > 0 && IsDigit(level[at - 1])) --at;
  const bool stands_apart = at == 0 || level[at - 1] == '.' || level[at - 1] == '_';
  return at < level.size() && stands_apart ? at : level.size();
}

// A path that ends in a number, and those that differ in that number alone.
struct Member {
  uint32_t family = 0;
  size_t ops = 0;
  bool follows = false;  // reads what another one of its family writes
};
struct Family {
  size_t members = 0, following = 0, ops = 0;
  bool IsChain() const { return members > 1 && following + 1 >= members; }
  bool AreLayers() const { return members > 1 && ops >= kLayerOps * members; }
};

class LayerFinder {
 public:
  LayerFinder(const Graph& graph, const std::vector<std::string_view>& scopes, const std::vector<bool>& forward)
      : graph_(graph), scopes_(scopes), forward_(forward) {}

  Segments Run() {
    std::unordered_map<std::string_view, uint32_t> paths_of_scope;
    of_op_.resize(graph_.ops.size(), 0);
    for (size_t o = 0; o < graph_.ops.size(); ++o) {
      if (!forward_[o]) continue;
      const auto [it, is_new] = paths_of_scope.try_emplace(scopes_[o], static_cast<uint32_t>(paths_.size()));
      if (is_new) paths_.push_back(MembersOn(scopes_[o]));
      of_op_[o] = it->second;
      for (const uint32_t member : paths_[it->second]) {
        ++members_[member].ops;
        ++families_[members_[member].family].ops;
      }
    }
    Link();
    Segments segments;
    segments.of_op.assign(graph_.ops.size(), Segments::kNone);
    std::unordered_map<uint32_t, uint32_t> known;
    for (size_t o = 0; o < graph_.ops.size(); ++o) {
      if (!forward_[o]) continue;
      const std::optional<uint32_t> member = LayerOn(paths_[of_op_[o]]);
      if (!member) continue;
      const auto [it, is_new] = known.try_emplace(*member, static_cast<uint32_t>(segments.all.size()));
      if (is_new) segments.all.push_back({names_[*member]});
      segments.of_op[o] = it->second;
    }
    return segments;
  }

 private:
  std::vector<uint32_t> MembersOn(std::string_view scope) {
    std::vector<uint32_t> found;
    for (size_t begin = 0; begin < scope.size();) {
      const size_t end = std::min(scope.find('/', begin), scope.size());
      const size_t number = NumberAt(scope.substr(begin, end - begin));
      if (number < end - begin) {
        const auto [it, is_new] =
            member_of_path_.try_emplace(std::string(scope.substr(0, end)), static_cast<uint32_t>(members_.size()));
        if (is_new) {
          const auto [family, is_first] = family_of_path_.try_emplace(std::string(scope.substr(0, begin + number)),
                                                                      static_cast<uint32_t>(families_.size()));
          if (is_first) families_.emplace_back();
          members_.push_back({.family = family->second});
          names_.push_back(it->first);
          ++families_[family->second].members;
        }
        found.push_back(it->second);
      }
      begin = end + 1;
    }
    return found;
  }

  void Link() {
    for (size_t o = 0; o < graph_.ops.size(); ++o) {
      if (!forward_[o]) continue;
      const std::vector<uint32_t>& own = paths_[of_op_[o]];
      for (const TensorId id : graph_.ops[o].inputs) {
        const OpId producer = id.valid() ? graph_.tensor(id).producer : OpId();
        if (!producer.valid() || !forward_[producer.index()]) continue;
        const std::vector<uint32_t>& other = paths_[of_op_[producer.index()]];
        const auto [a, b] = std::mismatch(own.begin(), own.end(), other.begin(), other.end());
        if (a == own.end() || b == other.end() || members_[*a].family != members_[*b].family) continue;
        if (std::exchange(members_[*a].follows, true)) continue;
        ++families_[members_[*a].family].following;
      }
    }
  }

  // Of the numbered paths above an op: which one is its layer?
  std::optional<uint32_t> LayerOn(const std::vector<uint32_t>& path) const {
    for (size_t i = 0; i < path.size(); ++i) {
      if (!families_[members_[path[i]].family].AreLayers()) continue;
      while (i + 1 < path.size()) {
        const Family& inner = families_[members_[path[i + 1]].family];
        if (!inner.AreLayers() || !inner.IsChain() || 2 * inner.ops < members_[path[i]].ops) break;
        ++i;
      }
      return path[i];
    }
    return std::nullopt;
  }

  const Graph& graph_;
  const std::vector<std::string_view>& scopes_;
  const std::vector<bool>& forward_;
  std::vector<uint32_t> of_op_;               // per op: index into paths_
  std::vector<std::vector<uint32_t>> paths_;  // members on a scope, the outermost first
  std::vector<Member> members_;
  std::vector<std::string> names_;  // of members
  std::vector<Family> families_;
  std::unordered_map<std::string, uint32_t> member_of_path_, family_of_path_;
};

// Cuts behind ops whose result alone leads on.
Segments FindStretches(const Graph& graph, const std::vector<bool>& forward) {
  const std::vector<bool> of_parameters = OfParameters(graph);
  std::vector<bool> varies(graph.tensors.size(), false);  // depends on parameters and more
  std::vector<size_t> last(graph.tensors.size(), 0);      // reader of the forward pass
  for (size_t o = 0; o < graph.ops.size(); ++o) {
    if (PhaseOf(graph, graph.ops[o]) != Phase::kForward) continue;
    bool any = false;
    for (const TensorId id : graph.OperandsOf(graph.ops[o])) {
      if (!id.valid()) continue;
      any = any || varies[id.index()] || of_parameters[id.index()];
      last[id.index()] = o;
    }
    for (const TensorId id : graph.ops[o].outputs) {
      if (id.valid()) varies[id.index()] = any && !of_parameters[id.index()];
    }
  }
  std::vector<int64_t> ends(graph.ops.size() + 1, 0);
  Segments segments;
  segments.of_op.assign(graph.ops.size(), Segments::kNone);
  int64_t crossing = 0;
  size_t ops = 0;
  for (size_t o = 0; o < graph.ops.size(); ++o) {
    if (forward[o]) {
      if (ops == 0) segments.all.push_back({StrCat("stretch.", segments.all.size())});
      segments.of_op[o] = static_cast<uint32_t>(segments.all.size() - 1);
      ++ops;
    }
    for (const TensorId id : graph.ops[o].outputs) {
      if (!id.valid() || !varies[id.index()] || last[id.index()] <= o) continue;
      ++crossing;
      ++ends[last[id.index()]];
    }
    crossing -= ends[o];
    if (crossing == 1 && ops >= kLayerOps) ops = 0;
  }
  return segments;
}

struct ForwardPass {
  explicit ForwardPass(const Graph& graph)
      : scopes(AdoptScopes(graph)), is_in(graph.ops.size()), is_named(graph.ops.size()) {
    for (size_t o = 0; o < graph.ops.size(); ++o) {
      const std::string_view scope = graph.scope_of(graph.ops[o]);
      const bool is_loss = scope == kLossScope || scope.starts_with(StrCat(kLossScope, "/"));
      is_in[o] = PhaseOfScope(scope) == Phase::kForward && !is_loss;
      is_named[o] = is_in[o] || is_loss;
    }
  }
  std::vector<std::string_view> scopes;
  std::vector<bool> is_in;     // the loss is not
  std::vector<bool> is_named;  // the loss, too, which an entry may name
};

Segments LayersOf(const Graph& graph, const ForwardPass& pass) {
  Segments layers = LayerFinder(graph, pass.scopes, pass.is_in).Run();
  return layers.all.empty() ? FindStretches(graph, pass.is_in) : layers;
}

std::string Nearest(const ForwardPass& pass, const Segments& layers, const std::string& pattern) {
  std::vector<std::string_view> known;
  for (size_t o = 0; o < pass.scopes.size(); ++o) {
    if (pass.is_in[o]) known.push_back(pass.scopes[o]);
  }
  for (const Segment& layer : layers.all) known.push_back(layer.name);
  return DidYouMeanScope(pattern, known);
}

}  // namespace

Segments FindLayers(const Graph& training) { return LayersOf(training, ForwardPass(training)); }

Result<Segments> FindSegments(const Graph& training, std::span<const RematEntry> entries) {
  const ForwardPass pass(training);
  Segments segments = LayersOf(training, pass);
  size_t next = 0;
  for (const RematEntry& entry : entries) {
    if (!entry.scope.empty()) continue;
    const size_t left = segments.all.size() - next;
    if (entry.count > static_cast<int64_t>(left)) {
      return BadInput(StrCat("--remat: ", NameOf(entry.policy), ":", entry.count, ": the forward pass has ",
                             segments.all.size(), segments.all.size() == 1 ? " layer" : " layers",
                             next == 0 ? "" : StrCat(", of which ", left, left == 1 ? " is" : " are", " left")));
    }
    const size_t count = entry.count < 0 ? left : static_cast<size_t>(entry.count);
    for (size_t i = 0; i < count; ++i, ++next) {
      segments.all[next].policy = entry.policy;
      segments.all[next].held = entry.held;
      segments.all[next].fused = entry.fused;
    }
  }
  const Segments layers = segments;
  for (const RematEntry& entry : entries) {
    if (entry.scope.empty()) continue;
    std::unordered_map<std::string_view, std::string_view> named;  // of each scope
    std::unordered_map<std::string, uint32_t> own;
    for (size_t o = 0; o < pass.scopes.size(); ++o) {
      if (entry.scope == kLossScope ? !pass.is_named[o] : !pass.is_in[o]) continue;
      const auto [it, is_new] = named.try_emplace(pass.scopes[o]);
      if (is_new) it->second = NamedAbove(entry.scope, pass.scopes[o]);
      std::string_view name = it->second;
      if (const uint32_t layer = layers.of_op[o]; name.empty() && layer != Segments::kNone) {
        if (NamesScope(entry.scope, layers.all[layer].name)) name = layers.all[layer].name;
      }
      if (name.empty()) continue;
      const auto [at, is_first] = own.try_emplace(std::string(name), static_cast<uint32_t>(segments.all.size()));
      if (is_first) segments.all.push_back({std::string(name), entry.policy, entry.held, entry.fused});
      segments.of_op[o] = at->second;
    }
    if (own.empty()) {
      return BadInput(StrCat("--remat: no module of the forward pass is named ", Quote(entry.scope),
                             Nearest(pass, layers, entry.scope)));
    }
  }
  return segments;
}

}  // namespace sbp
