// The engine on real threads: tokens guard registers, failures end everything.
#include "runtime/actors/actor_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <numeric>
#include <optional>
#include <thread>

#include "runtime/backends/threads/thread_communicator.h"
#include "unit/plan/small_plan.h"
#include "unit/runtime/plans.h"

namespace sbp {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// Writes a tag at the start of each register copy that a task fills and expects those of its operands. Collectives are
// meetings of the device threads.
class TaggingRunner : public TaskRunner {
 public:
  TaggingRunner(const Plan& plan, const PhysicalPlan& physical)
      : plan_(plan), physical_(physical), communicators_(MakeThreadCommunicators(plan.mesh, {})) {
    for (const Register& reg : physical.registers) {
      for (uint32_t k = 0; k < reg.copies; ++k) places_.emplace(BeginOf(reg, k), places_.size());
    }
    arenas_.assign(static_cast<size_t>(plan.mesh.num_devices()), std::vector<uint32_t>(places_.size(), 0));
  }

  Status Begin(int64_t device, uint32_t micro_batch) override {
    for (uint32_t r = 0; r < physical_.registers.size(); ++r) {
      const bool input = plan_.graph.tensor(physical_.registers[r].tensor).role == TensorRole::kInput;
      if (physical_.registers[r].resident && input) Write(device, r, micro_batch);
    }
    return OkStatus();
  }
  Status Run(int64_t device, uint32_t task, uint32_t micro_batch) override {
    const Task& t = physical_.tasks[task];
    for (const uint32_t r : t.reads) SBP_RETURN_IF_ERROR(Expect(device, r, micro_batch));
    if (fail_at_ && std::tuple(device, task, micro_batch) == *fail_at_) return Status(Code::kRunFailed, "boom");
    if (t.transition >= 0 && IsCommunication(plan_, t)) {
      const int axis = plan_.transitions[t.transition].steps[t.step].axis;
      SBP_RETURN_IF_ERROR(communicators_[device].axes[axis]->Barrier());
    }
    std::vector<uint32_t> reads = t.reads;
    for (const uint32_t r : t.writes) {
      if (r == kNoRegister || physical_.registers[r].over == kNoRegister) continue;
      SBP_RETURN_IF_ERROR(Expect(device, physical_.registers[r].over, micro_batch));
      std::erase(reads, physical_.registers[r].over);
    }
    for (const uint32_t r : t.writes) {
      if (r != kNoRegister) Write(device, r, micro_batch);
    }
    for (const uint32_t r : reads) SBP_RETURN_IF_ERROR(Expect(device, r, micro_batch));
    return OkStatus();
  }
  Status End(int64_t device, uint32_t micro_batch) override {
    for (const uint32_t r : OutputRegisters(plan_, physical_)) SBP_RETURN_IF_ERROR(Expect(device, r, micro_batch));
    ++ended_;
    return OkStatus();
  }
  void Abort(const Status& failure) override { communicators_[0].all->Abort(failure); }
  Status Poll(int64_t) override { return poll_; }

  void FailAt(int64_t device, uint32_t task, uint32_t micro_batch) { fail_at_ = {device, task, micro_batch}; }
  void SetPoll(const Status& status) { poll_ = status; }
  int ended() const { return ended_; }

 private:
  static int64_t BeginOf(const Register& reg, uint32_t micro_batch) {
    return reg.offset + micro_batch % reg.copies * (reg.footprint() / reg.copies);
  }
  uint32_t* Tag(int64_t device, uint32_t r, uint32_t micro_batch) {
    return &arenas_[device][places_.at(BeginOf(physical_.registers[r], micro_batch))];
  }
  static uint32_t TagOf(uint32_t r, uint32_t micro_batch) { return 1 + r * 16 + micro_batch; }

  void Write(int64_t device, uint32_t r, uint32_t micro_batch) {
    if (physical_.registers[r].bytes > 0) *Tag(device, r, micro_batch) = TagOf(r, micro_batch);
  }
  Status Expect(int64_t device, uint32_t r, uint32_t micro_batch) {
    if (r == kNoRegister || physical_.registers[r].bytes == 0) return OkStatus();
    const bool parameter = plan_.graph.tensor(physical_.registers[r].tensor).role == TensorRole::kParameter;
    if (parameter && physical_.registers[r].resident) return OkStatus();
    const uint32_t found = *Tag(device, r, micro_batch);
    if (found == TagOf(r, micro_batch)) return OkStatus();
    return Defect("register " + std::to_string(r) + " holds " + std::to_string(found));
  }

