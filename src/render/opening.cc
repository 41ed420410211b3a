#include "render/opening.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string_view>
#include <unordered_map>

#include "base/text.h"
#include "graph/phases.h"
#include "naming/module_index.h"
#include "render/outline.h"
#include "render/outline_tree.h"

namespace sbp {
namespace {

// Updates say little beside the layer whose they are: they are opened by their own names.
bool Matches(const std::string& pattern, const std::string& path) {
  if (PhaseOfScope(path) == Phase::kOptimizer && pattern != "*" && !pattern.starts_with(kOptimizerScope)) return false;
  const auto scoped = ReadScopedName(pattern);  // a role does not matter here
  return GlobMatch(pattern, path) || GlobMatch("*/" + pattern, path) ||
         NamesScope(scoped ? scoped->scope : pattern, path);
}

class Opener {
 public:
  Opener(const Outline& outline, const std::vector<uint32_t>& weights, std::vector<bool> wanted,
         const OpeningOptions& options)
      : outline_(outline), weights_(weights), wanted_(std::move(wanted)), options_(options) {
    opening_.open.assign(outline.nodes.size(), false);
    FindCounterparts();
  }

  Opening Run() {
    opening_.open[0] = true;
    total_ = ItemsWeight(outline_.nodes[0]);
    std::deque<uint32_t> queue;
    Enqueue(outline_.nodes[0], queue);
    while (!queue.empty()) {
      const uint32_t n = queue.front();
      queue.pop_front();
      const OutlineNode& node = outline_.nodes[n];
      if (node.kind == OutlineNode::Kind::kRepeat) {
        OpenRepeat(n, queue);
        continue;
      }
      const bool is_left = node.stays_closed || PhaseOfScope(node.path) == Phase::kOptimizer;
      if (is_left && !wanted_[n] && !options_.open_parts) continue;
      if (!MayOpen(n)) {
        ++opening_.closed_for_size;
        opening_.closed_though_wanted += wanted_[n] ? 1 : 0;
        continue;
      }
      opening_.open[n] = true;
      Enqueue(node, queue);
    }
    return std::move(opening_);
  }

 private:
  // The scopes of the backward pass by what they are called in the forward pass.
  void FindCounterparts() {
    const std::string_view forward = PhaseName(Phase::kForward);
    std::unordered_map<std::string_view, uint32_t> backward;
    for (uint32_t n = 0; n < outline_.nodes.size(); ++n) {
      const OutlineNode& node = outline_.nodes[n];
      const bool is_frame = node.kind != OutlineNode::Kind::kRepeat && PhaseOfScope(node.path) == Phase::kBackward;
      if (is_frame) backward.emplace(std::string_view(node.path).substr(kBackwardScope.size()), n);
    }
    decided_.assign(outline_.nodes.size(), Decision::kUndecided);
    counterpart_.assign(outline_.nodes.size(), -1);
    has_forward_.assign(outline_.nodes.size(), false);
    is_training_ = !backward.empty();
    if (!is_training_) return;
    for (uint32_t n = 0; n < outline_.nodes.size(); ++n) {
      const std::string_view path = outline_.nodes[n].path;
      if (outline_.nodes[n].kind == OutlineNode::Kind::kRepeat || !path.starts_with(forward)) continue;
      const auto found = backward.find(path.substr(forward.size()));
      if (found == backward.end()) continue;
      counterpart_[n] = static_cast<int32_t>(found->second);
      has_forward_[found->second] = true;
    }
  }

  // A scope of the forward pass is opened with the same one of the backward pass, or neither is: nor is one whose
  // counterpart is folded into another layer.
  bool MayOpen(uint32_t n) {
    if (decided_[n] != Decision::kUndecided) return decided_[n] == Decision::kYes;
    if (has_forward_[n] && !wanted_[n]) return false;
    size_t more = ItemsWeight(outline_.nodes[n]) - 1;
    if (counterpart_[n] >= 0) more += ItemsWeight(outline_.nodes[counterpart_[n]]) - 1;
    const bool fits = Fits(n, more);
    if (counterpart_[n] >= 0) decided_[counterpart_[n]] = fits ? Decision::kYes : Decision::kNo;
    return fits;
  }

  bool Fits(uint32_t node, size_t more) {
    const size_t limit = wanted_[node] ? std::max(options_.max_nodes, options_.max_expanded) : options_.max_nodes;
    if (total_ + more > limit) return false;
    total_ += more;
    return true;
  }

  size_t ItemsWeight(const OutlineNode& node) const {
    size_t weight = 0;
    for (const OutlineItem& item : node.items) weight += item.is_op ? weights_[item.index] : 1;
    return std::max<size_t>(weight, 1);
  }

