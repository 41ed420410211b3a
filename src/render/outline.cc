// Steps: the tree of scopes, without cycles; a structural hash of every node; equal neighbours
// wrapped into repeats; what is still too long cut into ranges.
#include "render/outline.h"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/ids.h"
#include "base/text.h"
#include "graph/adopt.h"
#include "graph/graph.h"
#include "graph/kept.h"
#include "graph/phases.h"
#include "render/facts.h"
#include "render/repeats.h"
#include "render/scope_cycles.h"
#include "render/side_tables.h"
#include "render/training.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

class OutlineBuilder {
 public:
  OutlineBuilder(const Plan& plan, const OutlineOptions& options) : plan_(plan), options_(options) {}

  Outline Build() {
    out_.nodes.emplace_back();
    PlaceOps();
    BreakCycles(plan_.graph, out_);
    NumberItems();
    const size_t num_scopes = out_.nodes.size();
    HashNodes();
    for (size_t n = 0; n < num_scopes; ++n) WrapRepeats(n);
    for (size_t n = 0; n < num_scopes; ++n) WrapAlike(n);
    for (size_t n = 0; n < out_.nodes.size(); ++n) CutIntoRanges(n);
    MergeOnlyChildren();
    CountOps();
    return std::move(out_);
  }

 private:
  // The node of a scope, made on first sight under the nodes of its prefixes.
  uint32_t ScopeNode(std::string_view scope, uint32_t op) {
    const auto [known, is_new] = scope_node_.try_emplace(scope, 0);
    if (!is_new) return known->second;
    uint32_t node = 0;
    for (std::string_view part : Split(scope, '/')) {
      if (part.empty()) continue;
      if (out_.nodes[node].depth >= kMaxOutlineDepth) break;
      const auto [child, fresh] =
          children_.try_emplace({node, std::string(part)}, static_cast<uint32_t>(out_.nodes.size()));
      if (fresh) AddNode(OutlineNode::Kind::kScope, node, part, op);
      node = child->second;
    }
    return known->second = node;
  }

  uint32_t AddNode(OutlineNode::Kind kind, uint32_t parent, std::string_view label, uint32_t first_op) {
    const uint32_t index = static_cast<uint32_t>(out_.nodes.size());
    OutlineNode node;
    node.kind = kind;
    node.label = label;
    const std::string& above = out_.nodes[parent].path;
    node.path = above.empty() ? std::string(label) : StrCat(above, "/", label);
    node.parent = static_cast<int32_t>(parent);
    node.depth = out_.nodes[parent].depth + 1;
    node.first_op = first_op;
    out_.nodes.push_back(std::move(node));
    if (kind == OutlineNode::Kind::kScope) out_.nodes[parent].items.push_back({false, index});
    return index;
  }

  void PlaceOps() {
    const Graph& graph = plan_.graph;
    std::vector<std::string_view> scopes = AdoptScopes(graph);
    const bool training = HasBackward(graph);
    const std::vector<FramedScope> framed = training ? FrameScopes(graph, scopes) : std::vector<FramedScope>();
    for (size_t o = 0; o < framed.size(); ++o) scopes[o] = framed[o].path;
    const std::vector<bool> side = FindSideTables(graph);
    const std::string tables = training ? StrCat(PhaseName(Phase::kForward), "/", kSideTablesScope) : kSideTablesScope;
    for (size_t o = 0; o < scopes.size(); ++o) {
      if (side[o]) scopes[o] = tables;
    }
    out_.op_node.resize(graph.ops.size());
    for (uint32_t o = 0; o < graph.ops.size(); ++o) {
      const uint32_t node = ScopeNode(scopes[o], o);
      out_.nodes[node].stays_closed = out_.nodes[node].stays_closed || side[o] || (training && framed[o].is_vjp);
      out_.op_node[o] = static_cast<int32_t>(node);
      out_.nodes[node].items.push_back({true, o});
    }
    scope_node_.clear();  // its keys end here
  }

  void NumberItems() {
    place_.assign(out_.nodes.size(), 0);
    op_place_.assign(out_.op_node.size(), 0);
    for (const OutlineNode& node : out_.nodes) {
      for (uint32_t i = 0; i < node.items.size(); ++i) {
        (node.items[i].is_op ? op_place_ : place_)[node.items[i].index] = i;
      }
    }
  }