  const Plan& plan_;
  const PhysicalPlan& physical_;
  std::vector<DeviceCommunicators> communicators_;
  std::map<int64_t, size_t> places_;  // only where registers begin: arenas are large
  std::vector<std::vector<uint32_t>> arenas_;
  std::optional<std::tuple<int64_t, uint32_t, uint32_t>> fail_at_;
  Status poll_;
  std::atomic<int> ended_{0};
};

std::vector<int64_t> AllDevices(const Plan& plan) {
  std::vector<int64_t> devices(static_cast<size_t>(plan.mesh.num_devices()));
  std::iota(devices.begin(), devices.end(), 0);
  return devices;
}

TEST(ActorEngine, GeneratedPlansFindTheirOperands) {
  for (const PlanCase& c : PlanCases()) {
    SCOPED_TRACE(c.name());
    const Plan plan = MakeTestPlan(c);
    for (const uint32_t micro_batches : {1U, 3U}) {
      const PhysicalPlan physical = MakePhysicalPlan(plan, {.micro_batches = micro_batches});
      const ActorGraph graph = MakeActorGraph(plan, physical).value();
      TaggingRunner runner(plan, physical);
      const EngineResult result = RunActors(graph, runner, {.devices = AllDevices(plan)});
      ASSERT_TRUE(result.status.ok()) << result.status.message();
      EXPECT_EQ(result.spans.size(), plan.mesh.num_devices() * graph.actors.size() * micro_batches);
      EXPECT_EQ(runner.ended(), plan.mesh.num_devices() * micro_batches);
    }
  }
}

TEST(ActorEngine, AFailingTaskEndsTheRunOnAllDevices) {
  const Plan plan = SmallPlan();
  const PhysicalPlan physical = MakePhysicalPlan(plan, {.micro_batches = 3});
  const ActorGraph graph = MakeActorGraph(plan, physical).value();
  for (const uint32_t task : {0U, 1U, 2U}) {
    TaggingRunner runner(plan, physical);
    runner.FailAt(2, task, 1);
    const Clock::time_point start = Clock::now();
    const EngineResult result = RunActors(graph, runner, {.devices = AllDevices(plan)});
    EXPECT_LT(Clock::now() - start, milliseconds(1000));
    EXPECT_EQ(result.status.code(), Code::kRunFailed);
    EXPECT_EQ(result.status.message(), "device 2, " + graph.actors[task].name + " of micro-batch 1: boom");
  }
}

TEST(ActorEngine, AFailureElsewhereEndsStreamsThatWait) {
  const Plan plan = SmallPlan();
  const PhysicalPlan physical = MakePhysicalPlan(plan);
  const ActorGraph graph = MakeActorGraph(plan, physical).value();
  TaggingRunner runner(plan, physical);
  runner.SetPoll(Status(Code::kRunFailed, "rank 3 failed"));
  // Devices 1 to 3 run elsewhere and never come to the all-reduce.
  const EngineResult result = RunActors(graph, runner, {.devices = {0}});
  EXPECT_EQ(result.status.message(), "rank 3 failed");
}

TEST(ActorEngine, SpansOfAStreamDoNotOverlap) {
  const Plan plan = SmallPlan();
  const PhysicalPlan physical = MakePhysicalPlan(plan, {.micro_batches = 4});
  const ActorGraph graph = MakeActorGraph(plan, physical).value();
  TaggingRunner runner(plan, physical);
  const EngineResult result = RunActors(graph, runner, {.devices = AllDevices(plan)});
  ASSERT_TRUE(result.status.ok());
  for (size_t i = 1; i < result.spans.size(); ++i) {
    const Span &before = result.spans[i - 1], &span = result.spans[i];
    EXPECT_LE(span.start, span.end);
    const bool same = before.device == span.device &&
                      graph.actors[before.firing.actor].stream == graph.actors[span.firing.actor].stream;
    if (same) {
      EXPECT_LE(before.end, span.start);
    }
    EXPECT_LE(span.end, result.seconds);
  }
}

}  // namespace
}  // namespace sbp