  void OpenRepeat(uint32_t n, std::deque<uint32_t>& queue) {
    const OutlineNode& node = outline_.nodes[n];
    if (wanted_[n] && Fits(n, node.items.size() - 1)) {
      opening_.open[n] = true;
      Enqueue(node, queue);
    } else if (!node.items.front().is_op) {
      // A repeat is no level: in a training step the forward pass goes first on each.
      if (is_training_) {
        queue.push_front(node.items.front().index);
      } else {
        queue.push_back(node.items.front().index);
      }
    }
  }

  static void Enqueue(const OutlineNode& node, std::deque<uint32_t>& queue) {
    for (const OutlineItem& item : node.items) {
      if (!item.is_op) queue.push_back(item.index);
    }
  }

  const Outline& outline_;
  const std::vector<uint32_t>& weights_;
  const std::vector<bool> wanted_;
  const OpeningOptions& options_;
  Opening opening_;
  size_t total_ = 0;
  enum class Decision : uint8_t { kUndecided, kYes, kNo };
  std::vector<Decision> decided_;
  std::vector<int32_t> counterpart_;  // of scopes of the forward pass; -1: none
  std::vector<bool> has_forward_;     // of scopes of the backward pass
  bool is_training_ = false;
};

}  // namespace

// Marks the nodes that patterns name, and all nodes around them. A copy other than the first can only be shown by
// opening its repeat.
Result<std::vector<bool>> WantedNodes(const Outline& outline, const std::vector<std::string>& patterns) {
  std::vector<bool> wanted(outline.nodes.size(), false);
  for (std::string pattern : patterns) {
    if (pattern.size() > 1 && pattern.front() == '/') pattern.erase(0, 1);
    bool found = pattern == "*";
    for (size_t n = 0; n < outline.nodes.size(); ++n) {
      if (!Matches(pattern, outline.nodes[n].path)) continue;
      found = true;
      int32_t child = -1;
      for (int32_t at = static_cast<int32_t>(n); at >= 0; child = at, at = outline.nodes[at].parent) {
        const OutlineNode& node = outline.nodes[at];
        const bool needed = node.kind != OutlineNode::Kind::kRepeat || child < 0 ||
                            node.items.front().index != static_cast<uint32_t>(child);
        if (needed) wanted[at] = true;
      }
    }
    if (found) continue;
    std::vector<std::string> known;
    for (size_t n = 1; n < outline.nodes.size() && known.size() < 1000; ++n) known.push_back(outline.nodes[n].path);
    return BadInput(
        StrCat("--expand ", Quote(pattern), ": no scope of the graph has this name", DidYouMean(pattern, known)));
  }
  return wanted;
}

// Links every op of a copy to its counterpart in the first copy; nested folds are followed to the end.
std::vector<uint32_t> StandIns(const Outline& outline, const std::vector<bool>& open) {
  std::vector<uint32_t> stand_in(outline.op_node.size());
  for (uint32_t o = 0; o < stand_in.size(); ++o) stand_in[o] = o;
  std::vector<uint32_t> repeats;  // outermost first
  for (uint32_t n = 0; n < outline.nodes.size(); ++n) {
    if (outline.nodes[n].kind == OutlineNode::Kind::kRepeat && outline.nodes[n].num_ops > 0) repeats.push_back(n);
  }
  std::stable_sort(repeats.begin(), repeats.end(),
                   [&](uint32_t a, uint32_t b) { return outline.nodes[a].depth < outline.nodes[b].depth; });
  for (uint32_t n : repeats) {
    if (open[n]) continue;
    const std::vector<OutlineItem>& copies = outline.nodes[n].items;
    const std::vector<uint32_t> first = outline.OpsOf(copies[0].index);
    for (size_t c = 1; c < copies.size(); ++c) {
      const std::vector<uint32_t> ops = outline.OpsOf(copies[c].index);
      for (size_t i = 0; i < std::min(ops.size(), first.size()); ++i) {
        if (stand_in[ops[i]] == ops[i]) stand_in[ops[i]] = first[i];
      }
    }
  }
  // A counterpart may itself lie in a copy of an inner fold. Links lead to other first copies only, so walks end.
  for (uint32_t o = 0; o < stand_in.size(); ++o) {
    uint32_t at = stand_in[o];
    for (uint32_t steps = 0; stand_in[at] != at && steps < 2 * kMaxOutlineDepth; ++steps) at = stand_in[at];
    stand_in[o] = at;
  }
  return stand_in;
}

Result<Opening> ChooseOpening(const Outline& outline, const std::vector<uint32_t>& op_weights,
                              const OpeningOptions& options) {
  SBP_ASSIGN_OR_RETURN(std::vector<bool> wanted, WantedNodes(outline, options.expand));
  Opening opening = Opener(outline, op_weights, std::move(wanted), options).Run();
  opening.stand_in = StandIns(outline, opening.open);
  return opening;
}

}  // namespace sbp