  // Every edge counts at the lowest node that holds both ends, by the places of the two items: a hash that is equal for
  // equal subtrees wherever they stand. A sum, so that the order of interleaved scopes does not matter.
  void HashEdges(std::vector<uint64_t>& sums) const {
    const Graph& graph = plan_.graph;
    for (uint32_t o = 0; o < graph.ops.size(); ++o) {
      for (size_t i = 0; i < graph.ops[o].inputs.size(); ++i) {
        const TensorId t = graph.ops[o].inputs[i];
        if (!t.valid() || !graph.tensor(t).producer.valid()) continue;
        const uint32_t p = graph.tensor(t).producer.value;
        uint32_t a = static_cast<uint32_t>(out_.op_node[p]), b = static_cast<uint32_t>(out_.op_node[o]);
        uint32_t place_a = op_place_[p], place_b = op_place_[o];
        while (a != b) {
          uint32_t& up = out_.nodes[a].depth > out_.nodes[b].depth ? a : b;
          (&up == &a ? place_a : place_b) = place_[up];
          up = static_cast<uint32_t>(out_.nodes[up].parent);
        }
        sums[a] += HashCombine(HashCombine(HashCombine(place_a, place_b), i), graph.tensor(t).producer_index);
      }
    }
  }

  void HashNodes() {
    op_hash_ = HashOps(plan_);
    node_hash_.assign(out_.nodes.size(), 0);
    std::vector<uint64_t> edges(out_.nodes.size(), 0);
    HashEdges(edges);
    for (size_t n = out_.nodes.size(); n-- > 0;) {  // children stand after their parents
      uint64_t hash = HashCombine(edges[n], out_.nodes[n].items.size());
      for (const OutlineItem& item : out_.nodes[n].items) hash = HashCombine(hash, ItemHash(item));
      node_hash_[n] = hash;
    }
  }

  uint64_t ItemHash(const OutlineItem& item) const {
    // A scope never equals an op, even by chance of an empty combination.
    return item.is_op ? op_hash_[item.index] : HashCombine(1, node_hash_[item.index]);
  }

  // Single ops and pairs repeat by chance (Add, Add): only windows that save a reader something are folded.
  bool WorthFolding(const OutlineNode& node, const Repeat& repeat) const {
    size_t scopes = 0;
    for (size_t i = 0; i < repeat.period; ++i) {
      const OutlineItem& item = node.items[repeat.begin + i];
      scopes += item.is_op || out_.nodes[item.index].stays_closed ? 0 : 1;
    }
    if (scopes > 0) return true;
    return repeat.period >= 8 || (repeat.period >= 3 && repeat.copies >= 3);
  }

  void WrapRepeats(size_t n) {
    constexpr size_t kWorkLimit = 40'000'000, kMaxPeriod = 512;  // a second at most for a flat graph of a million ops
    const size_t count = out_.nodes[n].items.size();
    if (count < 2) return;
    std::vector<uint64_t> hashes;
    hashes.reserve(count);
    for (const OutlineItem& item : out_.nodes[n].items) hashes.push_back(ItemHash(item));
    std::vector<OutlineItem> wrapped;
    size_t next = 0;
    for (const Repeat& repeat : FindRepeats(hashes, std::clamp<size_t>(kWorkLimit / count, 8, kMaxPeriod))) {
      if (!WorthFolding(out_.nodes[n], repeat)) continue;
      wrapped.insert(wrapped.end(), out_.nodes[n].items.begin() + next, out_.nodes[n].items.begin() + repeat.begin);
      wrapped.push_back({false, MakeRepeat(n, repeat)});
      next = repeat.begin + repeat.period * repeat.copies;
    }
    if (wrapped.empty()) return;
    wrapped.insert(wrapped.end(), out_.nodes[n].items.begin() + next, out_.nodes[n].items.end());
    out_.nodes[n].items = std::move(wrapped);
  }

  // Types of the ops of an item, where these are few; "" else.
  std::string TypesOf(const OutlineItem& item) const {
    constexpr size_t kFew = 3;
    const auto type = [&](const OutlineItem& op) { return StrCat(plan_.graph.ops[op.index].type, " "); };
    if (item.is_op) return type(item);
    const OutlineNode& node = out_.nodes[item.index];
    std::string types;
    for (const OutlineItem& inner : node.items) {
      if (!inner.is_op || node.items.size() > kFew) return "";
      types += type(inner);
    }
    return types;
  }
  std::vector<uint32_t> OpsOfFew(const OutlineItem& item) const {
    if (item.is_op) return {item.index};
    std::vector<uint32_t> ops;
    for (const OutlineItem& inner : out_.nodes[item.index].items) ops.push_back(inner.index);
    return ops;
  }

