#include "memory/prefetch.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "base/checked_math.h"
#include "base/ids.h"
#include "cost/collective.h"
#include "graph/graph.h"
#include "memory/memory.h"
#include "plan/plan.h"

namespace sbp {
namespace {

constexpr double kSpare = 1.25;  // times what it takes

// Bytes in use by position: adds to ranges, and finds where the most is too much.
class UsedBytes {
 public:
  explicit UsedBytes(const std::vector<int64_t>& used) : size_(std::bit_ceil(std::max<size_t>(1, used.size()))) {
    most_.assign(2 * size_, 0);
    added_.assign(2 * size_, 0);
    std::ranges::copy(used, most_.begin() + static_cast<std::ptrdiff_t>(size_));
    for (size_t node = size_; node-- > 1;) most_[node] = std::max(most_[2 * node], most_[2 * node + 1]);
  }

  void Add(size_t begin, size_t end, int64_t bytes) { Add(1, 0, size_, begin, end, bytes); }

  // The end of the last position in the range that holds more than that; `begin` where none does.
  size_t EndOfMoreThan(size_t begin, size_t end, int64_t bytes) const {
    return std::max(begin, Find(1, 0, size_, begin, end, bytes));
  }

 private:
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the logarithm of the size
  void Add(size_t node, size_t first, size_t last, size_t begin, size_t end, int64_t bytes) {
    if (end <= first || last <= begin) return;
    if (begin <= first && last <= end) {
      most_[node] = SaturatingAdd(most_[node], bytes);
      added_[node] = SaturatingAdd(added_[node], bytes);
      return;
    }
    const size_t middle = first + (last - first) / 2;
    Add(2 * node, first, middle, begin, end, bytes);
    Add(2 * node + 1, middle, last, begin, end, bytes);
    most_[node] = SaturatingAdd(std::max(most_[2 * node], most_[2 * node + 1]), added_[node]);
  }

  // NOLINTNEXTLINE(misc-no-recursion): likewise
  size_t Find(size_t node, size_t first, size_t last, size_t begin, size_t end, int64_t bytes) const {
    if (end <= first || last <= begin || most_[node] <= bytes) return 0;
    if (last - first == 1) return last;
    const size_t middle = first + (last - first) / 2;
    const int64_t below = bytes - added_[node];
    const size_t right = Find(2 * node + 1, middle, last, begin, end, below);
    return right > 0 ? right : Find(2 * node, first, middle, begin, end, below);
  }

  size_t size_;
  std::vector<int64_t> most_, added_;
};

class AheadSender {
 public:
  AheadSender(Plan& plan, int64_t room) : plan_(plan), graph_(plan.graph), room_(room) {}

  void Run() {
    if (graph_.micro_batches > 1 || graph_.ops.empty()) return;
    order_ = OrderOfStep(plan_);
    SetTimes();
    const std::vector<Move> moves = JustInTime();
    if (moves.empty()) return;
    const std::vector<Lifetime> lifetimes = Lifetimes(plan_, order_);
    std::vector<int64_t> used(order_.op_at.size() + 1, 0);
    for (const Lifetime& lifetime : lifetimes) {
      used[lifetime.first] = SaturatingAdd(used[lifetime.first], lifetime.bytes);
      used[lifetime.last + 1] = SaturatingAdd(used[lifetime.last + 1], -lifetime.bytes);
    }
    std::partial_sum(used.begin(), used.end(), used.begin());
    room_ = std::max(room_, *std::ranges::max_element(used));
    UsedBytes bytes(used);
    for (const Move& move : moves) Take(move, bytes);
  }

 private:
  struct Move {
    uint32_t transition;
    uint32_t to, from;  // ops in front of which it would run, and does; the number of ops: the end
  };

  // When each op starts if nothing but compute takes time.
  void SetTimes() {
    double now = 0;
    for (size_t o = 0; o < graph_.ops.size(); ++o) {
      starts_.push_back(now);
      now += plan_.decision(OpId(o)).compute_seconds;
    }
    starts_.push_back(now);
  }

