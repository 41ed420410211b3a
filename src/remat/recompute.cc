#include "remat/recompute.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/checked_math.h"
#include "base/text.h"
#include "fusion/op_traits.h"
#include "graph/again.h"
#include "graph/each_operand.h"
#include "graph/families.h"
#include "graph/held.h"
#include "graph/kept.h"
#include "graph/phases.h"
#include "graph/tensor_type.h"
#include "remat/attention.h"
#include "remat/segments.h"

namespace sbp {
namespace {

// Is all that the op makes tensors, and does it run no body?
bool MayRunAgain(const Graph& graph, const Op& op) {
  if (!op.captures.empty() || HasSubgraph(*op.attributes) || graph.type_of(op) == kRefetchOp) return false;
  const auto is_tensor = [&](TensorId id) { return !id.valid() || graph.tensor(id).type.kind == ValueKind::kTensor; };
  return std::ranges::all_of(op.outputs, is_tensor) && std::ranges::all_of(op.inputs, is_tensor);
}

// Of activations with parameters, such as a linear layer.
bool IsLinearLayer(const Op& op, const OpTraits& traits, const std::vector<bool>& of_parameters) {
  const auto is_of_parameters = [&](TensorId id) { return id.valid() && of_parameters[id.index()]; };
  return traits.kind == OpTraits::Kind::kContraction && std::ranges::any_of(op.inputs, is_of_parameters) &&
         std::ranges::none_of(op.outputs, is_of_parameters);
}

class Recomputer {
 public:
  Recomputer(Graph& graph, const Segments& segments, std::span<const TensorId> needed, const RuleSet& rules)
      : graph_(graph), segments_(segments), traits_(TraitsOfOps(graph, rules)) {
    FindNeeded(needed);
  }

  RematSummary Run() {
    RematSummary summary;
    Choose();
    again_.swap(none_);
    Demand();
    summary.kept_bytes_before = KeptBytes();
    again_.swap(none_);
    Demand();
    KeepWhatSavesNothing();
    Demand();
    summary.kept_bytes = KeptBytes();
    Hold();
    std::unordered_set<uint32_t> touched;
    for (size_t o = 0; o < graph_.ops.size(); ++o) {
      if (!IsCopied(o)) continue;
      ++summary.ops;
      touched.insert(segments_.of_op[o]);
    }
    summary.segments = static_cast<int64_t>(touched.size());
    if (summary.ops > 0) Rewrite();
    return summary;
  }

 private:
  enum class Part : uint8_t { kUnneeded, kForward, kBackward, kOther };

  void FindNeeded(std::span<const TensorId> needed) {
    std::vector<bool> is_needed(graph_.tensors.size(), false);
    for (const TensorId id : needed) is_needed[id.index()] = true;
    for (const TensorId id : graph_.outputs) is_needed[id.index()] = true;
    parts_.assign(graph_.ops.size(), Part::kUnneeded);
    for (size_t o = graph_.ops.size(); o-- > 0;) {
      const Op& op = graph_.ops[o];
      const auto is_read = [&](TensorId id) { return id.valid() && is_needed[id.index()]; };
      if (std::ranges::none_of(op.outputs, is_read)) continue;
      EachOperand(op, [&](TensorId id) { is_needed[id.index()] = true; });
      const Phase phase = PhaseOf(graph_, op);
      parts_[o] = phase == Phase::kForward    ? Part::kForward
                  : phase == Phase::kBackward ? Part::kBackward
                                              : Part::kOther;
    }
  }

  bool HasProduct(size_t o) const {
    return traits_[o].kind == OpTraits::Kind::kContraction || traits_[o].kind == OpTraits::Kind::kAnchor;
  }