  // Do only parameters and inputs come in, one parameter or more among them? So of an embedding.
  bool ReadsSourcesOnly(const OutlineItem& item) const {
    const std::vector<uint32_t> ops = OpsOfFew(item);
    bool has_parameter = false;
    for (const uint32_t o : ops) {
      for (const TensorId id : plan_.graph.OperandsOf(plan_.graph.ops[o])) {
        if (!id.valid()) continue;
        const Tensor& tensor = plan_.graph.tensor(id);
        has_parameter = has_parameter || tensor.role == TensorRole::kParameter;
        const bool inside = tensor.producer.valid() && std::ranges::find(ops, tensor.producer.value) != ops.end();
        if (tensor.role == TensorRole::kActivation && !inside) return false;
      }
    }
    return has_parameter;
  }

  // Many embeddings beside each other, of tables of any size: equal but for shapes, so no repeat.
  void WrapAlike(size_t n) {
    constexpr size_t kMany = 6;
    if (out_.nodes[n].kind == OutlineNode::Kind::kRepeat || out_.nodes[n].items.size() < kMany) return;
    const std::vector<OutlineItem> items = std::move(out_.nodes[n].items);
    std::vector<OutlineItem> wrapped;
    for (size_t begin = 0; begin < items.size();) {
      const std::string types = TypesOf(items[begin]);
      size_t end = begin;
      while (!types.empty() && end < items.size() && TypesOf(items[end]) == types && ReadsSourcesOnly(items[end]))
        ++end;
      if (end - begin >= kMany) {
        const uint32_t range = MakeRange(static_cast<uint32_t>(n), {items.data() + begin, end - begin});
        out_.nodes[range].stays_closed = true;
        wrapped.push_back({false, range});
      } else {
        end = std::max(end, begin + 1);
        wrapped.insert(wrapped.end(), items.begin() + static_cast<ptrdiff_t>(begin),
                       items.begin() + static_cast<ptrdiff_t>(end));
      }
      begin = end;
    }
    out_.nodes[n].items = std::move(wrapped);
  }

  std::string ItemLabel(const OutlineItem& item) const {
    return item.is_op ? plan_.graph.ops[item.index].name : out_.nodes[item.index].label;
  }
  // "first .. last". Ops within a scope go without it, and of ranges only the ends are named.
  std::string RangeLabel(size_t parent, const OutlineItem& first, const OutlineItem& last) const {
    constexpr std::string_view kTo = " .. ";
    const bool scoped = !out_.nodes[parent].path.empty();
    const auto label = [&](const OutlineItem& item) {
      return item.is_op && scoped ? NameTail(ItemLabel(item)) : ItemLabel(item);
    };
    const std::string from = label(first), to = label(last);
    const size_t end = to.rfind(kTo);
    return StrCat(from.substr(0, from.find(kTo)), kTo, end == std::string::npos ? to : to.substr(end + kTo.size()));
  }
  uint32_t FirstOp(const OutlineItem& item) const { return item.is_op ? item.index : out_.nodes[item.index].first_op; }

  uint32_t MakeRepeat(size_t parent, const Repeat& repeat) {
    const std::vector<OutlineItem> items(
        out_.nodes[parent].items.begin() + repeat.begin,
        out_.nodes[parent].items.begin() + repeat.begin + repeat.period * repeat.copies);
    // Layers are differentiated last to first: the first one stands for all there, too, as in the forward pass.
    const bool reversed = PhaseOfScope(out_.nodes[parent].path) == Phase::kBackward;
    const OutlineItem first = reversed ? items.back() : items.front(), last = reversed ? items.front() : items.back();
    const uint32_t node =
        AddNode(OutlineNode::Kind::kRepeat, parent, RangeLabel(parent, first, last), FirstOp(items[0]));
    std::vector<OutlineItem> copies;
    for (size_t c = 0; c < repeat.copies; ++c) {
      const size_t place = reversed ? repeat.copies - 1 - c : c;
      const std::span<const OutlineItem> window(items.data() + place * repeat.period, repeat.period);
      copies.push_back(repeat.period == 1 ? window[0] : OutlineItem{false, MakeRange(node, window)});
      if (repeat.period == 1) SetParent(window[0], node);
    }
    out_.nodes[node].items = std::move(copies);
    return node;
  }

