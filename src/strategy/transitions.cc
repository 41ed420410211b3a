#include "strategy/transitions.h"

#include <algorithm>

#include "base/text.h"

namespace sbp {
namespace {

// A layout in which the tensor comes to stand, reached by one collective from its parent.
struct Node {
  NdSbp layout;
  int parent = -1;
  int demand = -1;  // index; -1: nobody wants it, it is passed through
  int children = 0;
  uint32_t time = 0;
  BoxingStep step;  // from the parent
};

class LayoutTree {
 public:
  LayoutTree(const TensorType& type, const NdSbp& written, BoxingTable& boxing) : type_(type), boxing_(boxing) {
    nodes_.push_back({.layout = written});
  }

  // False: the layout cannot be reached.
  bool Add(const NdSbp& wanted, int demand, uint32_t time) {
    int node = Find(wanted);
    if (node < 0) {
      const int start = CheapestStart(wanted);
      if (start < 0) return false;
      node = Grow(start, boxing_.Path(type_, nodes_[start].layout, wanted), time);
    }
    nodes_[node].demand = demand;
    return true;
  }

  // A node where a transition ends: somebody wants it, or several paths go on from it.
  bool IsStop(int node) const { return node == 0 || nodes_[node].demand >= 0 || nodes_[node].children > 1; }
  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  int Find(const NdSbp& layout) const {
    for (size_t n = 0; n < nodes_.size(); ++n) {
      if (nodes_[n].layout == layout) return static_cast<int>(n);
    }
    return -1;
  }

  int CheapestStart(const NdSbp& wanted) {
    int best = -1;
    double best_seconds = 0;
    size_t best_steps = 0;
    for (size_t n = 0; n < nodes_.size(); ++n) {
      const BoxingPath& path = boxing_.Path(type_, nodes_[n].layout, wanted);
      if (!path.reachable) continue;
      const bool better =
          best < 0 || path.seconds < best_seconds || (path.seconds == best_seconds && path.steps.size() < best_steps);
      if (!better) continue;
      best = static_cast<int>(n);
      best_seconds = path.seconds;
      best_steps = path.steps.size();
    }
    return best;
  }

  int Grow(int start, const BoxingPath& path, uint32_t time) {
    int node = start;
    for (const BoxingStep& step : path.steps) {
      const int known = Find(step.to);
      if (known >= 0) {
        node = known;
        continue;
      }
      ++nodes_[node].children;
      nodes_.push_back({.layout = step.to, .parent = node, .time = time, .step = step});
      node = static_cast<int>(nodes_.size()) - 1;
    }
    return node;
  }

  const TensorType& type_;
  BoxingTable& boxing_;
  std::vector<Node> nodes_;  // parents before children, times ascend
};

TimedTransition TransitionTo(int node, TensorId tensor, const LayoutTree& tree, const std::vector<Demand>& demands) {
  const std::vector<Node>& nodes = tree.nodes();
  TimedTransition timed;
  timed.time = nodes[node].time;
  Transition& transition = timed.transition;
  transition.tensor = tensor;
  transition.to = nodes[node].layout;
  int at = node;
  do {
    transition.steps.push_back(nodes[at].step);
    at = nodes[at].parent;
  } while (!tree.IsStop(at));
  transition.from = nodes[at].layout;
  std::reverse(transition.steps.begin(), transition.steps.end());
  for (const BoxingStep& step : transition.steps) {
    transition.seconds += step.seconds;
    transition.wire_bytes += step.wire_bytes;
  }
  if (nodes[node].demand >= 0) transition.consumers = demands[nodes[node].demand].consumers;
  return timed;
}

}  // namespace

Status MakeTransitions(TensorId tensor, const Tensor& facts, const NdSbp& written, const std::vector<Demand>& demands,
                       BoxingTable& boxing, std::vector<TimedTransition>& out) {
  LayoutTree tree(facts.type, written, boxing);
  for (size_t d = 0; d < demands.size(); ++d) {
    if (tree.Add(demands[d].layout, static_cast<int>(d), demands[d].first)) continue;
    return NoPlan(StrCat("tensor ", Quote(facts.name), " of type ", ToString(facts.type),
                         ": no sequence of collectives from ", ToString(written), " to ", ToString(demands[d].layout)));
  }
  for (int node = 1; node < static_cast<int>(tree.nodes().size()); ++node) {
    if (tree.IsStop(node)) out.push_back(TransitionTo(node, tensor, tree, demands));
  }
  return OkStatus();
}

}  // namespace sbp
