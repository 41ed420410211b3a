#include "physical/arrange.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/checked_math.h"
#include "base/ids.h"
#include "cluster/cluster.h"
#include "graph/sections.h"
#include "physical/number_registers.h"
#include "physical/physical.h"
#include "physical/streams.h"
#include "plan/ends.h"
#include "plan/physical_plan.h"
#include "plan/plan.h"
#include "plan/transition_runs.h"
#include "schedule/play.h"
#include "schedule/schedule.h"
#include "schedule/step_tasks.h"

namespace sbp {
namespace {

// Buffers of the arena: which tasks use each, and what each task takes of it.
struct Buffers {
  std::vector<int64_t> bytes;                // per register; 0: it lies in another one, or is there from the start
  std::vector<uint32_t> owners;              // per register: whose buffer it lies in
  std::vector<std::vector<uint32_t>> users;  // per buffer: tasks that read or write it, ascending
  std::vector<std::vector<uint32_t>> used;   // per task: buffers that it uses
  std::vector<int64_t> takes;                // per task: bytes of the buffers that it begins
  std::vector<bool> kept;                    // per buffer: until the end of the step
  int64_t resident = 0;                      // bytes of those that are there from the start
};

Buffers BuffersOf(const Plan& plan, const PhysicalPlan& physical) {
  const std::vector<Register>& registers = physical.registers;
  Buffers b{.bytes = std::vector<int64_t>(registers.size(), 0),
            .owners = BufferOwners(registers),
            .users = std::vector<std::vector<uint32_t>>(registers.size()),
            .used = std::vector<std::vector<uint32_t>>(physical.tasks.size()),
            .takes = std::vector<int64_t>(physical.tasks.size(), 0),
            .kept = std::vector<bool>(registers.size(), false)};
  std::set<std::pair<TensorId, int32_t>> at_end;
  for (const TensorEnd& end : EndsOf(plan)) at_end.emplace(end.tensor, end.transition);
  for (uint32_t r = 0; r < registers.size(); ++r) {
    const Register& reg = registers[r];
    const bool is_final =
        reg.transition < 0 || static_cast<size_t>(reg.step) + 1 == plan.transitions[reg.transition].steps.size();
    if (reg.resident || (is_final && at_end.contains({reg.tensor, reg.transition}))) b.kept[b.owners[r]] = true;
    if (reg.resident) b.resident = SaturatingAdd(b.resident, reg.footprint());
    if (b.owners[r] == r && !reg.resident) b.bytes[r] = reg.footprint();
  }
  for (uint32_t t = 0; t < physical.tasks.size(); ++t) {
    const Task& task = physical.tasks[t];
    for (const std::vector<uint32_t>* list : {&task.reads, &task.writes}) {
      for (const uint32_t r : *list) {
        if (r == kNoRegister) continue;
        std::vector<uint32_t>& users = b.users[b.owners[r]];
        if (!users.empty() && users.back() == t) continue;
        users.push_back(t);
        b.used[t].push_back(b.owners[r]);
      }
    }
    for (const uint32_t r : task.writes) {
      if (r != kNoRegister) b.takes[t] = SaturatingAdd(b.takes[t], b.bytes[r]);
    }
  }
  return b;
}

// Tasks start only while the buffers in use leave room for theirs: for the first one of the plan's order that has not
// started all of it, for those that run ahead of it all but a reserve. Where the reserve is all, tasks start in order.
class Budget final : public Admission {
 public:
  Budget(const Buffers& buffers, int64_t bytes, int64_t reserve)
      : buffers_(buffers),
        free_(bytes - buffers.resident),
        reserve_(reserve),
        has_started_(buffers.takes.size(), false) {
    for (const std::vector<uint32_t>& users : buffers.users) left_.push_back(static_cast<uint32_t>(users.size()));
  }

  bool MayStart(uint32_t task) const override {
    const int64_t takes = Takes(task);
    return takes == 0 || takes <= (task == next_ ? free_ : free_ - reserve_);
  }
  void Start(uint32_t task) override {
    free_ -= Takes(task);
    if (task < has_started_.size()) has_started_[task] = true;
    while (next_ < has_started_.size() && has_started_[next_]) ++next_;
  }
  void End(uint32_t task) override {
    if (task >= buffers_.used.size()) return;
    for (const uint32_t buffer : buffers_.used[task]) {
      if (--left_[buffer] == 0 && !buffers_.kept[buffer]) free_ += buffers_.bytes[buffer];
    }
  }

 private:
  // Nothing is taken by the task that stands for the filling of inputs.
  int64_t Takes(uint32_t task) const { return task < buffers_.takes.size() ? buffers_.takes[task] : 0; }