  uint32_t MakeRange(uint32_t parent, std::span<const OutlineItem> window) {
    const std::string label = RangeLabel(parent, window.front(), window.back());
    const uint32_t node = AddNode(OutlineNode::Kind::kRange, parent, label, FirstOp(window[0]));
    out_.nodes[node].items.assign(window.begin(), window.end());
    for (const OutlineItem& item : window) SetParent(item, node);
    return node;
  }

  void SetParent(const OutlineItem& item, uint32_t parent) {
    (item.is_op ? out_.op_node[item.index] : out_.nodes[item.index].parent) = static_cast<int32_t>(parent);
  }

  // Like the levels of a B-tree: neighbours become ranges until no node has too many items.
  void CutIntoRanges(size_t n) {
    constexpr size_t kPerRange = 32;
    if (out_.nodes[n].kind == OutlineNode::Kind::kRepeat) return;
    while (out_.nodes[n].items.size() > std::max<size_t>(options_.max_items, kPerRange * 2)) {
      const std::vector<OutlineItem> items = std::move(out_.nodes[n].items);
      std::vector<OutlineItem> ranges;
      const size_t parts = (items.size() + kPerRange - 1) / kPerRange;
      for (size_t part = 0; part < parts; ++part) {
        const Range range = BalancedPart({0, static_cast<int64_t>(items.size())}, static_cast<int64_t>(parts),
                                         static_cast<int64_t>(part));
        ranges.push_back({false, MakeRange(static_cast<uint32_t>(n),
                                           {items.data() + range.begin, static_cast<size_t>(range.size())})});
      }
      out_.nodes[n].items = std::move(ranges);
    }
  }

  // A scope that holds nothing but one other scope is one frame: "model/decoder".
  void MergeOnlyChildren() {
    for (size_t n = 0; n < out_.nodes.size(); ++n) {
      while (out_.nodes[n].items.size() == 1 && !out_.nodes[n].items[0].is_op) {
        OutlineNode& child = out_.nodes[out_.nodes[n].items[0].index];
        if (child.kind == OutlineNode::Kind::kRepeat || out_.nodes[n].kind == OutlineNode::Kind::kRepeat) break;
        OutlineNode& node = out_.nodes[n];
        node.label = node.label.empty() ? child.label : StrCat(node.label, "/", child.label);
        node.path = child.path;
        node.stays_closed |= child.stays_closed;
        const std::vector<OutlineItem> items = std::move(child.items);
        for (const OutlineItem& item : items) SetParent(item, static_cast<uint32_t>(n));
        child.items.clear();
        node.items = items;
      }
    }
  }

  void CountOps() {
    for (uint32_t o = 0; o < out_.op_node.size(); ++o) {
      for (int32_t n = out_.op_node[o]; n >= 0; n = out_.nodes[n].parent) ++out_.nodes[n].num_ops;
    }
    // Wrapping changed the levels.
    std::vector<uint32_t> stack = {0};
    out_.nodes[0].depth = 0;
    while (!stack.empty()) {
      const uint32_t n = stack.back();
      stack.pop_back();
      for (const OutlineItem& item : out_.nodes[n].items) {
        if (item.is_op) continue;
        out_.nodes[item.index].depth = out_.nodes[n].depth + 1;
        stack.push_back(item.index);
      }
    }
  }

  struct ChildHash {
    size_t operator()(const std::pair<uint32_t, std::string>& key) const {
      return HashCombine(key.first, HashOf(key.second));
    }
  };

  const Plan& plan_;
  const OutlineOptions& options_;
  Outline out_;
  std::unordered_map<std::string_view, uint32_t> scope_node_;
  std::unordered_map<std::pair<uint32_t, std::string>, uint32_t, ChildHash> children_;
  std::vector<uint32_t> place_, op_place_;  // of a scope or op among the items of its parent, before wrapping
  std::vector<uint64_t> op_hash_, node_hash_;
};

}  // namespace

Outline BuildOutline(const Plan& plan, const OutlineOptions& options) { return OutlineBuilder(plan, options).Build(); }

}  // namespace sbp