  // The op in front of which each transition runs.
  uint32_t RunsBefore(uint32_t number) const {
    const uint32_t position = order_.transitions[number];
    return static_cast<uint32_t>(std::ranges::lower_bound(order_.ops, position) - order_.ops.begin());
  }

  // Transitions from their last to their first.
  std::vector<Move> JustInTime() const {
    std::unordered_map<TensorId, std::vector<uint32_t>> of_tensor;
    for (uint32_t i = 0; i < plan_.transitions.size(); ++i) of_tensor[plan_.transitions[i].tensor].push_back(i);
    std::vector<Move> moves;
    double next = std::numeric_limits<double>::infinity();
    for (size_t i = order_.in_order.size(); i-- > 0;) {
      const uint32_t number = order_.in_order[i];
      const Transition& transition = plan_.transitions[number];
      const bool sends = std::ranges::any_of(transition.steps, [](const auto& s) { return !RowOf(s.kind).local; });
      if (!sends || !StartsAsWritten(number, of_tensor.at(transition.tensor))) continue;
      const Tensor& tensor = graph_.tensor(transition.tensor);
      const uint32_t ready = tensor.producer.valid() ? tensor.producer.value + 1 : 0;
      const uint32_t from = RunsBefore(number);
      if (ready >= from) continue;
      next = std::min(next, starts_[from]) - kSpare * transition.seconds;
      const auto after = std::upper_bound(starts_.begin(), starts_.end() - 1, next) - starts_.begin();
      const auto to = std::max(ready, static_cast<uint32_t>(std::max<std::ptrdiff_t>(after, 1) - 1));
      if (to < from) moves.push_back({number, to, from});
    }
    return moves;
  }

  bool StartsAsWritten(uint32_t number, const std::vector<uint32_t>& of_tensor) const {
    const Transition& transition = plan_.transitions[number];
    if (transition.from != plan_.source_layouts[transition.tensor.index()]) return false;
    return std::ranges::none_of(
        of_tensor, [&](uint32_t other) { return other != number && plan_.transitions[other].to == transition.from; });
  }

  // As far ahead as memory has room.
  void Take(const Move& move, UsedBytes& used) {
    Transition& transition = plan_.transitions[move.transition];
    int64_t bytes = 0, before = 0;  // what a step reads and writes together
    for (const auto& step : transition.steps) {
      const int64_t written = LocalBytes(graph_.tensor(transition.tensor).type, step.to, plan_.mesh);
      bytes = std::max(bytes, SaturatingAdd(before, written));
      before = written;
    }
    // Everything between the op before `to` and the transition's own position.
    const size_t begin = move.to == 0 ? 0 : order_.ops[move.to - 1] + 1;
    const size_t end = order_.transitions[move.transition];
    const size_t full = used.EndOfMoreThan(begin, end, room_ - bytes);
    // Behind an op that stands at what is full or behind it.
    uint32_t to = move.to;
    if (full > begin)
      to = static_cast<uint32_t>(std::ranges::lower_bound(order_.ops, full - 1) - order_.ops.begin()) + 1;
    if (to >= move.from) return;
    transition.ahead_of = OpId(to);
    used.Add(to == 0 ? 0 : order_.ops[to - 1] + 1, end, bytes);
  }

  Plan& plan_;
  const Graph& graph_;
  int64_t room_;
  StepOrder order_;
  std::vector<double> starts_;  // per op, and the end
};

}  // namespace

void SendAhead(Plan& plan, int64_t room) { AheadSender(plan, room).Run(); }

int64_t RoomAhead(const Plan& plan, int64_t peak) {
  const auto device = static_cast<int64_t>(plan.cluster.device.memory_bytes.value);
  int64_t room = plan.options.memory_limit.value_or(device);
  if (plan.options.prefetch) room = std::min(room, SaturatingAdd(peak, *plan.options.prefetch));
  return std::max(room, peak);
}

}  // namespace sbp