  // What segments do not keep.
  void Choose() {
    const std::vector<bool> of_parameters = OfParameters(graph_);
    const std::vector<bool> scores = FindScores(graph_, traits_, of_parameters);
    again_.assign(graph_.tensors.size(), false);
    none_.assign(graph_.tensors.size(), false);
    std::vector<uint32_t> linear_layers(segments_.all.size(), 0);  // per segment, so far
    for (size_t o = 0; o < graph_.ops.size(); ++o) {
      const uint32_t segment = segments_.of_op[o];
      if (parts_[o] != Part::kForward || segment == Segments::kNone) continue;
      const bool has_product = HasProduct(o);
      bool runs = MayRunAgain(graph_, graph_.ops[o]);
      switch (segments_.all[segment].policy) {
        case RematPolicy::kNone:
          runs = false;
          break;
        case RematPolicy::kLight:  // a part of attention alone would keep it from being one kernel
          runs = runs && !has_product && !scores[o];
          break;
        case RematPolicy::kSelective:
          runs = runs && (!has_product || scores[o]);
          break;
        case RematPolicy::kAlternate: {
          const bool is_second =
              IsLinearLayer(graph_.ops[o], traits_[o], of_parameters) && linear_layers[segment]++ % 2 == 1;
          runs = runs && (!has_product || scores[o] || is_second);
          break;
        }
        case RematPolicy::kFull:
          break;
      }
      if (!runs) continue;
      for (const TensorId id : graph_.ops[o].outputs) {
        if (id.valid()) again_[id.index()] = !of_parameters[id.index()];
      }
    }
    for (size_t o = 0; o < graph_.ops.size(); ++o) {
      if (parts_[o] != Part::kBackward || !HasProduct(o)) continue;
      EachOperand(graph_.ops[o], [&](TensorId id) {
        if (!again_[id.index()]) return;
        const uint32_t segment = segments_.of_op[graph_.tensor(id).producer.index()];
        if (segments_.all[segment].fused) again_[id.index()] = false;
      });
    }
    // Borders.
    for (size_t o = 0; o < graph_.ops.size(); ++o) {
      if (parts_[o] == Part::kUnneeded || parts_[o] == Part::kBackward) continue;
      EachOperand(graph_.ops[o], [&](TensorId id) {
        const OpId producer = graph_.tensor(id).producer;
        if (producer.valid() && segments_.of_op[producer.index()] != segments_.of_op[o]) again_[id.index()] = false;
      });
    }
    for (const TensorId id : graph_.outputs) again_[id.index()] = false;
  }

  // Which tensors are read again, by the backward pass or by copies; of forward tensors, how many such readers.
  void Demand() {
    readers_.assign(graph_.tensors.size(), 0);
    const auto read = [&](TensorId id) { ++readers_[id.index()]; };
    for (size_t o = 0; o < graph_.ops.size(); ++o) {
      if (parts_[o] == Part::kBackward) EachOperand(graph_.ops[o], read);
    }
    for (size_t o = graph_.ops.size(); o-- > 0;) {
      if (IsCopied(o)) EachOperand(graph_.ops[o], read);
    }
  }
  bool IsDemanded(TensorId id) const { return id.valid() && again_[id.index()] && readers_[id.index()] > 0; }
  bool IsCopied(size_t o) const {
    const auto is_demanded = [this](TensorId id) { return IsDemanded(id); };
    return parts_[o] == Part::kForward && std::ranges::any_of(graph_.ops[o].outputs, is_demanded);
  }
  bool IsOfForwardPass(TensorId id) const {
    const OpId producer = graph_.tensor(id).producer;
    return producer.valid() && parts_[producer.index()] == Part::kForward;
  }

  int64_t BytesOf(TensorId id) const { return graph_.tensor(id).type.num_bytes(); }

  int64_t KeptBytes() const {
    const std::vector<bool> of_parameters = OfParameters(graph_);
    int64_t bytes = 0;
    for (size_t t = 0; t < graph_.tensors.size(); ++t) {
      if (readers_[t] == 0 || again_[t] || of_parameters[t] || !IsOfForwardPass(TensorId(t))) continue;
      bytes = SaturatingAdd(bytes, BytesOf(TensorId(t)));
    }
    return bytes;
  }