  const Buffers& buffers_;
  int64_t free_;
  const int64_t reserve_;
  std::vector<bool> has_started_;  // per task
  uint32_t next_ = 0;              // the first that has not
  std::vector<uint32_t> left_;     // per buffer: users that have not ended
};

// What is written over a register waits for all others that read it.
void AddInPlaceEdges(const PhysicalPlan& physical, std::vector<TaskEdge>& edges) {
  std::vector<std::vector<uint32_t>> readers(physical.registers.size());
  for (uint32_t t = 0; t < physical.tasks.size(); ++t) {
    for (const uint32_t r : physical.tasks[t].reads) {
      if (r != kNoRegister) readers[r].push_back(t);
    }
    for (const uint32_t r : physical.tasks[t].writes) {
      if (r == kNoRegister || physical.registers[r].over == kNoRegister) continue;
      for (const uint32_t reader : readers[physical.registers[r].over]) {
        if (reader != t) edges.emplace_back(reader, t);
      }
    }
  }
}

// Per task: does it stand behind all micro-batches of the graph? A run takes these by themselves, and then the rest
// (runtime/run/training.h). None where there is but one micro-batch.
std::vector<bool> TasksBehind(const Plan& plan, const PhysicalPlan& physical) {
  std::vector<bool> behind(physical.tasks.size(), false);
  if (plan.graph.micro_batches == 1) return behind;
  const StepRuns runs(plan.graph);
  const std::vector<bool> serves_micro = ServesMicro(plan, runs);
  for (uint32_t t = 0; t < physical.tasks.size(); ++t) {
    const Task& task = physical.tasks[t];
    behind[t] = task.op.valid() ? runs.of(task.op) == 1 : !serves_micro[task.transition];
  }
  return behind;
}

// A listing of the tasks with its arena.
struct Arranged {
  PhysicalPlan physical;
  double step = 0;  // seconds in that arena
};

class Arranger {
 public:
  Arranger(const Plan& plan, const PhysicalPlan& physical)
      : plan_(plan),
        physical_(physical),
        buffers_(BuffersOf(plan, physical)),
        behind_(TasksBehind(plan, physical)),
        is_under_(physical.registers.size(), false),
        step_(TasksOfStep(plan)) {
    for (const Register& reg : physical.registers) {
      if (reg.over != kNoRegister) is_under_[reg.over] = true;
    }
    AddInPlaceEdges(physical, step_.edges);
    KeepSectionsApart();
  }

  PhysicalPlan Run() {
    room_ = RoomOfArena(plan_, LivePeak(physical_.registers, physical_.tasks.size()));
    return physical_.micro_batches == 1 ? OfOneBatch() : OfSeveralBatches();
  }

 private:
  static constexpr int kArenas = 3;     // that are tried
  static constexpr int kReserves = 10;  // for each
  static constexpr double kGoodEnough = 1.01;

  PhysicalPlan OfOneBatch() {
    const double free_step = MakeSchedule(plan_, nullptr).summary.step;
    std::optional<Arranged> best;
    int64_t reserve = 0;
    for (int attempt = 0; attempt < kArenas && !(best && IsWithin(*best)); ++attempt) {
      PhysicalPlan listed = InRoom(reserve);
      int64_t taken = LivePeak(listed.registers, listed.tasks.size());
      if (taken <= room_) {  // else no placement is within the room
        Arranged found = Place(std::move(listed), room_);
        taken = found.physical.arena_bytes;
        if (!best || IsBetter(found, *best)) best = std::move(found);
      }
      // For gaps: other orders, with less of what runs ahead.
      reserve = SaturatingAdd(SaturatingMul(2, reserve), std::max(taken - room_, room_ / 64));
    }
    if (best && IsWithin(*best) && best->step <= kGoodEnough * free_step) return std::move(best->physical);
    Arranged as_planned = Place(physical_, 0);
    return std::move(best && IsBetter(*best, as_planned) ? best->physical : as_planned.physical);
  }

  PhysicalPlan OfSeveralBatches() const {
    int64_t reserve = 0;
    PhysicalPlan listed = InRoom(reserve);
    PlaceBest(listed, room_);
    if (listed.arena_bytes > room_) {
      listed = physical_;
      PlaceBest(listed);
    }
    OrderReuse(plan_, listed);
    return listed;
  }

  // One more task waits for all of the micro-batches, and the rest for it.
  void KeepSectionsApart() {
    if (plan_.graph.micro_batches == 1) return;
    const auto between = static_cast<uint32_t>(step_.tasks.size());
    step_.tasks.emplace_back();
    for (uint32_t t = 0; t < behind_.size(); ++t) {
      step_.edges.push_back(behind_[t] ? TaskEdge{between, t} : TaskEdge{t, between});
    }
  }

