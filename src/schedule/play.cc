#include "schedule/play.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <vector>

namespace sbp {
namespace {

constexpr uint32_t kNobody = std::numeric_limits<uint32_t>::max();
constexpr double kNever = std::numeric_limits<double>::infinity();

class Player {
 public:
  Player(std::span<const TimedTask> tasks, std::span<const TaskEdge> edges, double overlap, Admission* admission)
      : tasks_(tasks),
        overlap_(overlap),
        admission_(admission),
        times_(tasks.size()),
        waits_for_(tasks.size()),
        begin_(tasks.size() + 1) {
    for (const auto& [from, to] : edges) {
      ++begin_[from + 1];
      ++waits_for_[to];
    }
    for (size_t t = 0; t < tasks.size(); ++t) begin_[t + 1] += begin_[t];
    next_.resize(edges.size());
    std::vector<uint32_t> at(begin_.begin(), begin_.end() - 1);
    for (const auto& [from, to] : edges) next_[at[from]++] = to;
  }

  std::vector<TaskTime> Run() {
    for (uint32_t t = 0; t < tasks_.size(); ++t) {
      if (waits_for_[t] == 0) MakeReady(t);
    }
    StartAll();
    while (running_[0] != kNobody || running_[1] != kNobody) {
      const std::array<double, 2> ends = {End(0), End(1)};
      now_ = std::min(ends[0], ends[1]);
      // What ends at one time ends before anything starts. Compute does not slow down what has ended.
      for (const size_t stream : {1U, 0U}) {
        if (ends[stream] == now_) Finish(stream);
      }
      StartAll();
    }
    return std::move(times_);
  }

 private:
  using Ready = std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>>;

  void MakeReady(uint32_t task) { ready_[tasks_[task].communication ? 1 : 0].push(task); }

  bool Slowed() const { return running_[1] != kNobody && tasks_[running_[1]].slows && tasks_[running_[1]].seconds > 0; }
  double Speed() const { return Slowed() ? overlap_ : 1; }

  double End(size_t stream) const {
    if (running_[stream] == kNobody) return kNever;
    if (stream == 1) return times_[running_[1]].end;
    if (left_ <= 0) return now_;
    return Speed() > 0 ? since_ + left_ / Speed() : kNever;
  }

  // What compute has done at its speed so far. Before the speed changes.
  void Account() {
    if (running_[0] != kNobody) left_ = std::max(0.0, left_ - (now_ - since_) * Speed());
    since_ = now_;
  }

  void Finish(size_t stream) {
    const uint32_t task = running_[stream];
    if (stream == 1) Account();
    running_[stream] = kNobody;
    if (admission_ != nullptr) admission_->End(task);
    times_[task].end = now_;
    for (uint32_t e = begin_[task]; e < begin_[task + 1]; ++e) {
      if (--waits_for_[next_[e]] == 0) MakeReady(next_[e]);
    }
  }

  void StartAll() {
    for (const size_t stream : {0U, 1U}) {
      if (running_[stream] != kNobody || ready_[stream].empty()) continue;
      if (admission_ == nullptr || admission_->MayStart(ready_[stream].top())) Start(stream);
    }
    if (running_[0] != kNobody || running_[1] != kNobody) return;
    if (ready_[0].empty() && ready_[1].empty()) return;
    const bool is_sent = ready_[0].empty() || (!ready_[1].empty() && ready_[1].top() < ready_[0].top());
    Start(is_sent ? 1 : 0);
  }

  void Start(size_t stream) {
    if (stream == 1) Account();
    const uint32_t task = running_[stream] = ready_[stream].top();
    ready_[stream].pop();
    if (admission_ != nullptr) admission_->Start(task);
    times_[task] = {now_, now_ + tasks_[task].seconds};
    if (stream == 0) {
      left_ = tasks_[task].seconds;
      since_ = now_;
    }
  }

  std::span<const TimedTask> tasks_;
  const double overlap_;
  Admission* const admission_;
  std::vector<TaskTime> times_;
  std::vector<uint32_t> waits_for_;     // per task: predecessors that have not ended
  std::vector<uint32_t> begin_, next_;  // successors of each task
  std::array<Ready, 2> ready_;
  std::array<uint32_t, 2> running_ = {kNobody, kNobody};
  double now_ = 0;
  double left_ = 0, since_ = 0;  // of what is computed: seconds at full speed, and when that was
};

}  // namespace

std::vector<TaskTime> PlayTasks(std::span<const TimedTask> tasks, std::span<const TaskEdge> edges, double overlap,
                                Admission* admission) {
  return Player(tasks, edges, overlap, admission).Run();
}

}  // namespace sbp