  // From the front, so that what follows sees what is kept now. What is held spares nothing when it is not read.
  void KeepWhatSavesNothing() {
    for (size_t o = 0; o < graph_.ops.size(); ++o) {
      if (!IsCopied(o) || segments_.all[segments_.of_op[o]].held) continue;
      const Op& op = graph_.ops[o];
      int64_t in = 0, out = 0;
      bool any = false;
      for (const TensorId id : op.inputs) {
        if (!id.valid() || again_[id.index()] || !IsOfForwardPass(id) || readers_[id.index()] != 1) continue;
        in = SaturatingAdd(in, BytesOf(id));
        any = true;
      }
      for (const TensorId id : op.outputs) {
        if (IsDemanded(id)) out = SaturatingAdd(out, BytesOf(id));
      }
      if (!any || in < out) continue;
      for (const TensorId id : op.outputs) {
        if (id.valid()) again_[id.index()] = false;
      }
      for (const TensorId id : op.inputs) {
        if (id.valid()) --readers_[id.index()];
      }
    }
  }

  // Per segment the last op of its backward pass: in its modules, or reading what it makes; "": none.
  std::vector<std::string_view> LastOfBackward() const {
    std::unordered_map<std::string_view, uint32_t> modules;
    for (size_t o = 0; o < graph_.ops.size(); ++o) {
      const std::string_view scope = graph_.scope_of(graph_.ops[o]);
      if (parts_[o] == Part::kForward && !scope.empty()) modules.try_emplace(scope, segments_.of_op[o]);
    }
    std::vector<std::string_view> ends(segments_.all.size());
    for (size_t o = 0; o < graph_.ops.size(); ++o) {
      if (parts_[o] != Part::kBackward) continue;
      const Op& op = graph_.ops[o];
      const auto ends_with_op = [&](uint32_t segment) {
        if (segment != Segments::kNone) ends[segment] = op.name;
      };
      std::string_view scope = graph_.scope_of(op);
      scope.remove_prefix(std::min(scope.size(), kBackwardScope.size() + 1));
      if (const auto module = modules.find(scope); module != modules.end()) ends_with_op(module->second);
      EachOperand(op, [&](TensorId id) {
        if (IsOfForwardPass(id)) ends_with_op(segments_.of_op[graph_.tensor(id).producer.index()]);
      });
    }
    return ends;
  }

  // What segments hold (RematEntry::held).
  void Hold() {
    const auto holds = [](const Segment& segment) { return segment.held; };
    if (std::ranges::none_of(segments_.all, holds)) return;
    const std::vector<std::string_view> ends = LastOfBackward();
    for (size_t o = 0; o < graph_.ops.size(); ++o) {
      const uint32_t segment = segments_.of_op[o];
      if (parts_[o] != Part::kForward || segment == Segments::kNone || !segments_.all[segment].held) continue;
      const bool has_product = HasProduct(o);
      const auto is_read = [&](TensorId id) { return id.valid() && readers_[id.index()] > 0; };
      const auto is_again = [&](TensorId id) { return id.valid() && again_[id.index()]; };
      const std::vector<TensorId>& results = graph_.ops[o].outputs;
      const bool is_kept = segments_.all[segment].policy == RematPolicy::kNone
                               ? std::ranges::any_of(results, is_read)
                               : has_product && std::ranges::none_of(results, is_again);
      if (!is_kept || ends[segment].empty()) continue;
      graph_.ops[o].metadata.emplace_back(kHeldUntil, ends[segment]);
    }
  }

  void Rewrite() {
    CollectNames();
    copies_.assign(graph_.tensors.size(), TensorId());
    is_made_.assign(graph_.ops.size(), false);
    std::vector<Op> old = std::move(graph_.ops);
    graph_.ops.clear();
    graph_.ops.reserve(old.size() + old.size() / 4);
    for (size_t o = 0; o < old.size(); ++o) {
      if (parts_[o] == Part::kBackward) {
        std::vector<uint32_t> chain;
        EachOperand(old[o], [&](TensorId id) { Reach(id, old, chain); });
        std::ranges::sort(chain);  // the order of the forward pass
        for (const uint32_t at : chain) Copy(old[at]);
        for (auto* list : {&old[o].inputs, &old[o].captures}) {
          for (TensorId& id : *list) id = CopyOf(id);
        }
      }
      // Ops that are copied further on stay readable.
      graph_.ops.push_back(parts_[o] == Part::kForward ? old[o] : std::move(old[o]));
    }
    for (size_t o = 0; o < graph_.ops.size(); ++o) {
      for (const TensorId id : graph_.ops[o].outputs) {
        if (id.valid()) graph_.tensor(id).producer = OpId(o);
      }
    }
  }