  bool IsWithin(const Arranged& a) const { return a.physical.arena_bytes <= room_; }
  bool IsBetter(const Arranged& a, const Arranged& b) const {
    if (IsWithin(a) != IsWithin(b)) return IsWithin(a);
    return IsWithin(a) ? a.step < b.step : a.physical.arena_bytes < b.physical.arena_bytes;
  }

  // `enough`: bytes of an arena that need not be made smaller.
  Arranged Place(PhysicalPlan physical, int64_t enough) const {
    PlaceBest(physical, enough);
    OrderReuse(plan_, physical);
    const double step = MakeSchedule(plan_, &physical).summary.step;
    return {std::move(physical), step};
  }

  // Tasks in an order in which registers fit into the room, with the least reserve that is found to do, from the given
  // one on, which is set to it; where none does, with the largest that was tried.
  PhysicalPlan InRoom(int64_t& reserve) const {
    PhysicalPlan best = InTime(reserve);
    int64_t too_small = reserve, enough = 0;
    for (int attempt = 0; attempt < kReserves; ++attempt) {
      const int64_t more = LivePeak(best.registers, best.tasks.size()) - room_;
      if (enough == 0 && more <= 0) break;
      const int64_t next =
          enough == 0 ? SaturatingAdd(SaturatingMul(2, too_small), more) : too_small + (enough - too_small) / 2;
      PhysicalPlan listed = InTime(next);
      const bool fits = LivePeak(listed.registers, listed.tasks.size()) <= room_;
      (fits ? enough : too_small) = next;
      if (!fits && enough != 0) continue;
      best = std::move(listed);
      reserve = next;
    }
    return best;
  }

  // Tasks as they start while buffers take no more than the room, of which what runs ahead leaves a reserve.
  PhysicalPlan InTime(int64_t reserve) const {
    Budget budget(buffers_, room_, reserve);
    const double overlap = plan_.cluster.device.overlap.value;
    const std::vector<TaskTime> times = PlayTasks(step_.tasks, step_.edges, overlap, &budget);
    std::vector<uint32_t> order(physical_.tasks.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](uint32_t t) { return std::pair(bool{behind_[t]}, times[t].start); });
    PhysicalPlan listed = physical_;
    std::vector<uint32_t> position(order.size());
    for (uint32_t p = 0; p < order.size(); ++p) {
      position[order[p]] = p;
      listed.tasks[p] = physical_.tasks[order[p]];
    }
    std::vector<uint32_t> last_user(listed.registers.size(), 0);
    for (uint32_t p = 0; p < order.size(); ++p) {
      for (const std::vector<uint32_t>* list : {&listed.tasks[p].reads, &listed.tasks[p].writes}) {
        for (const uint32_t r : *list) {
          if (r != kNoRegister) last_user[r] = p;
        }
      }
    }
    for (uint32_t r = 0; r < listed.registers.size(); ++r) {
      Register& reg = listed.registers[r];
      if (reg.resident) continue;
      reg.first = position[reg.first];
      reg.last = is_under_[r] ? last_user[r] : LastOf(buffers_.owners[r], times, order, position);
    }
    return listed;
  }

  // The last task that starts before those that use the buffer have ended.
  uint32_t LastOf(uint32_t buffer, const std::vector<TaskTime>& times, const std::vector<uint32_t>& order,
                  const std::vector<uint32_t>& position) const {
    if (buffers_.kept[buffer]) return static_cast<uint32_t>(order.size()) - 1;
    uint32_t last = 0;
    double end = 0;
    for (const uint32_t user : buffers_.users[buffer]) {
      last = std::max(last, position[user]);
      end = std::max(end, times[user].end);
    }
    if (physical_.micro_batches > 1) return last;  // batches overlap: what runs beside it is more than this one's
    const auto behind = std::ranges::lower_bound(order, end, {}, [&](uint32_t t) { return times[t].start; });
    return std::max(last + 1, static_cast<uint32_t>(behind - order.begin())) - 1;
  }

  const Plan& plan_;
  const PhysicalPlan& physical_;
  const Buffers buffers_;
  const std::vector<bool> behind_;  // per task
  std::vector<bool> is_under_;      // per register: another one carries its buffer on
  StepTasks step_;
  int64_t room_ = 0;
};

}  // namespace

int64_t RoomOfArena(const Plan& plan, int64_t live) {
  const auto device = static_cast<int64_t>(plan.cluster.device.memory_bytes.value);
  const int64_t limit = plan.options.memory_limit.value_or(device);
  if (limit <= 0) return SaturatingAdd(live, live / kArenaAllowance);
  return std::max(live, limit - plan.memory.workspace_bytes);
}

void Arrange(const Plan& plan, PhysicalPlan& physical) {
  if (physical.tasks.empty()) {
    PlaceBest(physical);
    return;
  }
  physical = Arranger(plan, physical).Run();
  NumberRegisters(plan.graph, physical);
}

}  // namespace sbp