  // Ops that must be copied before a copy of the tensor is there, and are not yet.
  void Reach(TensorId id, const std::vector<Op>& old, std::vector<uint32_t>& chain) {
    std::vector<TensorId> open = {id};
    while (!open.empty()) {
      const TensorId at = open.back();
      open.pop_back();
      if (at.index() >= again_.size() || !IsDemanded(at)) continue;
      const OpId producer = graph_.tensor(at).producer;
      if (is_made_[producer.index()]) continue;
      is_made_[producer.index()] = true;
      chain.push_back(static_cast<uint32_t>(producer.index()));
      EachOperand(old[producer.index()], [&](TensorId input) { open.push_back(input); });
    }
  }

  TensorId CopyOf(TensorId id) const {
    const bool is_copied = id.valid() && id.index() < copies_.size() && copies_[id.index()].valid();
    return is_copied ? copies_[id.index()] : id;
  }

  void Copy(const Op& op) {
    Op copy = op;
    copy.name = Unique(op.name, op_names_);
    copy.scope = ScopeOf(op.scope);
    for (TensorId& id : copy.inputs) id = CopyOf(id);
    for (TensorId& id : copy.outputs) {
      if (!IsDemanded(id)) {
        id = TensorId();
        continue;
      }
      Tensor tensor = graph_.tensor(id);
      tensor.name = Unique(tensor.name, tensor_names_);
      copies_[id.index()] = TensorId(graph_.tensors.size());
      id = copies_[id.index()];
      graph_.tensors.push_back(std::move(tensor));
    }
    graph_.ops.push_back(std::move(copy));
  }

  // Those of a model that begin so.
  void CollectNames() {
    for (const Op& op : graph_.ops) {
      if (op.name.starts_with(kAgain)) op_names_.insert(op.name);
    }
    for (const Tensor& tensor : graph_.tensors) {
      if (tensor.name.starts_with(kAgain)) tensor_names_.insert(tensor.name);
    }
  }

  static std::string Unique(const std::string& of, std::set<std::string, std::less<>>& taken) {
    std::string name = StrCat(kAgain, of);
    if (taken.empty()) return name;
    for (int i = 2; taken.contains(name); ++i) name = StrCat(kAgain, of, "/", i);
    taken.insert(name);
    return name;
  }

  uint32_t ScopeOf(uint32_t scope) {
    const auto [it, is_new] = scopes_.try_emplace(scope, static_cast<uint32_t>(graph_.scopes.size()));
    if (is_new) {
      const std::string own = graph_.scopes[scope];
      graph_.scopes.push_back(own.empty() ? std::string(kAgainScope) : StrCat(kAgainScope, "/", own));
    }
    return it->second;
  }

  Graph& graph_;
  const Segments& segments_;
  const std::vector<OpTraits> traits_;
  std::vector<Part> parts_;                        // per op
  std::vector<bool> again_, none_;                 // per tensor: is it computed again where it is read again?
  std::vector<uint32_t> readers_;                  // per tensor, see Demand
  std::vector<TensorId> copies_;                   // per tensor, once made
  std::vector<bool> is_made_;                      // per op: its copy
  std::unordered_map<uint32_t, uint32_t> scopes_;  // of an op -> of its copy
  std::set<std::string, std::less<>> op_names_, tensor_names_;
};

}  // namespace

Result<RematSummary> Recompute(Graph& graph, std::span<const TensorId> needed, std::span<const RematEntry> entries,
                               const RuleSet& rules) {
  SBP_ASSIGN_OR_RETURN(const Segments segments, FindSegments(graph, entries));
  const auto keeps = [](const Segment& segment) { return segment.policy == RematPolicy::kNone && !segment.held; };
  if (std::ranges::all_of(segments.all, keeps)) return RematSummary();
  return Recomputer(graph, segments, needed, rules).Run();
}

}  // namespace sbp
